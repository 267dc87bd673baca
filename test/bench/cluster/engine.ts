import { readFileSync, readdirSync } from "node:fs";
import type { PostgresServer } from "../../machine/postgres-server.ts";

/** The CPU time that the processes of a database have used so far, in milliseconds; with that of those that have ended. */
export function engineCpuMs({ pid }: PostgresServer): number {
  if (pid === undefined) return 0;
  const running = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && (Number(name) === pid || parentOf(name) === pid))
    .reduce((sum, name) => sum + cpuMsOf(name), 0);
  return running + endedCpuMs(pid);
}

function parentOf(process: string): number | undefined {
  const parent = statOf(process)[1];
  return parent === undefined ? undefined : Number(parent);
}

function cpuMsOf(process: string): number {
  return Number(read(`/proc/${process}/schedstat`).split(" ", 1)[0]) / 1e6;
}

/** What the children of a process that have ended had used. */
function endedCpuMs(process: number): number {
  const [user, system] = statOf(String(process)).slice(13, 15);
  return (Number(user) + Number(system)) * TICK_MS;
}

/** The fields of a process from its state on. */
function statOf(process: string): readonly string[] {
  // The name of the program, which is in parentheses, can have spaces.
  return read(`/proc/${process}/stat`).split(") ").at(-1)?.split(" ") ?? [];
}

/** The unit of these times on Linux. */
const TICK_MS = 10;

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process has ended.
    return "";
  }
}
