// What runs cost that wait, that sleep, or that a restart finds: node test/bench/waiting/run.ts
// Takes some minutes. Each line is the result of a process of its own.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "troupe-waiting-"));
try {
  measure("100,000 runs that wait, begun in this process", "wait", "waiting", 100_000);
  measure("the same after a restart, and 1,000 of them answered", "resume", "waiting", 1_000);
  measure("10,000 turns that sleep for 30 days", "sleep", "sleeping", 10_000);
  measure("10,000 runs of 100 events each, 100 in the middle of a turn", "fill", "some", 100);
  measure("the same after kill -9", "recover", "some", 0);
  measure("10,000 runs of 100 events each, all in the middle of a turn", "fill", "all", 10_000);
  measure("the same after kill -9", "recover", "all", 0);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function measure(title: string, what: string, directory: string, count: number): void {
  const program = join(import.meta.dirname, "process.ts");
  const flags = ["--expose-gc", "--disable-warning=ExperimentalWarning"];
  const args = [...flags, program, what, join(folder, directory), String(count)];
  const result = runToItsEnd(args);
  console.log(`${title}: ${result.trim()}`);
}

/** What a process printed, even if it killed itself in the end. */
function runToItsEnd(args: readonly string[]): string {
  try {
    return execFileSync(process.execPath, args, { encoding: "utf8" });
  } catch (error) {
    const { signal, stdout } = error as { readonly signal?: string; readonly stdout?: string };
    if (signal !== "SIGKILL") throw error;
    return stdout ?? "";
  }
}
