import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A small disk in memory. Only processes started on it see it; it is removed with the process that holds it. */
export class SmallDisk implements Disposable {
  /** The command that starts a process on the disk. */
  readonly command: readonly string[];
  /** The root of the disk as a process on it sees it. */
  readonly there: string;
  /** The same, as this process sees it. */
  readonly here: string;
  readonly #holder: ChildProcess;

  private constructor(holder: ChildProcess, there: string) {
    this.#holder = holder;
    this.there = there;
    this.here = `/proc/${holder.pid}/root${there}`;
    const target = ["--target", String(holder.pid), "--user", "--mount", "--preserve-credentials"];
    this.command = ["nsenter", ...target];
  }

  /** Mounts a disk; `undefined` where the system does not allow that. */
  static async create(megabytes: number): Promise<SmallDisk | undefined> {
    const there = mkdtempSync(join(tmpdir(), "troupe-disk-"));
    const script = `mount -t tmpfs -o size=${megabytes}m tmpfs ${there} && echo ready && exec cat`;
    const holder = spawn("unshare", ["--map-root-user", "--mount", "sh", "-c", script], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    const ready = once(holder.stdout, "data").then(() => true);
    // Rejects where there is no such program.
    const gone = once(holder, "exit").then(
      () => false,
      () => false,
    );
    if (await Promise.race([ready, gone])) return new SmallDisk(holder, there);
    rmSync(there, { recursive: true });
    return undefined;
  }

  /** Fills the disk. */
  fill(): void {
    const file = openSync(join(this.here, "ballast"), "a");
    try {
      for (const size of [65_536, 4_096, 1]) while (hasRoom(file, size));
    } finally {
      closeSync(file);
    }
  }

  /** Frees the space that `fill` took. */
  empty(): void {
    rmSync(join(this.here, "ballast"), { force: true });
  }

  [Symbol.dispose](): void {
    this.#holder.kill("SIGKILL");
    rmSync(this.there, { recursive: true, force: true });
  }
}

/** Writes a number of bytes; `false` when the disk is full. */
function hasRoom(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    return false;
  }
}
