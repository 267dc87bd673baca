import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
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
  const library = join(mkdtempSync(join(tmpdir(), "troupe-fsync-")), "fail-fsync.so");
  const source = fileURLToPath(new URL("fail-fsync.c", import.meta.url));
  const { status } = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]);
  if (status !== 0) return undefined;
  return {
    environment: ({ below, from }) => ({
      LD_PRELOAD: library,
      FAIL_FSYNC_IN: below,
      FAIL_FSYNC_FROM: String(from),
    }),
  };
}
