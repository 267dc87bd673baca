import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

/** The root of the repository. */
export const root: string = resolve(import.meta.dirname, "../..");

/** The compiler that sets up and checks projects. */
export const tsc: string = join(root, "node_modules/.bin/tsc");

/** Packages that a user's project has besides the package and its dependencies. */
const DEVELOPMENT = ["@types/express", "@types/node", "express", "fastify"];

/**
 * Creates an empty ES module project, set up as the README says, with the package installed as packed from a
 * fresh clone of the repository. Needs no network: the dependencies are links. Optional peers are not installed.
 */
export async function createProjectWithPackage(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), "troupe-packed-"));
  const modules = join(project, "node_modules");
  await mkdir(modules);
  await rename(await packClone(project), join(modules, "troupe"));
  const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  for (const name of [...Object.keys(dependencies), ...DEVELOPMENT]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, "node_modules", name), join(modules, name));
  }
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  const [, settings = "--init"] =
    /^npx tsc (--init .*)$/m.exec(await readFile(join(root, "README.md"), "utf8")) ?? [];
  await run(tsc, settings.split(" "), project);
  return project;
}

/** Runs a program and resolves with its output; rejects with the output when the program fails. */
export async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    return (await promisify(execFile)(program, args, { cwd })).stdout;
  } catch (cause) {
    const { stdout, stderr } = cause as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${basename(program)} ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause });
  }
}

/** Packs a copy of the repository without a build, and unpacks the archive. Returns its folder. */
async function packClone(folder: string): Promise<string> {
  const clone = join(folder, "clone");
  const left = new Set([".git", ".troupe", "dist", "test"].map((name) => join(root, name)));
  const isLeft = (from: string): boolean => left.has(from) || basename(from) === "node_modules";
  await cp(root, clone, { recursive: true, filter: (from) => !isLeft(from) });
  await symlink(join(root, "node_modules"), join(clone, "node_modules"));
  await run("npm", ["pack", "--offline", "--silent", "--pack-destination", folder], clone);
  await rm(clone, { recursive: true });
  const archive = (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "no archive";
  await run("tar", ["-xzf", archive], folder);
  return join(folder, "package");
}
