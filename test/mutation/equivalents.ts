import type { Mutant } from "./mutants.ts";

/** A mutant that no test can notice, or that changes nothing that is promised. */
export interface Equivalent extends Pick<Mutant, "file" | "code" | "instead"> {
  /** What its line contains, if the same code also stands in other lines. */
  readonly within?: string;
  readonly why: string;
}

/** The mutants that are judged so. */
export const equivalents: readonly Equivalent[] = [
  {
    file: "src/runtime/replay/message-bodies.ts",
    code: "this.#known.set(id, body);",
    instead: ";",
    why: "a body that is not known is read from the log again",
  },
  {
    file: "src/cluster/node-rows.ts",
    within: "Math.max(0, sentMs - before.readMs)",
    code: "0",
    instead: "(0 + 1)",
    why: "a heartbeat is sent at least a millisecond after the answer to the one before",
  },
  {
    file: "src/cluster/placement.ts",
    within: "if (id === undefined) return undefined;",
    code: "id === undefined",
    instead: "false",
    why: "the request that a run has started has the id of its RequestStarted",
  },
];
