import { AgentError } from "../../../errors.ts";

/** The database was away for as long as a request waits for it. This is no fault, and its client tries again. */
export class DatabaseAway extends AgentError {
  constructor(cause: unknown) {
    super("unavailable", `the log cannot be used at present: ${toReason(cause)}`, { retryAfterS: 1, cause });
  }
}

/** The SQLSTATE of an error that the server reported; `undefined` for any other error. */
export function stateOf(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { readonly code?: unknown; readonly severity?: unknown };
  return typeof code === "string" && typeof severity === "string" ? code : undefined;
}

/**
 * Whether the same statement can succeed a little later: the connection was lost or refused, the server stops, starts or is
 * a standby, or another transaction was in the way. The outcome of the statement is then unknown.
 */
export function isTransient(error: unknown): boolean {
  const state = stateOf(error);
  if (state !== undefined) return TRANSIENT_CLASSES.has(state.slice(0, 2)) || TRANSIENT.has(state);
  // What the library or a socket reports. Errors of our own code are of these classes.
  return error instanceof Error && !(error instanceof TypeError || error instanceof RangeError);
}

/** Whether a value of the statement was at fault, for example a text with the character U+0000. */
export function isInvalidValue(error: unknown): boolean {
  return stateOf(error)?.startsWith("22") ?? false;
}

/** Why the log takes no appends, in a sentence without addresses, paths or values. */
export function toReason(error: unknown): string {
  const state = stateOf(error);
  if (state === "57014" || state === "55P03" || isTimeout(error))
    return "the database does not answer in time";
  if (state === undefined) return "the database cannot be reached";
  if (state === "53100") return "the disk of the database is full";
  if (state === "25006") return "the database is a standby, which takes no writes";
  if (state.startsWith("57P")) return "the database is stopping or starting";
  return `the database refuses a statement (${state})`;
}

/** Whether the library has given up a statement. */
function isTimeout(error: unknown): boolean {
  return stateOf(error) === undefined && error instanceof Error && error.message === NO_ANSWER;
}

/** What the library says of a statement without an answer. */
export const NO_ANSWER = "Query read timeout";

const TRANSIENT_CLASSES: ReadonlySet<string> = new Set(["08"]);

const TRANSIENT: ReadonlySet<string> = new Set([
  "25006", // The server is a standby.
  "25P03", // A transaction waited too long for its next statement.
  "40001", // A serialization failure.
  "40P01", // A deadlock.
  "53300", // Too many connections.
  "55P03", // A lock timeout.
  "57014", // The statement was canceled.
  "57P01", // The server stops, or an operator ended the connection.
  "57P02", // Another process of the server crashed.
  "57P03", // The server starts.
  "57P05", // The connection was idle for too long.
]);
