import { toAgentError } from "../../../errors.ts";
import { isId } from "../../../protocol/ids.ts";
import { isObject } from "../../../protocol/json.ts";
import type { RunId } from "../../../protocol/ids.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { RunDetails } from "../../../runtime/lists.ts";
import type { SessionName } from "../request/body.ts";
import { conversationKey } from "../../../view/conversation-key.ts";

/** The run of a session. */
export interface Session {
  readonly runId: RunId;
  readonly sessionId: string;
}

/**
 * Finds the run of a session: by the key of its user and session, else by its id, which is the name of a session that
 * the client did not name. Creates nothing.
 */
export async function findSession(
  runtime: Runtime,
  agent: string,
  { sessionId, userId }: SessionName,
): Promise<Session | undefined> {
  if (sessionId === undefined) return undefined;
  const keyed = await runtime.find(agent, await toSessionKey(sessionId, userId));
  if (keyed !== undefined) return { runId: keyed, sessionId };
  const run = isId(sessionId) ? await findRun(runtime, sessionId) : undefined;
  if (run === undefined || run.agent !== agent) return undefined;
  const { user_id: owner = sessionId, session_id: named } = namesOf(run);
  const isOwn = named === undefined && owner === (userId ?? sessionId);
  return isOwn ? { runId: run.run_id, sessionId } : undefined;
}

/** Creates the run of a session, or finds the one that another request has created in the meantime. */
export async function createSession(
  runtime: Runtime,
  agent: string,
  { sessionId, userId }: SessionName,
): Promise<Session> {
  const names = {
    ...(sessionId !== undefined && { session_id: sessionId }),
    ...(userId !== undefined && { user_id: userId }),
  };
  const key = sessionId === undefined ? undefined : await toSessionKey(sessionId, userId);
  const runId = await runtime.createRun(agent, {
    metadata: { [NAMES]: names },
    ...(key !== undefined && { key }),
  });
  return { runId, sessionId: sessionId ?? runId };
}

/** The name of the session of a run, also of one that another protocol created. */
export async function sessionIdOf(runtime: Runtime, runId: RunId): Promise<string> {
  const { session_id: named } = namesOf(await runtime.run(runId));
  return typeof named === "string" ? named : runId;
}

/** The user of a run; undefined if its client named none, or if another protocol created it. */
export async function userOf(runtime: Runtime, runId: RunId): Promise<unknown> {
  return namesOf(await runtime.run(runId))["user_id"];
}

/** The key of the metadata of a run that has the names of its session and user. */
const NAMES = "agentscope";

function namesOf({ metadata }: RunDetails): { readonly [name: string]: unknown } {
  const names = metadata[NAMES];
  return isObject(names) ? names : {};
}

/** A run; undefined if there is none, or it was removed. */
async function findRun(runtime: Runtime, runId: RunId): Promise<RunDetails | undefined> {
  try {
    return await runtime.run(runId);
  } catch (thrown) {
    const { code } = toAgentError(thrown);
    if (code === "not_found" || code === "gone") return undefined;
    throw thrown;
  }
}

/** The key of the run of a session; different users and sessions have different keys. */
async function toSessionKey(sessionId: string, userId: string = sessionId): Promise<string> {
  const user = userId === sessionId ? "" : toPart(userId);
  const key = `agentscope:${user}:${toPart(sessionId)}`;
  return key.length <= KEY_LIMIT ? key : conversationKey("agentscope", userId, sessionId);
}

/** The longest key of a run. */
const KEY_LIMIT = 128;

/** A name in the letters of keys: as it is, or its bytes in Base64 behind an `@`. */
function toPart(name: string): string {
  if (/^[\w.-]+$/.test(name)) return name;
  return `@${Buffer.from(name.toWellFormed()).toString("base64url")}`;
}
