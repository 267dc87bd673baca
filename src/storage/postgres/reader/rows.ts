import type { Holdings } from "../../../ports/event-log.ts";
import type {
  OutboxEntry,
  RequestEntry,
  RunEntry,
  RunPage,
  Snapshot,
  WaitPage,
} from "../../../ports/log-entries.ts";
import type { RunAlias } from "../../../ports/log-batch.ts";
import type {
  OutboxQuery,
  OwnerQuery,
  RequestQuery,
  RunIdQuery,
  RunQuery,
  RestingQuery,
  SleepQuery,
  WaitQuery,
} from "../../../ports/log-queries.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import { toListCursor, toWaitPage } from "../../shared/lists.ts";
import type { Database } from "../connection/database.ts";
import { toListSql, toWaitsSql } from "./list-sql.ts";
import { REQUEST, RUN, SNAPSHOT, toOutbox, toRequest, toRun, toSnapshot, toWait } from "./row-types.ts";
import type { OutboxColumns, RequestColumns, RunColumns, SnapshotColumns, WaitColumns } from "./row-types.ts";

/** Finds runs and requests in a database. */
export class Rows {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async run(runId: RunId): Promise<RunEntry | undefined> {
    const [row] = await this.#database.ask<RunColumns>(
      `SELECT ${RUN} FROM troupe.run WHERE id = $1 AND stored`,
      [runId],
    );
    return row && toRun(row);
  }

  async snapshot(runId: RunId): Promise<Snapshot | undefined> {
    const [row] = await this.#database.ask<SnapshotColumns>(
      `SELECT ${SNAPSHOT} FROM troupe.run WHERE id = $1`,
      [runId],
    );
    return row && toSnapshot(row);
  }

  async find({ agent, name }: RunAlias): Promise<RunId | undefined> {
    const [row] = await this.#database.ask<{ run: RunId }>(
      "SELECT run FROM troupe.alias WHERE agent = $1 AND name = $2",
      [agent, name],
    );
    return row?.run;
  }

  async list(query: RunQuery): Promise<RunPage> {
    const { limit, offset = 0, byCreation = false, total = false } = query;
    const { where, order } = toListSql(query);
    const from = byCreation ? "troupe.creation JOIN troupe.run ON run.id = creation.run" : "troupe.run";
    if (byCreation) await this.#database.ask("SELECT troupe.place_new_1()");
    // One row more than requested shows whether there is a next page.
    const rows = await this.#database.ask<RunColumns>(
      `SELECT ${RUN} FROM ${from} WHERE ${where.text} ORDER BY ${order} LIMIT ${where.value(limit + 1)} OFFSET ${where.value(offset)}`,
      where.values,
    );
    const runs = rows.slice(0, limit).map(toRun);
    const last = runs.at(-1);
    const more = rows.length > limit && !byCreation;
    return {
      runs,
      ...(more && last !== undefined && { next: toListCursor(last) }),
      ...(total && { total: await this.#count(query) }),
    };
  }

  async #count({ cursor: _cursor, ...query }: RunQuery): Promise<number> {
    const { where } = toListSql(query);
    const [row] = await this.#database.ask<{ n: number }>(
      `SELECT count(*) AS n FROM troupe.run WHERE ${where.text}`,
      where.values,
    );
    return row?.n ?? 0;
  }

  async lookup(requestId: RequestId): Promise<RequestEntry | undefined> {
    const [row] = await this.#database.ask<RequestColumns>(`SELECT ${REQUEST} WHERE id = $1`, [requestId]);
    return row && toRequest(row);
  }

  async requests(query: RequestQuery): Promise<readonly RequestEntry[]> {
    const { runId, limit, oldestFirst = false, after, removed = false } = query;
    const [order, behind] = oldestFirst ? ["ASC", ">"] : ["DESC", "<"];
    const rows = await this.#database.ask<RequestColumns>(
      `SELECT ${REQUEST} WHERE run = $1 AND (NOT removed OR $2) AND ($3::text IS NULL OR
        (accepted_n, accepted_after, id) ${behind}
          (SELECT accepted_n, accepted_after, id FROM troupe.request WHERE id = $3))
      ORDER BY accepted_n ${order}, accepted_after ${order}, id ${order} LIMIT $4`,
      [runId, removed, after ?? null, limit],
    );
    return rows.map(toRequest);
  }

  async runIds({ removed = false, after, limit }: RunIdQuery): Promise<readonly RunId[]> {
    if (!removed) await this.#database.ask("SELECT troupe.place_new_1()");
    const rows = await this.#database.ask<{ id: RunId }>(removed ? REMOVED_IDS : STORED_IDS, [
      after ?? "",
      limit,
    ]);
    return rows.map(({ id }) => id);
  }

  async holdings(runId: RunId): Promise<Holdings> {
    const aliases = await this.#database.ask<RunAlias>(
      "SELECT agent, name FROM troupe.alias WHERE run = $1 ORDER BY agent, name",
      [runId],
    );
    return {
      aliases: aliases.map(({ agent, name }) => ({ agent, name })),
      references: await this.references(runId),
    };
  }

  async open({ notOwnedBy = [] }: OwnerQuery = {}): Promise<readonly RequestEntry[]> {
    const rows = await this.#database.ask<RequestColumns>(
      `SELECT ${REQUEST} WHERE phase < 2 AND wake_at IS NULL AND waiting_for IS NULL AND NOT (phase = 0 AND EXISTS
        (SELECT FROM troupe.request AS other WHERE other.run = request.run AND other.phase IN (1, 2)))
        AND ${notOwned("request.run", "$1")}
      ORDER BY created_at, id`,
      [notOwnedBy],
    );
    return rows.map(toRequest);
  }

  async asleep({
    after = 0,
    notAfter = Number.MAX_SAFE_INTEGER,
    limit,
    notOwnedBy = [],
  }: SleepQuery): Promise<readonly RequestEntry[]> {
    const rows = await this.#database.ask<RequestColumns>(
      `SELECT ${REQUEST} WHERE wake_at > $1 AND wake_at <= $2 AND ${notOwned("request.run", "$4")}
      ORDER BY wake_at LIMIT $3`,
      [after, notAfter, limit ?? null, notOwnedBy],
    );
    return rows.map(toRequest);
  }

  async resting({ after = "", limit }: RestingQuery): Promise<readonly RequestEntry[]> {
    const rows = await this.#database.ask<RequestColumns>(
      `SELECT ${REQUEST} WHERE rests IS NOT NULL AND run > $1 ORDER BY run LIMIT $2`,
      [after, limit],
    );
    return rows.map(toRequest);
  }

  async waits(query: WaitQuery): Promise<WaitPage> {
    const where = toWaitsSql(query);
    const rows = await this.#database.ask<WaitColumns>(
      `SELECT run, id, request, opened_at FROM troupe.wait WHERE ${where.text}
      ORDER BY opened_at, run, id LIMIT ${where.value(query.limit + 1)}`,
      where.values,
    );
    return toWaitPage(rows.map(toWait), query);
  }

  async outbox({ runId, notOwnedBy = [] }: OutboxQuery): Promise<readonly OutboxEntry[]> {
    const rows = await this.#database.ask<OutboxColumns>(
      `SELECT run, event, request, kind FROM troupe.outbox
      WHERE ($1::text IS NULL OR run = $1) AND ${notOwned("outbox.run", "$2")} ORDER BY run, event`,
      [runId ?? null, notOwnedBy],
    );
    return rows.map(toOutbox);
  }

  async references(runId: RunId): Promise<readonly string[]> {
    const rows = await this.#database.ask<{ thing: string }>(
      "SELECT thing FROM troupe.reference WHERE run = $1 ORDER BY thing",
      [runId],
    );
    return rows.map(({ thing }) => thing);
  }

  async unreferenced(things: readonly string[]): Promise<readonly string[]> {
    if (things.length === 0) return [];
    const rows = await this.#database.ask<{ thing: string }>(
      "SELECT DISTINCT thing FROM troupe.reference WHERE thing = ANY ($1)",
      [things],
    );
    const used = new Set(rows.map(({ thing }) => thing));
    return things.filter((thing) => !used.has(thing));
  }

  async size(runId?: RunId): Promise<number> {
    const [row] = await this.#database.ask<{ bytes: number }>(
      "SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM troupe.run WHERE $1::text IS NULL OR id = $1",
      [runId ?? null],
    );
    return row?.bytes ?? 0;
  }
}

const STORED_IDS = `SELECT run AS id FROM troupe.creation
  WHERE place > coalesce((SELECT place FROM troupe.creation WHERE run = $1), 0) ORDER BY place LIMIT $2`;

const REMOVED_IDS = "SELECT id FROM troupe.run WHERE removed AND id > $1 ORDER BY id LIMIT $2";

/** The condition that none of the nodes of a list owns a run. */
function notOwned(run: string, nodes: string): string {
  return `NOT EXISTS (SELECT FROM troupe.run AS owned WHERE owned.id = ${run} AND owned.owner = ANY (${nodes}))`;
}
