import type { Database } from "../connection/database.ts";
import type { OwnedRun } from "./claims.ts";

/** Releases claims in the database, many at once. What fails is left: the next claim of the run replaces it. */
export class Releases {
  readonly #database: Database;
  readonly #runs: OwnedRun[] = [];
  #sending: Promise<void> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  add(run: OwnedRun): void {
    this.#runs.push(run);
    this.#sending ??= this.#send();
  }

  /** Resolves when all are sent. */
  async settled(): Promise<void> {
    while (this.#sending !== undefined) await this.#sending;
  }

  async #send(): Promise<void> {
    // Those of one turn of the event loop together.
    await Promise.resolve();
    while (this.#runs.length > 0) {
      const items = this.#runs.splice(0, AT_ONCE).map(({ runId, epoch }) => [runId, epoch]);
      await this.#database.ask("SELECT troupe.release_1($1)", [JSON.stringify(items)]).catch(() => {
        // A database that has not answered for the whole time of `ask` does not get the others one after the other.
        this.#runs.length = 0;
      });
    }
    this.#sending = undefined;
  }
}

const AT_ONCE = 500;
