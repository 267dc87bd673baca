import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { TREE } from "../compare/checkout.ts";
import { onAllCores } from "./server-process.ts";

/**
 * Runs one measurement in its own process on a directory. Returns its output, also if it killed itself at the
 * end.
 */
export function runProcess(what: string, directory: string, count: number, tree: string = TREE): unknown {
  const program = join(tree, "test/bench/servers/run-measurement.ts");
  const flags = ["--expose-gc", "--disable-warning=ExperimentalWarning"];
  return JSON.parse(runToItsEnd([...flags, program, what, directory, String(count)]));
}

function runToItsEnd(args: readonly string[]): string {
  try {
    const [program = "", ...rest] = [...onAllCores, process.execPath, ...args];
    return execFileSync(program, rest, { encoding: "utf8" });
  } catch (error) {
    const { signal, stdout } = error as { readonly signal?: string; readonly stdout?: string };
    if (signal !== "SIGKILL") throw error;
    return stdout ?? "";
  }
}
