import { realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentError, messageOf } from "../../errors.ts";
import { toDigestVersion } from "../../ports/agent-version.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { KeptAgent, KeptVersion, VersionStore } from "../../ports/version-store.ts";
import type { Agent } from "../../runtime/agent/agent.ts";
import type { Candidate, CodeVersions } from "../../runtime/agent/candidate.ts";
import { exportedAgents } from "./exported-agents.ts";
import { SourceFiles } from "./source-files.ts";
import type { AgentCode } from "./source-files.ts";
import { VersionLoader } from "./version-loader.ts";

/** What `keepVersions` takes. */
export interface KeepVersionsOptions {
  /**
   * The module that exports the agents: a file URL. It only defines them; a kept version of it is loaded again beside the
   * program, so it must not start a server.
   */
  readonly entry: string | URL;
  /** The log, which keeps the versions. */
  readonly log: EventLog;
  /** A directory for kept versions that are loaded, and whose files are not the project's own: that of the log, for example. */
  readonly directory: string;
  /** Gets what is not kept, and why. */
  readonly warn?: (message: string) => void;
}

/** Keeps the code of the agents of a module, so that open turns are continued by the version that began them. */
export async function keepVersions({
  entry,
  log,
  directory,
  warn = () => {},
}: KeepVersionsOptions): Promise<CodeVersions> {
  const file = fileURLToPath(entry);
  const agents = exportedAgents((await import(String(entry))) as Record<string, unknown>);
  if (agents.length === 0) throw new AgentError("invalid_request", `${file} exports no agent`);
  const files = new Map(agents.map((agent) => [agent, file]));
  return keepCode({ files, folder: dirname(file), store: log.versions?.(), directory, warn });
}

/** The files of agents, and where their versions are kept. */
export interface CodeOptions {
  /** The file of each agent. */
  readonly files: ReadonlyMap<Agent, string>;
  /** A folder of their project. */
  readonly folder: string;
  /** Where versions are kept; absent if they are not. */
  readonly store: VersionStore | undefined;
  readonly directory: string;
  readonly warn: (message: string) => void;
}

/** Finds out the versions of agents by their files, and keeps those that were not seen before. */
export async function keepCode({
  files,
  folder,
  store,
  directory,
  warn,
}: CodeOptions): Promise<CodeVersions> {
  const sources = new SourceFiles(folder, [resolve(directory), realpathOf(directory)], warn);
  const codes = new Map<string, AgentCode>();
  for (const file of new Set(files.values())) {
    const code = codeOf(sources, file, warn);
    if (code) codes.set(file, code);
  }
  const versionOf = (agent: Agent): string | undefined => {
    const code = codes.get(files.get(agent) ?? "");
    return code && toDigestVersion(code.digest);
  };
  if (store === undefined) return { versionOf, kept: async () => [], prune: async () => {} };
  const agentsOf = (file: string): readonly KeptAgent[] =>
    [...files].flatMap(([agent, own]) => (own === file ? [toKept(agent, versionOf(agent))] : []));
  const served = [...codes].map(([file, code]) => ({ code, agents: agentsOf(file) }));
  try {
    await keepAll(store, sources, served, warn);
  } catch (thrown) {
    // On a full disk for example: what was kept before still helps, and the server must start.
    warn(`the code of the agents is not kept: ${messageOf(thrown)}`);
  }
  return new KeptCode(store, new VersionLoader(store, resolve(directory, LOADED), sources.project), {
    versionOf,
    served: new Set(served.map(({ code }) => code.digest)),
  });
}

/** Where the files of kept versions that are loaded are, below the directory of the data. */
const LOADED = "versions/loaded";

/** The most bytes of the files of a version. */
const VERSION_BYTES = 16 * 1024 * 1024;

/** The code of a file; `undefined` if it cannot be kept. */
function codeOf(sources: SourceFiles, file: string, warn: (message: string) => void): AgentCode | undefined {
  try {
    return sources.codeOf(file);
  } catch (thrown) {
    warn(`the code of ${file} is not kept: ${messageOf(thrown)}`);
    return undefined;
  }
}

function realpathOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

function toKept({ name, version: own, compatible }: Agent, digest: string | undefined): KeptAgent {
  const version = own ?? digest;
  return { name, compatible, ...(version !== undefined && { version }) };
}

/** Keeps the code that is served, each version with the other files of the project as they are when it is first seen. */
async function keepAll(
  store: VersionStore,
  sources: SourceFiles,
  served: readonly { readonly code: AgentCode; readonly agents: readonly KeptAgent[] }[],
  warn: (message: string) => void,
): Promise<void> {
  const known = new Map((await store.list()).map((version) => [version.id, version]));
  for (const { code, agents } of served) {
    const { digest: id, entry, files } = code;
    const before = known.get(id);
    const others = before ? undefined : sources.othersOf(code, VERSION_BYTES - sources.sizeOf(files));
    if (others !== undefined && others.leftOut > 0)
      warn(`${others.leftOut} files beside ${entry} are not kept with it: a version has at most 16 MiB`);
    const version: KeptVersion = {
      id,
      entry,
      agents,
      keptAt: Date.now(),
      files: before?.files ?? { ...others?.files, ...files },
    };
    await store.keep(version, async (path) => sources.contentOf(path));
  }
}

/** What `KeptCode` knows of the agents that are served. */
interface ServedCode {
  versionOf(agent: Agent): string | undefined;
  /** The digests of their code. */
  readonly served: ReadonlySet<string>;
}

/** The kept versions of the agents of a project. */
class KeptCode implements CodeVersions {
  readonly versionOf: (agent: Agent) => string | undefined;
  readonly #store: VersionStore;
  readonly #loader: VersionLoader;
  readonly #served: ReadonlySet<string>;
  /** The versions that turns have needed here: one that continues while the open turns are listed may be missed. */
  readonly #used = new Set<string>();
  #newest: { readonly at: number; readonly versions: Promise<readonly KeptVersion[]> } | undefined;

  constructor(store: VersionStore, loader: VersionLoader, { versionOf, served }: ServedCode) {
    this.#store = store;
    this.#loader = loader;
    this.versionOf = versionOf;
    this.#served = served;
  }

  async kept(name: string): Promise<readonly Candidate[]> {
    const versions = (await this.#list()).filter(({ id }) => !this.#served.has(id));
    return versions.flatMap((version) => this.#candidatesOf(version, name));
  }

  async prune(
    isNeeded: (agent: string, version: string | undefined) => boolean,
    keptBefore: number,
  ): Promise<void> {
    const old = (await this.#store.list()).filter(({ id, keptAt, agents }) => {
      if (this.#served.has(id) || this.#used.has(id) || keptAt >= keptBefore) return false;
      return !agents.some(({ name, version }) => isNeeded(name, version));
    });
    const ids = old.map(({ id }) => id);
    await this.#store.remove(ids);
    await this.#loader.remove(ids);
  }

  #candidatesOf(version: KeptVersion, wanted: string): readonly Candidate[] {
    return version.agents.flatMap(({ name, ...its }): readonly Candidate[] => {
      if (name !== wanted) return [];
      const agent = async (): Promise<Agent> => {
        this.#used.add(version.id);
        const found = (await this.#loader.load(version)).find((each) => isSame(each, name, its.version));
        if (found) return found;
        throw new AgentError("unavailable", `${version.entry} does not export agent ${name}`);
      };
      return [{ from: "kept", ...its, agent }];
    });
  }

  /** The kept versions; a list that is new enough serves for many turns. */
  #list(): Promise<readonly KeptVersion[]> {
    const now = performance.now();
    if (this.#newest === undefined || now - this.#newest.at > LIST_MS) {
      const versions = this.#store.list();
      this.#newest = { at: now, versions };
      // Those who asked get the error; the next one asks again.
      versions.catch(() => void (this.#newest = undefined));
    }
    return this.#newest.versions;
  }
}

/** How old a list of kept versions may be, in milliseconds. */
const LIST_MS = 1_000;

/** Whether an agent is the one that was kept: one without a version of its own was kept under that of its code. */
function isSame(agent: Agent, name: string, version: string | undefined): boolean {
  return agent.name === name && (agent.version === undefined || agent.version === version);
}
