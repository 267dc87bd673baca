import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { SCHEMA_VERSION } from "../../src/storage/postgres/schema/migrate.ts";

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
 * without a history, or with one that is cut off (`git fetch --unshallow` gets the rest).
 */
export async function findFormer(): Promise<Former | undefined> {
  const isWhole = await git("rev-parse", "--is-shallow-repository").catch(() => "true");
  if (isWhole.trim() !== "false") return undefined;
  for (const commit of (await git("log", "--format=%H", "--", LIST)).trim().split("\n")) {
    const before = `${commit}^`;
    const text = await git("show", `${before}:${LIST}`).catch(() => "");
    const schema = /MIGRATIONS[^=]*= \[([^\]]*)\]/.exec(text)?.[1]?.match(/\w+ ?(\+ \w+)?,/g)?.length;
    if (schema !== undefined && schema < SCHEMA_VERSION)
      return { commit: (await git("rev-parse", before)).trim(), schema };
  }
  throw new Error(`no commit of this history has a schema before ${SCHEMA_VERSION}`);
}

/** The file that lists the changes of the schema. */
const LIST = "src/storage/postgres/schema/migrate.ts";

/** The sources of a commit in a folder of their own, with the packages of this version. Node runs them as they are. */
export async function unpack({
  commit,
}: Former): Promise<{ readonly root: string; remove(): Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), "troupe-former-"));
  const archive = join(root, "archive.tar");
  await git("archive", "--format=tar", `--output=${archive}`, commit, "package.json", "tsconfig.json", "src");
  await run("tar", ["-xf", archive, "-C", root]);
  await rm(archive);
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"));
  return { root, remove: () => rm(root, { recursive: true, force: true }) };
}

async function git(...args: readonly string[]): Promise<string> {
  const { stdout } = await run("git", args, { cwd: ROOT, maxBuffer: 2 ** 26 });
  return stdout;
}
