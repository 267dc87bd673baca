declare const brand: unique symbol;

/**
 * A string that is marked with what it names. Any plain string may be used in its place, an id that is marked
 * as another kind may not. The mark does not exist at run time.
 */
export type Branded<Name extends string> = string & { readonly [brand]?: Name };

/** Names a run: turns that share memory and one log. */
export type RunId = Branded<"RunId">;

/** Names a request, and with it the turn that answers it. */
export type RequestId = Branded<"RequestId">;

/** Names an artifact's bytes. */
export type ArtifactId = Branded<"ArtifactId">;

/**
 * Names one call of a turn, unique in its run and equal on every replay: `c`, the number of the turn
 * in its run, and the place of the call under it, as in `c3.1.2`.
 */
export type CallId = Branded<"CallId">;

/** What ids look like: those of runs, requests and artifacts, and all that clients choose. */
export const ID_PATTERN: RegExp = /^[A-Za-z0-9_-]{1,128}$/;

/** Says whether a text may serve as a run, request or artifact id. */
export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}
