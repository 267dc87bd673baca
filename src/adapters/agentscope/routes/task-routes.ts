import type { Context } from "hono";
import type { AppEnv } from "../../../http/messages/app-env.ts";
import { readJson } from "../../../http/messages/body.ts";
import { reply } from "../../../http/messages/reply.ts";
import { checkId, unknown } from "../../../http/routes/event-routes.ts";
import { isUnserved } from "../../../http/routes/unserved.ts";
import { encodeObject } from "../dialect/dialect.ts";
import { parseProcessRequest } from "../request/body.ts";
import { newestResponse, readResponse } from "../response/read-response.ts";
import { acceptRequest } from "./accept-request.ts";
import type { AgentScopeService } from "./accept-request.ts";
import { dialectOf } from "./send-response.ts";
import { sessionIdOf } from "./sessions.ts";

/** Accepts a request whose response is asked for later. The id of the task is that of the request. */
export async function submitTask(c: Context<AppEnv>, service: AgentScopeService): Promise<Response> {
  const request = parseProcessRequest(await readJson(c, service.host.bodyLimitBytes));
  const { requestId } = await acceptRequest(service, request);
  return reply(
    c,
    JSON.stringify({
      task_id: requestId,
      status: "submitted",
      queue: "stream_query",
      message: `GET task/${requestId} tells the status and the result.`,
    }),
  );
}

/** Tells the state of a task, and its newest response when the agent has ended or asks something. */
export async function readTask(
  c: Context<AppEnv>,
  { host, agent, isAtRoot, options }: AgentScopeService,
): Promise<Response> {
  const { runtime } = host;
  const requestId = checkId(c.req.param("task_id") ?? "");
  const dialect = dialectOf(c, options.dialect);
  const { status, run_id: runId, agent: owner, wait_id: waitId } = await runtime.status(requestId);
  // The task of an agent that is no longer served is held, and may have been submitted here when it was the default one.
  const isOwn = owner === agent || (isAtRoot && isUnserved(runtime, owner));
  if (!isOwn) throw unknown(requestId, agent);
  if (status === "queued") return reply(c, '{"status":"pending"}');
  // A request that is held goes on later, unless it asks something.
  if (status === "running" || status === "canceling" || (status === "held" && waitId === undefined))
    return reply(c, '{"status":"running"}');
  const place = { agent: owner, runId, requestId };
  const newest = await newestResponse(runtime, { ...place, sessionId: await sessionIdOf(runtime, runId) });
  const result = await readResponse(runtime, newest, {
    prefix: host.mount.addressOf(c, ""),
    components: options.components,
  });
  const outcome = result.status === "failed" ? "error" : "finished";
  return reply(c, `{"status":"${outcome}","result":${encodeObject(result, dialect)}}`);
}
