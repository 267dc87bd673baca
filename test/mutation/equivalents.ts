import type { Mutant } from "./mutants.ts";

/** Mutants that no test can notice, or that change nothing that is promised, with the reason. */
export const equivalents: readonly (Pick<Mutant, "file" | "code" | "instead"> & { readonly why: string })[] =
  [
    {
      file: "src/runtime/replay/message-bodies.ts",
      code: "this.#known.set(id, body);",
      instead: ";",
      why: "a body that is not known is read from the log again",
    },
  ];
