import type { EventLog } from "../../ports/event-log.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { AgentDirectory } from "./agent-directory.ts";
import { versionOf, withSecrets } from "./config-secrets.ts";

/** What secret values are stored, read and removed with. */
export interface SecretVersionsOptions {
  readonly log: EventLog;
  readonly secrets: SecretStore;
  readonly telemetry: Telemetry;
  readonly agents: AgentDirectory;
}

/**
 * Stores secret values by versions: each configuration gets a version of its own, which never changes and is removed
 * when no run refers to it. The values are stored before the log refers to them, and removed after the log has
 * dropped the last reference; what a crash leaves between these steps is removed by the next sweep.
 */
export class SecretVersions {
  readonly #options: SecretVersionsOptions;
  /** Versions that are stored and that the log may not refer to yet. */
  readonly #storing = new Set<string>();
  /** Commits under way in which runs begin to refer to versions. */
  readonly #referring = new Set<Promise<unknown>>();

  constructor(options: SecretVersionsOptions) {
    this.#options = options;
  }

  /** The configuration with the secret values in the place of their names. */
  reveal(config: JsonObject): JsonObject {
    return withSecrets(config, this.#options.secrets);
  }

  /** Takes note of a commit in which a run begins to refer to versions. */
  referring(commit: Promise<unknown>): void {
    const forget = (): void => void this.#referring.delete(settled);
    const settled: Promise<void> = commit.then(forget, forget);
    this.#referring.add(settled);
  }

  /** Stores the values of a version and then has the log refer to them. If that fails, the values are removed. */
  async store<Result>(
    version: string,
    values: Readonly<Record<string, string>>,
    refer: () => Promise<Result>,
  ): Promise<Result> {
    if (Object.keys(values).length === 0) return refer();
    let isReferred = false;
    this.#storing.add(version);
    try {
      await this.#options.secrets.put(values);
      const result = await refer();
      isReferred = true;
      return result;
    } finally {
      this.#storing.delete(version);
      if (!isReferred) await this.collect([version]);
    }
  }

  /** Removes those of the versions that nothing refers to. If that fails, the next sweep removes them. */
  async collect(versions: readonly string[]): Promise<void> {
    try {
      await this.#collect(versions);
    } catch (error) {
      this.#options.telemetry.fault("secrets that no run refers to could not be removed", error);
    }
  }

  /** Removes every version that nothing refers to. */
  async sweep(): Promise<void> {
    await this.collect([...new Set([...this.#options.secrets.names()].map(versionOf))]);
  }

  async #collect(versions: readonly string[]): Promise<void> {
    const { log, secrets, agents } = this.#options;
    const used = new Set([...this.#storing, ...agents.secretVersions]);
    const unused = versions.filter((version) => !used.has(version));
    if (unused.length === 0) return;
    // A run that began before the configuration of its agent changed may refer to one of them in a commit under way.
    // No run that begins from here on does.
    await Promise.all(this.#referring);
    // The outcome of a commit that failed is not known until the log takes appends again. A sweep follows then.
    if (!log.health().writable) return;
    const removed = new Set(await log.unreferenced(unused));
    const names = [...secrets.names()].filter((name) => removed.has(versionOf(name)));
    if (names.length > 0) await secrets.remove(names);
  }
}
