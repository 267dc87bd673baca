import { sha256 } from "../../shared/sha256.ts";

/**
 * The id of a new session: its directory, so that every process can list the sessions of a directory, and a part of its own. It is
 * also the key of the run, behind the name of the wire.
 */
export async function newSessionId(cwd: string): Promise<string> {
  return `${await directoryOf(cwd)}.${crypto.randomUUID()}`;
}

/** The key of the run of a session. */
export function runKeyOf(sessionId: string): string {
  return PREFIX + sessionId;
}

/** Whether an id can be that of a session that this wire has begun. */
export function isSessionId(id: string): boolean {
  return OWN.test(id);
}

/** The id of the session of a run: that of its key, else its own. */
export function toSessionId({
  run_id: runId,
  key,
}: {
  readonly run_id: string;
  readonly key?: string;
}): string {
  const id = key?.startsWith(PREFIX) === true ? key.slice(PREFIX.length) : "";
  return isSessionId(id) ? id : runId;
}

/** The part of the id that says where a session was begun. A long path is hashed, because a key has 128 letters. */
export async function directoryOf(cwd: string): Promise<string> {
  const bytes = String.fromCharCode(...new TextEncoder().encode(cwd.slice(0, LIMIT + 1)));
  const text = btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return text.length <= LIMIT ? text : `${HASHED}${await sha256(cwd)}`;
}

/** Where a session was begun; undefined if its id does not say. */
export function cwdOf(sessionId: string): string | undefined {
  const [directory = ""] = sessionId.split(".");
  if (!isSessionId(sessionId) || directory.startsWith(HASHED)) return undefined;
  const bytes = atob(directory.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(bytes, (letter) => letter.charCodeAt(0)));
}

const PREFIX = "acp:";
/** No path begins like that: the first letter of an absolute one is `/` or names a drive with a colon behind it. */
const HASHED = "sha256-";
const LIMIT = 80;
const OWN = /^[\w-]{1,80}\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
