import type { Context, Next } from "hono";
import { AgentError } from "../../../errors.ts";
import type { AppEnv } from "../../../http/messages/app-env.ts";
import { readJson } from "../../../http/messages/body.ts";
import { parseCount, queryOf, read } from "../../../http/messages/event-query.ts";
import { isObject } from "../../../protocol/json.ts";
import { requestSchemas } from "../../../protocol/requests/requests.ts";
import { parseProcessRequest } from "../request/body.ts";
import type { SessionName } from "../request/body.ts";
import type { ResponsePlace } from "../response/read-response.ts";
import { acceptRequest } from "./accept-request.ts";
import type { AgentScopeService } from "./accept-request.ts";
import { readRunActivity } from "../../../view/run-activity.ts";
import { readFrameId, sendResponse, streamResponse } from "./send-response.ts";
import { findSession } from "./sessions.ts";

/** Accepts a request and answers with its response. */
export async function processRequest(c: Context<AppEnv>, service: AgentScopeService): Promise<Response> {
  const request = parseProcessRequest(await readJson(c, service.host.bodyLimitBytes));
  if (request.reconnect) return resumeStream(c, service, request, request.after);
  if (!request.stream) return sendResponse(c, service, await acceptRequest(service, request));
  return streamResponse(c, service, {
    id: request.id,
    isOwner: true,
    find: () => acceptRequest(service, request),
  });
}

/** The same at a path that the native protocol also has. */
export async function processShared(
  c: Context<AppEnv>,
  next: Next,
  service: AgentScopeService,
  name: string,
): Promise<Response | void> {
  const body = await readJson(c, service.host.bodyLimitBytes);
  if (!isObject(body) || isNative(body) || !isOurs(body)) return next();
  c.set("wire", name);
  return processRequest(c, service);
}

/** Whether a body has what only this protocol has: a list of messages, or an empty one and the name of a session. */
function isOurs({ input, ...fields }: { readonly [name: string]: unknown }): boolean {
  if (!Array.isArray(input)) return false;
  const messages: readonly unknown[] = input;
  if (messages.length === 0) return SESSION_NAMES.some((name) => typeof fields[name] === "string");
  return messages.every((item) => isObject(item) && ("role" in item || "content" in item));
}

const SESSION_NAMES = ["session_id", "sessionId", "user_id", "userId"];

/** Whether a body has what names a request of the native protocol; requests of this protocol have neither field. */
function isNative({ type, operation }: { readonly [name: string]: unknown }): boolean {
  return typeof operation === "string" || (typeof type === "string" && Object.hasOwn(requestSchemas, type));
}

/** Sends the newest response of a session again, from a sequence number on. */
export function sessionStream(c: Context<AppEnv>, service: AgentScopeService): Promise<Response> {
  const query = queryOf(c);
  const after = read(query, "after", parseCount);
  const userId = c.req.query("user_id");
  const name = { sessionId: c.req.param("session_id") ?? "", ...(userId && { userId }) };
  return resumeStream(c, service, name, after);
}

function resumeStream(
  c: Context<AppEnv>,
  service: AgentScopeService,
  name: SessionName,
  after: number | undefined,
): Promise<Response> {
  return streamResponse(c, service, {
    id: name.sessionId,
    after,
    seen: readFrameId(c),
    find: () => newestResponse(service, name),
  });
}

async function newestResponse({ host, agent }: AgentScopeService, name: SessionName): Promise<ResponsePlace> {
  const session = await findSession(host.runtime, agent, name);
  const state = session && (await readRunActivity(host.runtime, agent, session.runId));
  if (session === undefined || state?.newest === undefined) {
    throw new AgentError("not_found", "there is no response in this session");
  }
  return { ...session, ...state.newest, agent };
}
