import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { promisify } from "node:util";
import { EXIT, Exit } from "../exit.ts";
import { InvalidArgumentError } from "../vendor/commander.ts";
import { keptFile } from "./data-set.ts";

/** The files of a commit, in a directory below the project, so that they find its installed packages. */
export interface Commit {
  /** Where a directory of the project is in it. */
  directoryOf(path: string): string;
  remove(): Promise<void>;
}

/** Reads the name of a commit, tag or branch. */
export function parseRefs(text: string): readonly string[] {
  const refs = text.split(",").map((name) => name.trim());
  if (refs.some((ref) => ref === "" || ref.startsWith("-")))
    throw new InvalidArgumentError("It must be commits, tags or branches of git with commas between.");
  return refs;
}

/** Checks out a commit beside the present files, as a worktree of git, until it is removed. */
export async function checkOut(name: string, ref: string): Promise<Commit> {
  const found = await git(
    ["rev-parse", "--verify", "--quiet", `${ref}^{commit}`],
    `there is no commit ${ref}`,
  );
  const prefix = await git(["rev-parse", "--show-prefix"], "this directory is in no git repository");
  const directory = keptFile(name, join("commits", found));
  // An evaluation that was killed has left it.
  if (existsSync(directory)) await remove(directory);
  await git(["worktree", "prune"], "worktrees of git cannot be made here");
  await git(["worktree", "add", "--detach", "--quiet", directory, found], `${ref} cannot be checked out`);
  return {
    directoryOf(path) {
      const within = relative("", resolve(path));
      if (within === ".." || within.startsWith(`..${sep}`) || resolve(within) === within)
        throw new Exit(EXIT.usage, `${path} is outside of the project, so ${ref} does not have it`);
      return join(directory, prefix, within);
    },
    remove: () => remove(directory),
  };
}

async function remove(directory: string): Promise<void> {
  await git(["worktree", "remove", "--force", directory], `${directory} cannot be removed`);
}

async function git(args: readonly string[], otherwise: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("git", args);
    return stdout.trim();
  } catch (thrown) {
    const { code, stderr = "" } = thrown as { readonly code?: unknown; readonly stderr?: string };
    throw new Exit(EXIT.unknown, otherwise, code === "ENOENT" ? "install git" : stderr.trim());
  }
}
