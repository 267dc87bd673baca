import { isInstance, AgentError } from "../../errors.ts";
import type { AuditPage, AuditQuery, NewAuditEntry } from "../../ports/audit.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { Environment } from "../../ports/environment.ts";
import { toBy } from "../../ports/principal.ts";
import type { Principal } from "../../ports/principal.ts";
import type { Router } from "../../ports/router.ts";
import type { Telemetry } from "../../ports/telemetry.ts";

/** Who did what: what principals did to runs, from their own logs, and what they did to the server. */
export interface Audit {
  /** Lists entries, by default the newest first; for an operator. */
  list(query: AuditQuery): Promise<AuditPage>;

  /** Adds what a principal is about to do, for code beside the runtime such as the check of who makes a request. */
  note(entry: Omit<NewAuditEntry, "at">): Promise<void>;

  /**
   * Notes that a principal was refused something, if the error says so (`forbidden`). Nothing of the request is stored but the
   * message of the error, cut to 200 characters. Refusals of one second are stored together, and the newest 10,000 are kept.
   */
  refused(principal: Principal, error: unknown): void;
}

/** What the trail of a runtime works with. */
export interface AuditKeeperOptions {
  readonly log: EventLog;
  readonly environment: Environment;
  readonly router: Router;
  readonly telemetry: Telemetry;
  /** How long entries are kept, in milliseconds. */
  readonly retainMs: number;
}

/** Adds to the trail what is not in the log of a run, and removes what is too old. */
export class AuditKeeper {
  readonly #options: AuditKeeperOptions;
  /** The refusals of this second, by principal and what was refused. */
  readonly #refusals = new Map<string, NewAuditEntry>();
  /** The errors that were noted: one can pass several places that note it. */
  readonly #noted = new WeakSet<object>();
  #stopTimer: (() => void) | undefined;
  #stopPruning: (() => void) | undefined;
  /** How many refusals were stored since the old ones were removed. */
  #stored = Infinity;
  #flushing: Promise<void> = Promise.resolve();

  constructor(options: AuditKeeperOptions) {
    this.#options = options;
  }

  /** Removes what is too old, from now on. Called when the first principal is known: before, there is nothing to note. */
  start(): void {
    if (this.#options.retainMs !== Infinity) this.#stopPruning ??= this.#startPruning();
  }

  async list(query: AuditQuery): Promise<AuditPage> {
    await this.flush();
    return this.#options.log.audit.list(query);
  }

  note(entry: Omit<NewAuditEntry, "at">): Promise<void> {
    const { log, environment } = this.#options;
    return log.audit.add([{ at: environment.now(), ...entry }]);
  }

  refused(principal: Principal, error: unknown): void {
    if (!isInstance(error, AgentError) || error.code !== "forbidden" || this.#noted.has(error)) return;
    this.#noted.add(error);
    const { id, owner } = principal;
    const isFull = this.#refusals.size >= REFUSALS_AT_ONCE;
    const detail = isFull ? "more than can be listed" : error.message.slice(0, DETAIL_CHARACTERS);
    const key = isFull ? FULL : JSON.stringify([id, owner, detail]);
    const before = this.#refusals.get(key);
    this.#refusals.set(key, {
      ...(before ?? {
        at: this.#options.environment.now(),
        action: "refuse",
        by: toBy(principal),
        owner,
        detail,
      }),
      count: (before?.count ?? 0) + 1,
    });
    this.#stopTimer ??= this.#options.environment.timer(GATHER_MS, () => {
      this.#stopTimer = undefined;
      void this.flush();
    });
  }

  /** Stores what is gathered, and stops. Never rejects. */
  async stop(): Promise<void> {
    this.#stopPruning?.();
    // A principal that comes later starts no timer.
    this.#stopPruning = () => {};
    this.#stopTimer?.();
    await this.flush();
  }

  /** Stores the refusals that have gathered. Never rejects: a refusal that cannot be stored is reported. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(async () => {
      const entries = [...this.#refusals.values()];
      this.#refusals.clear();
      if (entries.length === 0) return;
      const { log, telemetry } = this.#options;
      try {
        await log.audit.add(entries);
        this.#stored += entries.length;
        if (this.#stored < PRUNE_AFTER) return;
        await log.audit.remove({ action: "refuse", allButNewest: REFUSALS_KEPT });
        this.#stored = 0;
      } catch (error) {
        telemetry.fault("refusals could not be noted in the audit trail", error);
      }
    });
    return this.#flushing;
  }

  #startPruning(): () => void {
    return this.#options.environment.timer(PRUNE_MS, () => this.#prune(), { background: true });
  }

  #prune(): void {
    const { log, environment, router, telemetry, retainMs } = this.#options;
    this.#stopPruning = this.#startPruning();
    if (!router.leads("audit")) return;
    log.audit
      .remove({ before: environment.now() - retainMs })
      .catch((error: unknown) =>
        telemetry.fault("old entries of the audit trail could not be removed", error),
      );
  }
}

const FULL = "";

/** How long refusals gather, in milliseconds, and how many different ones. */
const GATHER_MS = 1_000;
const REFUSALS_AT_ONCE = 1_000;
const DETAIL_CHARACTERS = 200;

/** How many refusals are kept, and after how many new ones the others are removed. */
const REFUSALS_KEPT = 10_000;
const PRUNE_AFTER = 1_000;

/** How often old entries are removed, in milliseconds. */
const PRUNE_MS = 3_600_000;
