import type { Context, Hono } from "hono";
import { AgentError } from "../../errors.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { LoadedActor } from "../../runtime/api.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { parseCount, queryOf, read } from "../messages/event-query.ts";
import { pathIn } from "../messages/mount.ts";
import { reply } from "../messages/reply.ts";
import { pathParameter } from "../routes/add-routes.ts";
import { checkId } from "../routes/event-routes.ts";
import type { SharedHost } from "../routes/host.ts";

/** The first segment of the paths. */
const ROOT = "inspect";

/**
 * Adds what operators see of the server and clients do not: agents with what they call, states of runs, prompts. It
 * belongs to the console and is not part of the protocol.
 */
export function addInspection(app: Hono<AppEnv>, host: SharedHost, version: string | undefined): void {
  const answer = (c: Context<AppEnv>, value: object): Response => reply(c, JSON.stringify(value));

  app.get(`/${ROOT}`, (c) =>
    answer(c, { ...(version !== undefined && { version }), ...host.as(c).runtime.inspection.server() }),
  );
  app.get(`/${ROOT}/actors`, (c) => answer(c, host.as(c).runtime.actors().map(toActor)));
  app.get(`/${ROOT}/agents/:agent`, (c) =>
    answer(c, host.as(c).runtime.inspection.agent(pathParameter(c, "agent"))),
  );
  app.get(`/${ROOT}/runs/:run_id`, async (c) => {
    const at = read(queryOf(c), "at", parseCount);
    return answer(c, await host.as(c).runtime.inspection.run(checkId(pathParameter(c, "run_id")), at));
  });
  app.get(`/${ROOT}/completions/:request_id/:call_id`, async (c) => {
    const requestId = checkId(pathParameter(c, "request_id")) as RequestId;
    return answer(c, await host.as(c).runtime.inspection.completion(requestId, pathParameter(c, "call_id")));
  });
}

/**
 * Adds what the command line reads: the copy of all open turns, from which `troupe check` learns before a deploy whether other code
 * continues them, and the recording of a run, with which `troupe eval` tries other code.
 */
export function addCopies(app: Hono<AppEnv>, host: SharedHost): void {
  app.get(`/${ROOT}/open-turns`, (c) => {
    if (c.get("principal")?.roles.includes("admin") !== true)
      throw new AgentError("forbidden", "a copy of the open turns is for admins of the server");
    const lines = toLines(host.as(c).runtime.inspection.openTurns());
    return new Response(ReadableStream.from(lines), { headers: { "content-type": "application/x-ndjson" } });
  });
  app.get(`/${ROOT}/runs/:run_id/recording`, async (c) => {
    const runId = checkId(pathParameter(c, "run_id"));
    return reply(c, JSON.stringify(await host.as(c).runtime.inspection.recording(runId)));
  });
}

/** Whether a request is for one of these routes, which pages of other origins never read. */
export function isInspection(c: Context<AppEnv>): boolean {
  const path = pathIn(c);
  return path === `/${ROOT}` || path.startsWith(`/${ROOT}/`);
}

/** One JSON object a line. The last line says that nothing is missing. */
async function* toLines(parts: AsyncIterable<object>): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  for await (const part of parts) yield encoder.encode(`${JSON.stringify(part)}\n`);
  yield encoder.encode('{"type":"end"}\n');
}

function toActor(actor: LoadedActor): object {
  const { runId, agent, key, status, queued, unread, requestId, expiresAt, calls } = actor;
  return {
    run_id: runId,
    agent,
    ...(key !== undefined && { key }),
    status,
    queued,
    unread,
    ...(requestId !== undefined && { request_id: requestId }),
    ...(expiresAt !== undefined && { expires_at: new Date(expiresAt).toISOString() }),
    calls: calls.map(({ callId, kind, name }) => ({ call_id: callId, kind, name })),
  };
}
