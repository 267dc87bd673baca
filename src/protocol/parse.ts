import type { Issue } from "./issue.ts";

/** A value that was understood, or what is wrong with it. */
export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly message: string; readonly issues: readonly Issue[] };
