import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Runs one measurement in a process of its own, on a directory; the answer is what it printed, even if it killed itself in the end. */
export function runProcess(what: string, directory: string, count: number): unknown {
  const program = join(import.meta.dirname, "process.ts");
  const flags = ["--expose-gc", "--disable-warning=ExperimentalWarning"];
  return JSON.parse(runToItsEnd([...flags, program, what, directory, String(count)]));
}

function runToItsEnd(args: readonly string[]): string {
  try {
    return execFileSync(process.execPath, args, { encoding: "utf8" });
  } catch (error) {
    const { signal, stdout } = error as { readonly signal?: string; readonly stdout?: string };
    if (signal !== "SIGKILL") throw error;
    return stdout ?? "";
  }
}
