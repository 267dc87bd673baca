import type { LogHealth } from "../../../ports/event-log.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { delay } from "./database.ts";
import type { Database } from "./database.ts";
import { readServerDurability } from "./server.ts";
import { toReason } from "./trouble.ts";

/** Whether the database answers and takes writes, and what it warns of. */
export class DatabaseHealth {
  readonly #database: Database;
  /** Why an append has failed; `undefined` while the database takes writes. */
  #trouble: string | undefined;
  /** Why the newest probe has failed. */
  #silence = "";
  /** What can lose acknowledged events, as the server was at the last check. */
  #warnings: readonly string[] = [];
  #checkedMs = -Infinity;
  #lossWarnings: readonly string[] = [];
  readonly #timer: NodeJS.Timeout;
  #isProbing = false;
  #isRecovering = false;
  #isChecking = false;
  #isClosed = false;

  /** Watches a database until it is closed. */
  constructor(database: Database) {
    this.#database = database;
    this.#timer = setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  /** A database that answers nothing takes no new work, although what is under way still waits for it. */
  get report(): LogHealth {
    if (this.#isClosed) return CLOSED;
    const warnings = [...this.#warnings, ...this.#lossWarnings];
    const reason = this.#trouble ?? (this.#database.isSilent ? this.#silence : undefined);
    return {
      writable: reason === undefined,
      ...(reason !== undefined && { reason }),
      ...(warnings.length > 0 && { warnings }),
    };
  }

  /** Why appends are refused; `undefined` while they are tried. */
  get refusal(): string | undefined {
    return this.#isClosed ? CLOSED.reason : this.#trouble;
  }

  /** The settings of the server warn of this. */
  warn(warnings: readonly string[]): void {
    this.#warnings = warnings;
    this.#checkedMs = performance.now();
  }

  /**
   * Looks at the settings of the server again after a minute, or at once if it may be another server, unless that is under way. One that does
   * not answer leaves the warnings. The server looks at all of its connections for this, so a thousand nodes must not ask often.
   */
  async check({ isAnother }: { readonly isAnother: boolean }): Promise<void> {
    if (this.#isChecking || !(isAnother || performance.now() - this.#checkedMs >= CHECK_MS)) return;
    this.#isChecking = true;
    try {
      this.warn((await readServerDurability(this.#database)).warnings);
    } catch {
      // The next check tries again.
    }
    this.#isChecking = false;
  }

  /** The database has lost acknowledged events of a run. */
  lost(runId: RunId): void {
    this.#lossWarnings = [`acknowledged events are lost, among them some of run ${runId}: ${LOSS}`];
  }

  /** An append has failed; from now on commits find out when the database takes writes again. */
  failed(reason: string): void {
    this.#trouble = reason;
    if (!this.#isRecovering) void this.#recover();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  /** Asks a database that nothing has heard of for a while whether it answers. */
  async #look(): Promise<void> {
    const database = this.#database;
    if (this.#isProbing || database.unansweredMs < FRESH_MS) return;
    this.#isProbing = true;
    const since = performance.now();
    try {
      await database.probe();
    } catch (error) {
      // A timer that is late, because this process stood still, says nothing about the database.
      const isPaused = performance.now() - since > PAUSE_MS;
      if (!isPaused && database.unansweredMs >= SILENT_MS && !this.#isClosed) {
        this.#silence = toReason(error);
        database.fallSilent();
      }
    }
    this.#isProbing = false;
  }

  async #recover(): Promise<void> {
    this.#isRecovering = true;
    while (this.#trouble !== undefined && !this.#isClosed) {
      await delay(RECOVER_MS);
      if (this.#database.isSilent || this.#isClosed) continue;
      try {
        await this.#database.commit();
        this.#trouble = undefined;
      } catch {
        // It is tried again.
      }
    }
    this.#isRecovering = false;
  }
}

/** The time between two looks at the settings of the server. */
const CHECK_MS = 60_000;

/** The time between two looks. */
const LOOK_MS = 250;

/** While the newest answer is not older, nothing is asked. */
const FRESH_MS = 1_000;

/** A database without an answer for this long is silent, if a probe fails too: longer than most failovers take. */
const SILENT_MS = 2_500;

/** Longer than a probe takes until it fails. */
const PAUSE_MS = 4_000;

const RECOVER_MS = 250;

/** What can have happened, and what to do. */
const LOSS =
  "a standby that was not synchronous was promoted, or a backup was restored; restart the nodes after you have looked into it";

const CLOSED = { writable: false, reason: "the log is closed" };
