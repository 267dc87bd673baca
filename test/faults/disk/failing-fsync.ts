import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A library that makes a process's fsync fail. */
export interface FailingFsync {
  /** The environment of a process whose n-th sync of a file below a directory fails, and every later one. */
  environment(options: { readonly below: string; readonly from: number }): Record<string, string>;
}

/** Compiles the library; `undefined` without a C compiler or on another system. */
export function compileFailingFsync(): FailingFsync | undefined {
  if (process.platform !== "linux") return undefined;
  // Every run of the tests writes the same file; nothing has to remove it.
  const directory = join(tmpdir(), "troupe-faults-cache");
  mkdirSync(directory, { recursive: true });
  const library = join(directory, "fail-fsync.so");
  const written = `${library}.${process.pid}`;
  const source = fileURLToPath(new URL("fail-fsync.c", import.meta.url));
  const { status } = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", written, source, "-ldl"]);
  if (status !== 0) return undefined;
  renameSync(written, library);
  return {
    environment: ({ below, from }) => ({
      LD_PRELOAD: library,
      FAIL_FSYNC_IN: below,
      FAIL_FSYNC_FROM: String(from),
    }),
  };
}
