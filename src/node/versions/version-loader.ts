import { hash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { registerHooks } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { AgentError, messageOf } from "../../errors.ts";
import type { KeptVersion, VersionStore } from "../../ports/version-store.ts";
import type { Agent } from "../../runtime/agent/agent.ts";
import { exportedAgents } from "./exported-agents.ts";

/** Loads kept versions, each at most once, with a graph of modules of its own. */
export class VersionLoader {
  readonly #store: VersionStore;
  readonly #directory: string;
  readonly #project: string;
  readonly #loaded = new Map<string, Promise<readonly Agent[]>>();

  /** The files are put into folders of a directory. The packages are those of the project. */
  constructor(store: VersionStore, directory: string, project: string) {
    this.#store = store;
    this.#directory = directory;
    this.#project = project;
  }

  /** The agents that a version exports; rejects if they cannot be loaded. */
  load(version: KeptVersion): Promise<readonly Agent[]> {
    const known = this.#loaded.get(version.id);
    if (known) return known;
    const loading = this.#load(version);
    this.#loaded.set(version.id, loading);
    return loading;
  }

  /** Removes the folders of versions; code that has run from there may have files open. */
  async remove(ids: readonly string[]): Promise<void> {
    await Promise.all(
      ids.map((id) => rm(this.#folderOf(id), { recursive: true, force: true }).catch(() => {})),
    );
  }

  async #load(version: KeptVersion): Promise<readonly Agent[]> {
    const folder = this.#folderOf(version.id);
    try {
      if (!(await isWhole(folder, version))) await this.#place(folder, version);
    } catch (thrown) {
      // A full disk, or a database that is away: the next one that needs it tries again.
      this.#loaded.delete(version.id);
      throw thrown;
    }
    redirect(folder, this.#project);
    const imported = import(pathToFileURL(join(folder, version.entry)).href);
    return exportedAgents((await within(LOAD_MS, imported)) as Record<string, unknown>);
  }

  /** Writes the files of a version, all or none. */
  async #place(folder: string, { files }: KeptVersion): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const temporary = await mkdtemp(join(this.#directory, "new-"));
    for (const [path, digest] of Object.entries(files)) {
      const target = join(temporary, path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, await this.#store.read(digest), { flag: "wx", mode: 0o600 });
    }
    await rm(folder, { recursive: true, force: true });
    await rename(temporary, folder);
  }

  #folderOf(id: string): string {
    return join(this.#directory, id.slice(0, FOLDER_CHARACTERS));
  }
}

const FOLDER_CHARACTERS = 32;

/** How long the code of a version may take to load, in milliseconds. */
const LOAD_MS = 30_000;

async function isWhole(folder: string, { files }: KeptVersion): Promise<boolean> {
  try {
    for (const [path, digest] of Object.entries(files))
      if (hash("sha256", await readFile(join(folder, path))) !== digest) return false;
    return true;
  } catch {
    return false;
  }
}

async function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new AgentError("timeout", `it did not load in ${ms / 1_000} s`)), ms);
  try {
    return await Promise.race([work, late]);
  } catch (cause) {
    const [line = ""] = messageOf(cause).split("\n");
    throw new AgentError("unavailable", line, { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** The project of each folder of a version, as URLs that end with a slash. */
const projects = new Map<string, string>();

/** Resolves what the code in a folder imports as if it were in its project, except the files that it has itself. */
function redirect(folder: string, project: string): void {
  if (projects.size === 0) registerHooks({ resolve: resolveKept });
  projects.set(`${pathToFileURL(folder).href}/`, `${pathToFileURL(project).href}/`);
}

type Resolve = Parameters<typeof registerHooks>[0]["resolve"];

const resolveKept: NonNullable<Resolve> = (specifier, context, next) => {
  const parent = context.parentURL;
  if (parent === undefined || !isName(specifier)) return next(specifier, context);
  for (const [folder, project] of projects) {
    if (!parent.startsWith(folder)) continue;
    const resolved = next(specifier, { ...context, parentURL: project + parent.slice(folder.length) });
    const isOwn = specifier.startsWith("#") && resolved.url.startsWith(project);
    if (!isOwn || resolved.url.includes("/node_modules/")) return resolved;
    return next(folder + resolved.url.slice(project.length), context);
  }
  return next(specifier, context);
};

/** Whether a module is imported by a name: of a package, or one that the project gives to a file. */
function isName(specifier: string): boolean {
  return !/^(?:\.{0,2}\/|[a-z]+:)/.test(specifier);
}
