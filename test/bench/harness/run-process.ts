import { execFileSync } from "node:child_process";
import { join } from "node:path";

/**
 * Runs one measurement in its own process on a directory. Returns its output, also if it killed itself at the
 * end.
 */
export function runProcess(what: string, directory: string, count: number): unknown {
  const program = join(import.meta.dirname, "../servers/run-measurement.ts");
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
