import type { EventLog } from "../../ports/event-log.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { withSecrets } from "./config-secrets.ts";

/** The stores that secrets need. */
export interface StoredSecretsOptions {
  readonly log: EventLog;
  readonly secrets: SecretStore;
  readonly telemetry: Telemetry;
  /** The names of the secrets that the current configurations of agents refer to. */
  readonly agents: { readonly secrets: readonly string[] };
}

/**
 * Stores secret values. Each change of a configuration has its own names for them, so a value never changes, and
 * it is removed when no run refers to its name. The values are stored before the log refers to them, and removed
 * after the log has dropped the last reference. The next sweep removes what a crash leaves between these steps:
 * that of the next start, also for a process that dies after another one has taken over the log and has swept.
 */
export class StoredSecrets {
  readonly #options: StoredSecretsOptions;
  /** The names of values that the log may not refer to yet. */
  readonly #storing = new Set<string>();
  /** Running commits that add references to secrets. */
  readonly #referring = new Set<Promise<unknown>>();

  constructor(options: StoredSecretsOptions) {
    this.#options = options;
  }

  /** Replaces the references in a configuration by the secret values. */
  reveal(config: JsonObject): JsonObject {
    return withSecrets(config, this.#options.secrets);
  }

  /** Registers a commit that adds references to secrets. */
  referring(commit: Promise<unknown>): void {
    const forget = (): void => void this.#referring.delete(settled);
    const settled: Promise<void> = commit.then(forget, forget);
    this.#referring.add(settled);
  }

  /** Stores values by name and then makes the log refer to them. If that fails, the values are removed. */
  async store<Result>(
    values: Readonly<Record<string, string>>,
    refer: () => Promise<Result>,
  ): Promise<Result> {
    const names = Object.keys(values);
    if (names.length === 0) return refer();
    let isSettled = false;
    for (const name of names) this.#storing.add(name);
    try {
      await this.#options.secrets.put(values);
      const result = await refer();
      isSettled = !(await this.#restore(values));
      return result;
    } finally {
      for (const name of names) this.#storing.delete(name);
      if (!isSettled) await this.collect(names);
    }
  }

  /**
   * Stores values again that the sweep of another process has removed because the log did not refer to them yet:
   * the reference may be written by a process that has just taken over the run. Returns whether there were any.
   */
  async #restore(values: Readonly<Record<string, string>>): Promise<boolean> {
    const { secrets } = this.#options;
    const lost = Object.entries(values).filter(([name]) => secrets.get(name) === undefined);
    if (lost.length > 0) await secrets.put(Object.fromEntries(lost));
    return lost.length > 0;
  }

  /** Removes those of the values that nothing refers to. If that fails, the next sweep removes them. */
  async collect(names: readonly string[]): Promise<void> {
    try {
      await this.#collect(names);
    } catch (error) {
      this.#options.telemetry.fault("secrets that no run refers to could not be removed", error);
    }
  }

  /** Removes every value that nothing refers to. */
  async sweep(): Promise<void> {
    await this.collect([...this.#options.secrets.names()]);
  }

  async #collect(names: readonly string[]): Promise<void> {
    const { log, secrets, agents } = this.#options;
    const used = new Set([...this.#storing, ...agents.secrets]);
    const unused = names.filter((name) => !used.has(name));
    if (unused.length === 0) return;
    // A run created before its agent's configuration changed may refer to one of the values in a running
    // commit. No run created from now on does.
    await Promise.all(this.#referring);
    // The outcome of a failed commit is unknown until the log accepts appends again; then another sweep runs.
    if (!log.health().writable) return;
    const removed = (await log.unreferenced(unused)).filter((name) => secrets.get(name) !== undefined);
    if (removed.length > 0) await secrets.remove(removed);
  }
}
