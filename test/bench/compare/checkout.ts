import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The checkout that this file belongs to. */
export const TREE: string = resolve(import.meta.dirname, "../../..");

/**
 * A built copy of another commit in a temporary folder, with the servers of this benchmark, so that only the
 * package differs.
 */
export class Checkout implements Disposable {
  readonly tree: string;

  constructor(revision: string) {
    const tree = mkdtempSync(join(tmpdir(), "troupe-bench-before-"));
    this.tree = tree;
    const archive = execFileSync("git", ["archive", revision], { cwd: TREE, maxBuffer: 2 ** 30 });
    execFileSync("tar", ["--extract", "--directory", tree], { input: archive });
    if (readLock(tree) === readLock(TREE)) symlinkSync(join(TREE, MODULES), join(tree, MODULES));
    else execFileSync("npm", ["ci"], { cwd: tree, stdio: "inherit" });
    execFileSync(join(tree, MODULES, ".bin/tsc"), ["-p", "tsconfig.build.json"], {
      cwd: tree,
      stdio: "inherit",
    });
    rmSync(join(tree, "test/bench"), { recursive: true, force: true });
    cpSync(join(TREE, "test/bench"), join(tree, "test/bench"), { recursive: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.tree, { recursive: true, force: true });
  }
}

const MODULES = "node_modules";

function readLock(tree: string): string {
  return readFileSync(join(tree, "package-lock.json"), "utf8");
}
