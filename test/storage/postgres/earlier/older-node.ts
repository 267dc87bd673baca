import type { Batch } from "../../../../src/ports/log-batch.ts";
import { encodeBody } from "../../../../src/storage/sql/body.ts";
import { encodeChanges } from "../../../../src/storage/sql/changes.ts";
import { query } from "../logs.ts";

/** A run that an older node has claimed. */
interface OlderClaim {
  readonly epoch: number;
  readonly head: number;
  readonly appends: number;
}

interface ReadRow {
  readonly head: string;
  readonly count: number | null;
  readonly body: string | null;
}

/**
 * A node of schema 9 to 13: it calls the functions of the database by the names and with the values that it knows. None of its appends
 * shares a row with others.
 */
export class OlderNode {
  readonly #schema: string;
  readonly #name: string;

  constructor(schema: string, name: string) {
    this.#schema = schema;
    this.#name = name;
  }

  async claim(runId: string): Promise<OlderClaim> {
    const [row] = await query(`SELECT claim, claimed FROM ${this.#schema}.claim_3($1, $2, '{}', 'older')`, [
      runId,
      this.#name,
    ]);
    if (row === undefined) throw new Error(`${runId} cannot be claimed`);
    const { head, appends } = row["claimed"] as OlderClaim;
    return { epoch: Number(row["claim"]), head, appends };
  }

  /** Appends events, and returns the refusals: none, or why it was refused. */
  async append(runId: string, { epoch, appends }: OlderClaim, batch: Batch): Promise<readonly unknown[]> {
    const owned = {
      runId,
      epoch,
      head: 0,
      records: 0,
      row: {},
      removed: false,
      stored: false,
      isHeld: true,
      pending: undefined,
    };
    const changes = encodeChanges(owned, batch);
    const item = [runId, epoch, appends, batch.events.length, 0, null, changes];
    // One of schema 12 or 13 counts.
    const append = batch.statistics === undefined ? "append_2" : "append_3";
    const [row] = await query(`SELECT ${this.#schema}.${append}($1, $2) AS refusals`, [
      JSON.stringify([item]),
      encodeBody(batch.events),
    ]);
    return Object.values(row?.["refusals"] as Readonly<Record<string, unknown>>);
  }

  /** Reads the lines of a run behind an event, and its newest event. */
  async read(
    runId: string,
    after = 0,
  ): Promise<{ readonly head: number; readonly lines: readonly string[] }> {
    const [first, ...rows] = (await query(
      `SELECT * FROM ${this.#schema}.read_2($1, $2, -1, $2, 0, 0, $3, $3, $3)`,
      [runId, after, Number.MAX_SAFE_INTEGER],
    )) as unknown as readonly ReadRow[];
    return { head: Number(first?.head), lines: rows.flatMap(({ body }) => body?.split("\n") ?? []) };
  }

  async release(runId: string, { epoch }: OlderClaim): Promise<void> {
    await query(`SELECT ${this.#schema}.release_1($1)`, [JSON.stringify([[runId, epoch]])]);
  }

  async remove(runId: string, { epoch, appends }: OlderClaim): Promise<boolean> {
    const [row] = await query(`SELECT ${this.#schema}.remove_1($1, $2, $3) AS done`, [runId, epoch, appends]);
    return row?.["done"] === true;
  }
}
