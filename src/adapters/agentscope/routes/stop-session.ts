import type { Context } from "hono";
import type { AppEnv } from "../../../http/messages/app-env.ts";
import { readJson } from "../../../http/messages/body.ts";
import { reply } from "../../../http/messages/reply.ts";
import { depthOf, requestIdOf, typeOf } from "../../../protocol/events/encode.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { Runtime } from "../../../runtime/api.ts";
import { parseSessionName } from "../request/body.ts";
import type { AgentScopeService } from "./accept-request.ts";
import { readRunActivity } from "../../../view/run-activity.ts";
import { findSession } from "./sessions.ts";

/**
 * Cancels what a session does, and what waits for its turn there. Answers when the session is free. A session that does
 * nothing, or does not exist, is stopped already.
 */
export async function stopSession(c: Context<AppEnv>, { host, agent }: AgentScopeService): Promise<Response> {
  const { runtime, waits, bodyLimitBytes } = host;
  const session = await findSession(runtime, agent, parseSessionName(await readJson(c, bodyLimitBytes)));
  const { open, cursor: after } = session
    ? await readRunActivity(runtime, agent, session.runId)
    : { open: [], cursor: 0 };
  if (session !== undefined && open.length > 0) {
    for (const requestId of open) await cancel(runtime, agent, requestId);
    await waits.until(c, (signal) => drain(runtime, { agent, runId: session.runId, after, signal }), STOP_MS);
  }
  const message = open.length === 0 ? "Nothing was running." : "The session was stopped.";
  return reply(c, JSON.stringify({ status: "success", message }));
}

/** The longest time that a stop waits for the end of what it stops. */
const STOP_MS = 5_000;

/** Cancels the requests that begin behind those that were canceled, until the run is idle. */
async function drain(
  runtime: Runtime,
  run: {
    readonly agent: string;
    readonly runId: RunId;
    readonly after: number;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { agent, runId, after, signal } = run;
  const feed = await runtime.follow({ kind: "run", runId, agent }, { after, signal });
  for await (const { events } of feed.pages) {
    for (const text of events) {
      const requestId = requestIdOf(text);
      if (typeOf(text) !== "RequestStarted" || depthOf(text) > 0 || requestId === null) continue;
      await cancel(runtime, agent, requestId);
    }
  }
}

/** Cancels a request; one that has ended is canceled already. */
async function cancel(runtime: Runtime, agent: string, requestId: RequestId): Promise<void> {
  await runtime.process(agent, { type: "CancelRequest", request_id: requestId });
}
