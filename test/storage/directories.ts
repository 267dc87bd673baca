import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { EventLog } from "../../src/ports/event-log.ts";
import { DamagedLog, sqliteLog } from "../../src/storage/sqlite/index.ts";

/** An empty directory for the duration of a test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "sqlite-log-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Opens a log, unless it is refused as damaged. */
export function openUnlessDamaged(directory: string): EventLog | undefined {
  try {
    return sqliteLog(directory);
  } catch (error) {
    if (error instanceof DamagedLog) return undefined;
    throw error;
  }
}

/** A process that works on a log, and its output lines. */
export interface LogChild {
  readonly process: ChildProcess;
  readonly lines: AsyncIterable<string>;
  /** Resolves when the process has ended, with its exit code or signal. */
  readonly ended: Promise<number | string | null>;
}

/** Starts `log-child.ts` in its own process, with an optional command before it. */
export function startLogChild(
  mode: "append" | "open" | "fill" | "crowd" | "exceed" | "hold" | "remove",
  directory: string,
  {
    command = [],
    durability = "full",
  }: { readonly command?: readonly string[]; readonly durability?: "full" | "relaxed" } = {},
): LogChild {
  const program = fileURLToPath(new URL("log-child.ts", import.meta.url));
  const [file, ...args] = [...command, process.execPath, program, mode, directory, durability];
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const { promise: ended, resolve } = Promise.withResolvers<number | string | null>();
  child.on("exit", (code, signal) => resolve(code ?? signal));
  return { process: child, lines: createInterface(child.stdout), ended };
}

/** Changes one byte of a file, at the first or last occurrence of a text. */
export function damage(path: string, text: string, place: "first" | "last"): void {
  const bytes = readFileSync(path);
  const at = place === "first" ? bytes.indexOf(text) : bytes.lastIndexOf(text);
  if (at < 0) throw new Error(`${path} does not hold ${text}`);
  bytes[at] = (bytes[at] ?? 0) ^ 0x01;
  writeFileSync(path, bytes);
}
