import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Runs a garbage collection, by default a full one. */
export const collectGarbage = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;
