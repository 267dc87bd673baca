import type { Environment } from "../../ports/environment.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { AUTH, ERASURES } from "./secret-prefixes.ts";
import { TextSigner } from "./text-signer.ts";
import { secretNamesIn, withSecrets } from "./config-secrets.ts";

/** How the names of the secrets of sign-ins begin. No run refers to them, so they are never swept. */
export const SIGN_INS = "sign-in/";

/** The stores that secrets need. */
export interface StoredSecretsOptions {
  readonly log: EventLog;
  readonly secrets: SecretStore;
  readonly environment: Environment;
  readonly telemetry: Telemetry;
  /** The names of the secrets that the current configurations of agents refer to. */
  readonly agents: { readonly secrets: readonly string[] };
}

/**
 * Stores secret values. Each change of a configuration has its own names for them, so a value never changes, and
 * it is removed when no run refers to its name. The values are stored before the log refers to them, and removed
 * after the log has dropped the last reference. The next sweep removes what a crash leaves between these steps:
 * that of the next start, also for a process that dies after another one has taken over the log and has swept. With
 * several nodes, a value that nothing refers to is removed only after a delay, because another node may be about to
 * refer to it.
 */
export class StoredSecrets {
  readonly #options: StoredSecretsOptions;
  /** The names of values that the log may not refer to yet. */
  readonly #storing = new Set<string>();
  /** Running commits that add references to secrets. */
  readonly #referring = new Set<Promise<unknown>>();
  /** The values in memory: those of runs in memory and of the current configurations of agents. */
  readonly #held = new Map<string, HeldValue>();

  readonly #delay: RemovalDelay | undefined;

  /** Signs what the runtime gives away, with keys of this store. */
  readonly signer: TextSigner;

  constructor(options: StoredSecretsOptions) {
    this.#options = options;
    const remove = (names: readonly string[]): Promise<void> =>
      this.#removeUnused(names).catch((error: unknown) => this.#notCollected(error));
    this.signer = new TextSigner(options.secrets, () => options.environment.newId());
    if (options.log.node !== undefined) this.#delay = new RemovalDelay(options.environment, remove);
  }

  /** What is not removed yet is left to the next sweep, of another node or of the next start. */
  stop(): void {
    this.#delay?.stop();
  }

  /** Replaces the references in a configuration by the secret values, which must be held. */
  reveal(config: JsonObject): JsonObject {
    return withSecrets(config, (name) => this.#held.get(name)?.value);
  }

  /** Reads the secret values that something refers to into memory, where they stay until they are released. */
  hold(names: readonly string[]): Promise<void> {
    if (names.length === 0) return DONE;
    return Promise.all(names.map((name) => this.#hold(name))).then(() => {});
  }

  /** Ends one `hold` of each of these values. */
  release(names: Iterable<string>): void {
    for (const name of names) {
      const held = this.#held.get(name);
      if (held === undefined) continue;
      held.holders -= 1;
      if (held.holders === 0) this.#held.delete(name);
    }
  }

  /** Reads the secret values of configurations for as long as something is done with them. */
  async with<Result>(configs: Json, work: () => Promise<Result>): Promise<Result> {
    const names = secretNamesIn(configs);
    if (names.length === 0) return work();
    try {
      await this.hold(names);
      return await work();
    } finally {
      this.release(names);
    }
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
      await this.#put(values);
      const result = await refer();
      isSettled = !(await this.#restore(values));
      return result;
    } finally {
      for (const name of names) this.#storing.delete(name);
      if (!isSettled) await this.collect(names);
    }
  }

  async #put(values: Readonly<Record<string, string>>): Promise<void> {
    await this.#options.secrets.put(values);
    for (const [name, value] of Object.entries(values)) {
      const held = this.#held.get(name);
      if (held) held.value = value;
    }
  }

  /**
   * Stores values again that the sweep of another process has removed because the log did not refer to them yet:
   * the reference may be written by a process that has just taken over the run. Returns whether there were any.
   */
  async #restore(values: Readonly<Record<string, string>>): Promise<boolean> {
    const stored = new Set(await this.#stored(Object.keys(values)));
    const lost = Object.entries(values).filter(([name]) => !stored.has(name));
    if (lost.length > 0) await this.#put(Object.fromEntries(lost));
    return lost.length > 0;
  }

  /** Removes those of the values that nothing refers to. If that fails, the next sweep removes them. */
  async collect(names: readonly string[]): Promise<void> {
    try {
      await this.#collect(names);
    } catch (error) {
      this.#notCollected(error);
    }
  }

  /** Removes every value that nothing refers to. */
  async sweep(): Promise<void> {
    try {
      await this.#collect(await this.#options.secrets.names());
    } catch (error) {
      this.#notCollected(error);
    }
  }

  async #collect(names: readonly string[]): Promise<void> {
    if (this.#delay) this.#delay.add(await this.#unusedOf(names));
    else await this.#removeUnused(names);
  }

  async #removeUnused(names: readonly string[]): Promise<void> {
    const unused = await this.#unusedOf(names);
    if (unused.length > 0) await this.#options.secrets.remove(unused);
  }

  /** The names among these that have a value and that nothing refers to. */
  async #unusedOf(names: readonly string[]): Promise<readonly string[]> {
    const { log, agents } = this.#options;
    const used = new Set([...this.#storing, ...agents.secrets]);
    const unused = names.filter((name) => !used.has(name) && !isOfNoRun(name));
    if (unused.length === 0) return [];
    // A run created before its agent's configuration changed may refer to one of the values in a running
    // commit. No run created from now on does.
    await Promise.all(this.#referring);
    // The outcome of a failed commit is unknown until the log accepts appends again; then another sweep runs.
    if (!log.health().writable) return [];
    return this.#stored(await log.unreferenced(unused));
  }

  #notCollected(error: unknown): void {
    this.#options.telemetry.fault("secrets that no run refers to could not be removed", error);
  }

  /** The names among these that have a value. */
  async #stored(names: readonly string[]): Promise<readonly string[]> {
    const values = await Promise.all(names.map((name) => this.#options.secrets.get(name)));
    return names.filter((_, index) => values[index] !== undefined);
  }

  #hold(name: string): Promise<void> {
    const known = this.#held.get(name);
    if (known) {
      known.holders += 1;
      return known.reading ?? DONE;
    }
    const held: HeldValue = { holders: 1, value: undefined, reading: undefined };
    this.#held.set(name, held);
    held.reading = this.#options.secrets.get(name).then(
      (value) => {
        held.value = value;
        held.reading = undefined;
      },
      (error: unknown) => {
        // A value that could not be read is dropped, so that the next holder reads it again.
        if (this.#held.get(name) === held) this.#held.delete(name);
        throw error;
      },
    );
    return held.reading;
  }
}

/** Whether a name is that of a secret which no run refers to. */
function isOfNoRun(name: string): boolean {
  return name.startsWith(SIGN_INS) || name.startsWith(AUTH) || name.startsWith(ERASURES);
}

/** A secret value in memory. */
interface HeldValue {
  holders: number;
  /** Absent until it is read, and if there is none. */
  value: string | undefined;
  reading: Promise<void> | undefined;
}

const DONE = Promise.resolve();

/**
 * How long a name is unused at least before its value is removed, in milliseconds. A node may refer to a value until it
 * has heard of the change that replaced it, or of the answer of the append that refers to it: both take less.
 */
const DELAY_MS = 30_000;

/** The maximum number of names that wait; what is above it is left to the next sweep. */
const NAMES_LIMIT = 10_000;

/** Names of values that nothing refers to, which are checked again some time later and then removed. */
class RemovalDelay {
  readonly #environment: Environment;
  readonly #remove: (names: readonly string[]) => Promise<void>;
  #new = new Set<string>();
  #old = new Set<string>();
  #stopTimer: (() => void) | undefined;
  #isStopped = false;

  /** `remove` gets names after the delay. It never rejects. */
  constructor(environment: Environment, remove: (names: readonly string[]) => Promise<void>) {
    this.#environment = environment;
    this.#remove = remove;
  }

  add(names: readonly string[]): void {
    for (const name of names) if (!this.#old.has(name) && this.#new.size < NAMES_LIMIT) this.#new.add(name);
    this.#wait();
  }

  stop(): void {
    this.#isStopped = true;
    this.#stopTimer?.();
  }

  #wait(): void {
    if (this.#isStopped || this.#new.size + this.#old.size === 0) return;
    this.#stopTimer ??= this.#environment.timer(DELAY_MS, () => {
      this.#stopTimer = undefined;
      const due = [...this.#old];
      this.#old = this.#new;
      this.#new = new Set();
      this.#wait();
      if (due.length > 0) void this.#remove(due);
    });
  }
}
