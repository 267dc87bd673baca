import type { Context, Hono } from "hono";
import { AgentError } from "../../errors.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { LoadedActor } from "../../runtime/api.ts";
import type { RecordedRun } from "../../runtime/recording.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { readJson } from "../messages/body.ts";
import { parseCount, queryOf, read } from "../messages/event-query.ts";
import { pathIn } from "../messages/mount.ts";
import { reply } from "../messages/reply.ts";
import { wrongField } from "../messages/wrong-field.ts";
import { pathParameter } from "../routes/add-routes.ts";
import { checkId } from "../routes/event-routes.ts";
import type { SharedHost } from "../routes/host.ts";
import type { ConsolePages } from "./pages.ts";
import { parseTraceUrl } from "./trace-url.ts";

/** The first segment of the paths. */
const ROOT = "inspect";

/**
 * Adds what operators see of the server and clients do not: agents with what they call, states of runs, prompts. It
 * belongs to the console and is not part of the protocol.
 */
export function addInspection(
  app: Hono<AppEnv>,
  host: SharedHost,
  { version, traceUrl, dataSets }: ConsolePages,
): void {
  const answer = (c: Context<AppEnv>, value: object): Response => reply(c, JSON.stringify(value));
  const trace_url = traceUrl === undefined ? undefined : parseTraceUrl(traceUrl);

  app.get(`/${ROOT}`, async (c) => {
    const isOffered = dataSets && isAdmin(c) && (await dataSets.canAdd());
    return answer(c, {
      ...(version !== undefined && { version }),
      ...host.as(c).runtime.inspection.server(),
      ...(trace_url !== undefined && { trace_url }),
      ...(isOffered && { data_sets: await dataSets.names() }),
    });
  });
  if (dataSets) {
    app.post(`/${ROOT}/data-sets/:name`, async (c) => {
      checkAdmin(c);
      const { inspection } = host.as(c).runtime;
      const runs: RecordedRun[] = [];
      for (const runId of parseRunIds(await readJson(c, host.bodyLimitBytes)))
        // oxlint-disable-next-line no-await-in-loop -- each may have many events
        runs.push(await inspection.recording(runId));
      return answer(c, await dataSets.add(pathParameter(c, "name"), runs));
    });
    app.get(`/${ROOT}/data-sets/:name/report`, async (c) => {
      checkAdmin(c);
      return reply(c, await dataSets.report(pathParameter(c, "name")));
    });
  }
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
    checkAdmin(c, "a copy of the open turns is");
    const lines = ReadableStream.from(toLines(host.as(c).runtime.inspection.openTurns()));
    return new Response(lines, { headers: { "content-type": "application/x-ndjson" } });
  });
  app.get(`/${ROOT}/runs/:run_id/recording`, async (c) => {
    const recorded = await host.as(c).runtime.inspection.recording(checkId(pathParameter(c, "run_id")));
    return reply(c, JSON.stringify(recorded));
  });
}

function checkAdmin(c: Context<AppEnv>, what = "data sets are"): void {
  if (!isAdmin(c)) throw new AgentError("forbidden", `${what} for admins of the server`);
}

function isAdmin(c: Context<AppEnv>): boolean {
  return c.get("principal")?.roles.includes("admin") === true;
}

/** Reads which runs are to be added. */
function parseRunIds(body: unknown): readonly RunId[] {
  const ids = isObject(body) ? body["run_ids"] : undefined;
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > MOST_RUNS)
    throw wrongField("run_ids", `must be a list of 1 to ${MOST_RUNS} ids of runs`);
  return ids.map((id) => checkId(String(id)));
}

/** The most runs of one request: their recordings are in memory together. */
const MOST_RUNS = 20;

/** Whether a request is for one of these routes, which pages of other origins never read. */
export function isInspection(c: Context<AppEnv>): boolean {
  return `${pathIn(c)}/`.startsWith(`/${ROOT}/`);
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
