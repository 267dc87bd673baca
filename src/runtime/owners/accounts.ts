import { AgentError } from "../../errors.ts";
import type { ArtifactStore } from "../../ports/artifact-store.ts";
import type { Environment } from "../../ports/environment.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { mapConcurrent } from "../../shared/map-concurrent.ts";
import { pagesOf } from "../../shared/pages.ts";
import { Account } from "./account.ts";
import { parseOwnerLimits } from "./owner-limits.ts";
import type { LimitsOfOwner } from "./owner-limits.ts";

/** What the accounts of owners need. */
export interface AccountsOptions {
  readonly limitsOf: LimitsOfOwner;
  readonly environment: Environment;
  readonly telemetry: Telemetry;
  readonly log: EventLog;
  readonly artifacts: ArtifactStore;
}

/** How long the limits of an owner are used, and how soon the function is called again after it has failed, in milliseconds. */
const LIMITS_MS = 10_000;
const FAILED_MS = 1_000;

/** How long the function may take, in milliseconds. */
const ASKED_MS = 10_000;

/** How old a count of the stored bytes may be, in milliseconds: of an owner that has room, and of one that has none. */
const STORED_MS = 60_000;
const FULL_MS = 5_000;

/** How many runs are weighed at once. */
const PAGE_SIZE = 100;
const AT_ONCE = 4;

/** The number of accounts from which on those that are not needed are dropped, and how often, in milliseconds. */
const KEPT = 1_000;
const SWEEP_MS = 60_000;

/** The accounts of the owners that use this process. */
export class OwnerAccounts {
  readonly #options: AccountsOptions;
  readonly #accounts = new Map<string, Account>();
  /** The limits that are being asked for, and the bytes that are being counted, by owner. */
  readonly #asked = new Map<string, Promise<void>>();
  readonly #counted = new Map<string, Promise<void>>();
  #sweptAtMs = -Infinity;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /** The account of an owner, with the limits that are known. */
  of(owner: string): Account {
    const known = this.#accounts.get(owner);
    if (known) return known;
    this.#sweep();
    const account = new Account(owner);
    this.#accounts.set(owner, account);
    return account;
  }

  /** Whether the limits of an account need not be asked for. */
  isFresh({ limitsAtMs = -Infinity, fault }: Account): boolean {
    const ms = fault === undefined ? LIMITS_MS : FAILED_MS;
    return this.#options.environment.monotonic() - limitsAtMs < ms;
  }

  /**
   * The account of an owner with its limits. Throws `unavailable` if they are not known because the function of the application
   * has failed; limits that were known before stay.
   */
  async ready(owner: string): Promise<Account> {
    const account = this.of(owner);
    if (!this.isFresh(account)) await this.#once(this.#asked, owner, () => this.#ask(account));
    if (account.fault !== undefined)
      throw new AgentError(
        "unavailable",
        `the limits of ${owner} are not known: the function for them failed`,
        {
          retryAfterS: FAILED_MS / 1_000,
          cause: account.fault,
        },
      );
    return account;
  }

  /**
   * Counts a request of a client; the returned function takes that back. Throws `overloaded` or `insufficient_storage` if its owner has
   * reached a limit.
   */
  async admitRequest(owner: string): Promise<() => void> {
    const account = await this.ready(owner);
    await this.checkStored(account);
    return account.admitRequest(this.#options.environment.monotonic());
  }

  /** Throws `insufficient_storage` if the owner has stored too much. */
  async checkStored(account: Account): Promise<void> {
    const { owner, limits, storedBytes, storedAtMs } = account;
    if (limits.storedBytes === undefined || limits.storedBytes === Infinity) return;
    const ms = storedBytes < limits.storedBytes ? STORED_MS : FULL_MS;
    if (this.#options.environment.monotonic() - storedAtMs >= ms)
      await this.#once(this.#counted, owner, () => this.#weigh(account));
    account.checkStored();
  }

  async #ask(account: Account): Promise<void> {
    const { limitsOf, environment, telemetry } = this.#options;
    const { owner } = account;
    let stop = (): void => {};
    try {
      const late = new Promise<never>((_, reject) => {
        stop = environment.timer(ASKED_MS, () => reject(new Error(`it took longer than ${ASKED_MS} ms`)));
      });
      account.limits = parseOwnerLimits(await Promise.race([limitsOf(owner), late]));
      account.fault = undefined;
    } catch (thrown) {
      // Limits that are known are better than none.
      const isKnown = account.limitsAtMs !== undefined && account.fault === undefined;
      account.fault = isKnown ? undefined : (thrown ?? new Error("it has thrown nothing"));
      telemetry.fault(`the function for the limits of owners failed for ${owner}`, thrown);
    } finally {
      stop();
      account.limitsAtMs = environment.monotonic();
    }
  }

  /** Counts the bytes of the runs and files of an owner, by the index of its runs. */
  async #weigh(account: Account): Promise<void> {
    const { log, artifacts, environment } = this.#options;
    const { owner } = account;
    let bytes = 0;
    const query = { owner, limit: PAGE_SIZE };
    for await (const { runs } of pagesOf((start) => log.list({ ...query, ...start }), environment)) {
      const sizes = mapConcurrent(
        runs,
        AT_ONCE,
        async ({ runId }) => (await log.size(runId)) + (await artifacts.size(runId)),
      );
      // oxlint-disable-next-line no-await-in-loop -- so that few runs are weighed at once
      for await (const size of sizes) bytes += size;
    }
    account.storedBytes = bytes;
    account.storedAtMs = environment.monotonic();
  }

  /** Does something for an owner; those who ask meanwhile wait for it. */
  #once(running: Map<string, Promise<void>>, owner: string, work: () => Promise<void>): Promise<void> {
    const known = running.get(owner);
    if (known) return known;
    const started = work().finally(() => running.delete(owner));
    running.set(owner, started);
    return started;
  }

  /** Drops the accounts that are not needed. */
  #sweep(): void {
    const nowMs = this.#options.environment.monotonic();
    if (this.#accounts.size < KEPT || nowMs - this.#sweptAtMs < SWEEP_MS) return;
    this.#sweptAtMs = nowMs;
    for (const [owner, account] of this.#accounts)
      if (account.isIdle(nowMs) && !this.isFresh(account)) this.#accounts.delete(owner);
  }
}
