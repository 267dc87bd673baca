import type { Mutant } from "./mutants.ts";

/** Mutants that no test can notice, or that change nothing that is promised, with the reason. */
export const equivalents: readonly (Pick<Mutant, "file" | "code" | "instead"> & { readonly why: string })[] =
  [];
