import { readFileSync, readdirSync } from "node:fs";
import type { PostgresServer } from "../../machine/postgres-server.ts";

/** The CPU time that the processes of a database have used so far, in milliseconds; without those that have ended. */
export function engineCpuMs({ pid }: PostgresServer): number {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && (Number(name) === pid || parentOf(name) === pid))
    .reduce((sum, name) => sum + cpuMsOf(name), 0);
}

function parentOf(process: string): number | undefined {
  // The name of the program, which is in parentheses, can have spaces.
  const [, parent] = read(`/proc/${process}/stat`).split(") ").at(-1)?.split(" ") ?? [];
  return parent === undefined ? undefined : Number(parent);
}

function cpuMsOf(process: string): number {
  return Number(read(`/proc/${process}/schedstat`).split(" ", 1)[0]) / 1e6;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process has ended.
    return "";
  }
}
