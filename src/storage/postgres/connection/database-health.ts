import type { LogHealth } from "../../../ports/event-log.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { delay } from "./database.ts";
import type { Database } from "./database.ts";
import { readServer } from "./server.ts";

/** Whether the database takes writes, and what it warns of. */
export class DatabaseHealth {
  readonly #database: Database;
  /** Why the database takes no writes; `undefined` while it does. */
  #trouble: string | undefined;
  /** What can lose acknowledged events, as the server was at the last check. */
  #warnings: readonly string[] = [];
  #lossWarnings: readonly string[] = [];
  #probe: NodeJS.Timeout | undefined;
  #isChecking = false;
  #isClosed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  get report(): LogHealth {
    if (this.#isClosed) return CLOSED;
    const warnings = [...this.#warnings, ...this.#lossWarnings];
    return {
      writable: this.#trouble === undefined,
      ...(this.#trouble !== undefined && { reason: this.#trouble }),
      ...(warnings.length > 0 && { warnings }),
    };
  }

  /** The settings of the server warn of this. */
  warn(warnings: readonly string[]): void {
    this.#warnings = warnings;
  }

  /** Looks at the settings of the server again, unless that is under way. One that does not answer leaves the warnings. */
  async check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      this.warn((await readServer(this.#database)).warnings);
    } catch {
      // The next check tries again.
    }
    this.#isChecking = false;
  }

  /** The database has lost acknowledged events of a run. */
  lost(runId: RunId): void {
    this.#lossWarnings = [`acknowledged events are lost, among them some of run ${runId}: ${LOSS}`];
  }

  /** An append has failed; from now on a probe finds out when the database takes writes again. */
  failed(reason: string): void {
    this.#trouble = reason;
    this.#probe ??= setTimeout(() => void this.#recover(), PROBE_MS);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#probe);
  }

  async #recover(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#database.commit();
        this.#trouble = undefined;
        this.#probe = undefined;
        return;
      } catch {
        await delay(PROBE_MS);
      }
    }
  }
}

const PROBE_MS = 500;

/** What can have happened, and what to do. */
const LOSS =
  "a standby that was not synchronous was promoted, or a backup was restored; restart the nodes after you have looked into it";

const CLOSED = { writable: false, reason: "the log is closed" };
