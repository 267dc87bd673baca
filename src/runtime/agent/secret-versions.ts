import type { EventLog } from "../../ports/event-log.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { AgentDirectory } from "./agent-directory.ts";
import { versionOf, withSecrets } from "./config-secrets.ts";

/** The stores that secrets need. */
export interface SecretVersionsOptions {
  readonly log: EventLog;
  readonly secrets: SecretStore;
  readonly telemetry: Telemetry;
  readonly agents: AgentDirectory;
}

/**
 * Stores secret values in versions: each configuration has its own version, which never changes and is
 * removed when no run refers to it. The values are stored before the log refers to them, and removed after
 * the log has dropped the last reference. The next sweep removes what a crash leaves between these steps.
 */
export class SecretVersions {
  readonly #options: SecretVersionsOptions;
  /** Stored versions that the log may not refer to yet. */
  readonly #storing = new Set<string>();
  /** Running commits that add references to versions. */
  readonly #referring = new Set<Promise<unknown>>();

  constructor(options: SecretVersionsOptions) {
    this.#options = options;
  }

  /** Replaces the references in a configuration by the secret values. */
  reveal(config: JsonObject): JsonObject {
    return withSecrets(config, this.#options.secrets);
  }

  /** Registers a commit that adds references to versions. */
  referring(commit: Promise<unknown>): void {
    const forget = (): void => void this.#referring.delete(settled);
    const settled: Promise<void> = commit.then(forget, forget);
    this.#referring.add(settled);
  }

  /**
   * Stores the values of a version and then makes the log refer to them. If that fails, the values are
   * removed.
   */
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

  /** Removes the versions that nothing refers to. If that fails, the next sweep removes them. */
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
    // A run created before its agent's configuration changed may refer to one of the versions in a running
    // commit. No run created from now on does.
    await Promise.all(this.#referring);
    // The outcome of a failed commit is unknown until the log accepts appends again; then another sweep runs.
    if (!log.health().writable) return;
    const removed = new Set(await log.unreferenced(unused));
    const names = [...secrets.names()].filter((name) => removed.has(versionOf(name)));
    if (names.length > 0) await secrets.remove(names);
  }
}
