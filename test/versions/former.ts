import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const ROOT = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

/** The newest commit of an older schema. */
export interface Former {
  readonly commit: string;
  /** The number of its schema. */
  readonly schema: number;
}

/**
 * Finds in the history the last commit before the newest change of the schema: the version that a rolling update replaces. `undefined`
 * without a history, or with one that does not go back so far (`git fetch --unshallow` gets the rest of one that is cut off). It fails
 * without git, and if git refuses to read the history.
 */
export async function findFormer(root: string = ROOT): Promise<Former | undefined> {
  // An archive of the files, perhaps in the repository of something else.
  if (!existsSync(join(root, ".git"))) return undefined;
  const newest = schemaIn(await readFile(join(root, LIST), "utf8"));
  for (const commit of lines(await git(root, "log", "--format=%H", "--", LIST))) {
    const [before] = lines(
      await git(root, "rev-list", "--max-count=1", "--skip=1", "--first-parent", commit),
    );
    if (before === undefined) continue;
    const [name] = lines(await git(root, "ls-tree", "--name-only", before, LIST));
    if (name === undefined) continue;
    const schema = schemaIn(await git(root, "show", `${before}:${LIST}`));
    if (schema < newest) return { commit: before, schema };
  }
  return undefined;
}

/** The file that lists the changes of the schema. */
export const LIST = "src/storage/postgres/schema/migrate.ts";

/** The number of changes that such a file lists. */
export function schemaIn(text: string): number {
  const schema = /MIGRATIONS[^=]*= \[([^\]]*)\]/.exec(text)?.[1]?.match(/\w+ ?(\+ \w+)?,/g)?.length;
  if (schema === undefined) throw new Error(`the changes of the schema are not found in ${LIST}`);
  return schema;
}

/** The sources of a commit in a folder of their own, with the packages of this version. Node runs them as they are. */
export async function unpack({
  commit,
}: Former): Promise<{ readonly root: string; remove(): Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), "troupe-former-"));
  const archive = join(root, "archive.tar");
  await git(
    ROOT,
    "archive",
    "--format=tar",
    `--output=${archive}`,
    commit,
    "package.json",
    "tsconfig.json",
    "src",
  );
  await run("tar", ["-xf", archive, "-C", root]);
  await rm(archive);
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"));
  return { root, remove: () => rm(root, { recursive: true, force: true }) };
}

/** Asks git, also in a copy that belongs to another user: it is only read. */
async function git(root: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run("git", ["-c", "safe.directory=*", ...args], { cwd: root, maxBuffer: 2 ** 26 });
  return stdout;
}

function lines(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}
