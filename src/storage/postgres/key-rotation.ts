import { setTimeout } from "node:timers/promises";
import type { ReadinessPart } from "../../ports/readiness.ts";
import type { Database } from "./connection/database.ts";
import { DROP, MOVED, rekeySecrets, toKeyTrouble } from "./secrets.ts";
import type { KeyUse } from "./secrets.ts";
import { rekeyVersions } from "./versions.ts";

/** Brings what older keys protect to the first key, page by page; with `isOnlyCounted` changes nothing. */
export async function rekey(
  database: Database,
  keys: readonly string[],
  options: { readonly isOnlyCounted?: boolean; readonly signal?: AbortSignal } = {},
): Promise<KeyUse> {
  const secrets = await rekeySecrets(database, keys, options);
  const versions = await rekeyVersions(database, keys, options);
  return {
    first: secrets.first + versions.first,
    older: secrets.older + versions.older,
    none: secrets.none + versions.none,
  };
}

/** Brings all secrets of a database to the first key in the background, once, and says how far that is. */
export class KeyRotation {
  readonly #database: Database;
  readonly #keys: readonly string[];
  readonly #closed = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #use: KeyUse | undefined;

  constructor(database: Database, keys: readonly string[]) {
    this.#database = database;
    this.#keys = keys;
  }

  start(): void {
    if (this.#keys.length > 0) this.#running = this.#work();
  }

  /** Nothing, while one key protects everything. */
  get parts(): readonly ReadinessPart[] {
    const name = "secrets";
    if (this.#use === undefined) {
      if (this.#keys.length < 2) return [];
      return [{ name, state: "ready", detail: "they are being encrypted with the first key" }];
    }
    const trouble = toKeyTrouble(this.#use, this.#keys.length);
    if (trouble !== undefined) return [{ name, state: "degraded", detail: trouble }];
    return this.#keys.length < 2 ? [] : [{ name, state: "ready", detail: `${MOVED}: ${DROP}` }];
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#running;
  }

  async #work(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      try {
        const use = await rekey(this.#database, this.#keys, { signal });
        if (!signal.aborted) this.#use = use;
        return;
      } catch {
        // The database is away; both keys still open everything.
        await setTimeout(AGAIN_MS, undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }
}

/** The time between two attempts. */
const AGAIN_MS = 5_000;
