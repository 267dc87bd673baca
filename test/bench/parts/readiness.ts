import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { TREE } from "../compare/checkout.ts";
import { atMost, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { median } from "../harness/statistics.ts";

/** The time from the start of `troupe dev` until it serves the demo agents. */
export async function measureReadiness(): Promise<Result[]> {
  const times: number[] = [];
  for (let time = 0; time < 3; time += 1) times.push(await start());
  return [atMost("troupe dev, time until ready", median(times), 2_000, ms)];
}

async function start(): Promise<number> {
  const data = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  const startedAt = performance.now();
  const args = ["dist/cli/main.js", "dev", "--port=0", `--data=${data}`];
  const child = spawn(process.execPath, args, { cwd: TREE, stdio: ["ignore", "pipe", "inherit"] });
  try {
    for await (const line of createInterface(child.stdout)) {
      if (line.includes("http://")) return performance.now() - startedAt;
    }
    throw new Error("troupe dev did not start");
  } finally {
    const gone = once(child, "exit");
    child.kill("SIGTERM");
    await gone;
    rmSync(data, { recursive: true, force: true });
  }
}
