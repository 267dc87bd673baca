import { migratePostgres, postgresLog } from "troupe/postgres";
import { expect, onTestFinished, test } from "vitest";
import { Fenced } from "../../../../src/ports/event-log.ts";
import type { EventLog } from "../../../../src/ports/event-log.ts";
import { shardOf } from "../../../../src/storage/postgres/shards/parts.ts";
import {
  accepted,
  alias,
  asRequestId,
  asRunId,
  nextEvents,
  row,
  startRun,
} from "../../../../src/testing/event-log/subject.ts";
import { needsPostgres, postgresUrl } from "../../../machine/postgres.ts";
import { newSchema, openEmpty, query, schemaOf } from "../logs.ts";
import { openSchemas } from "./shards.ts";

needsPostgres();

test(
  "databases are only opened all together, in their order, and without those of another log",
  { tags: "long" },
  async () => {
    const [a, b, c, d] = [newSchema(), newSchema(), newSchema(), newSchema()];
    const whole = await openSchemas([a, b]);
    await startRun(whole, "run", 1);
    await whole.close();

    const url = await postgresUrl();
    await expect(postgresLog({ url, schema: a })).rejects.toThrow(
      "is number 1 of several databases of a log",
    );
    await expect(openSchemas([b, a])).rejects.toThrow("database 1 is number 2 of a log");
    await expect(openSchemas([a, a])).rejects.toThrow("database 2 is number 1 of a log");
    await expect(openSchemas([a, c])).rejects.toThrow(
      "database number 2 of the log is not given, and has a part of it",
    );
    await expect(openSchemas([a, c, b])).rejects.toThrow("database 3 is number 2 of a log");
    const other = await openSchemas([c, d]);
    await other.close();
    await expect(openSchemas([c, b])).rejects.toThrow("database 2 is number 2 of another log");
    await expect(openSchemas([a, d])).rejects.toThrow("database 2 is number 2 of another log");
    const alone = await openEmpty();
    await startRun(alone, "run", 1);
    await alone.close();
    await expect(openSchemas([schemaOf(alone), newSchema()])).rejects.toThrow(
      "has the runs of a log in one database",
    );
    await expect(openSchemas([a, b, schemaOf(alone)])).rejects.toThrow(
      "has the runs of a log in one database",
    );

    const again = await openFor([a, b]);
    expect(await again.run(asRunId("run"))).toMatchObject({ head: 1 });
  },
);

test("runs are in the database of their shard, and a list of all has them in order, on pages of any size", async () => {
  const schemas = [newSchema(), newSchema(), newSchema()];
  const log = await openFor(schemas);
  const ids = Array.from({ length: 60 }, (_, n) => `run-${n}`);
  await Promise.all(
    ids.map(async (id, n) => {
      const { cursor } = await log.claim(asRunId(id));
      await log.append(cursor, {
        ...nextEvents(cursor, 1),
        run: row({ updatedAt: 1_000 + (n % 7) }),
        requests: [accepted(`request-${n}`, { createdAt: 1 })],
        waits: [{ waitId: 1, requestId: asRequestId(`request-${n}`), openedAt: n % 5 }],
        schedules: [{ id: "daily", data: {} }],
        audit: [{ at: 1_000 + (n % 3), action: "create", by: { id: "ann" } }],
      });
    }),
  );
  for (const [place, schema] of schemas.entries()) {
    const stored = await query(`SELECT id FROM ${schema}.run ORDER BY id`);
    const own = ids.filter((id) => Math.floor((shardOf(asRunId(id)) * 3) / 4_096) === place);
    expect(stored.map(({ id }) => id)).toEqual(own.toSorted());
    expect(own.length).toBeGreaterThan(5);
  }
  const lists: Readonly<Record<string, (limit: number, cursor?: string) => Promise<ListPage>>> = {
    runs: async (limit, cursor) => {
      const { runs, next } = await log.list({ limit, ...(cursor !== undefined && { cursor }) });
      return { keys: runs.map(({ runId }) => runId), next };
    },
    requests: async (limit, cursor) => {
      const { requests, next } = await log.listRequests({ limit, ...(cursor !== undefined && { cursor }) });
      return { keys: requests.map(({ requestId }) => requestId), next };
    },
    waits: async (limit, cursor) => {
      const { waits, next } = await log.waits({ limit, ...(cursor !== undefined && { cursor }) });
      return { keys: waits.map(({ runId }) => runId), next };
    },
    schedules: async (limit, cursor) => {
      const { schedules: found, next } = await log.schedules({
        limit,
        ...(cursor !== undefined && { cursor }),
      });
      return { keys: found.map(({ runId }) => runId), next };
    },
    audit: async (limit, cursor) => {
      const { entries, next } = await log.audit.list({ limit, ...(cursor !== undefined && { cursor }) });
      return { keys: entries.map(({ runId }) => runId ?? ""), next };
    },
    "audit, the oldest first": async (limit, cursor) => {
      const oldestFirst = { oldestFirst: true, limit, ...(cursor !== undefined && { cursor }) };
      const { entries, next } = await log.audit.list(oldestFirst);
      return { keys: entries.map(({ runId }) => runId ?? ""), next };
    },
  };
  for (const [name, list] of Object.entries(lists)) {
    const whole = (await list(100)).keys;
    expect(new Set(whole)).toHaveLength(60);
    for (const limit of [1, 7, 30, 59, 60]) {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await list(limit, cursor);
        expect(page.keys.length).toBeLessThanOrEqual(limit);
        found.push(...page.keys);
        cursor = page.next;
      } while (cursor !== undefined);
      expect([name, limit, found]).toEqual([name, limit, whole]);
    }
  }
});

test(
  "an id or a name that a run reserved before its node died goes to another run, and a late append of that one is refused",
  { tags: "long" },
  async () => {
    const [first, second] = [newSchema(), newSchema()];
    const log = await openFor([first, second]);
    const node = await openFor([first, second]);
    const { cursor: late } = await node.claim(asRunId("late"));
    // The node stops between its reservation and its append.
    const digests = [];
    for (const [id, mark] of [
      ["probe-1", { requests: [accepted("request", { createdAt: 1 })] }],
      ["probe-2", { alias: alias("name") }],
    ] as const) {
      const { cursor } = await log.claim(asRunId(id));
      await log.append(cursor, { events: [], records: [], run: row(), ...mark });
      digests.push(
        ...(await query(`SELECT encode(key, 'hex') AS key FROM ${first}.reservation WHERE run = '${id}'`)),
      );
      await log.remove((await log.claim(asRunId(id))).cursor);
    }
    expect(digests).toHaveLength(2);
    await query(`UPDATE ${first}.reservation SET run = 'late'`);
    await query(`DELETE FROM ${first}.request`);
    await query(`DELETE FROM ${second}.request`);

    const { cursor } = await log.claim(asRunId("run"));
    await log.append(cursor, {
      ...nextEvents(cursor, 1),
      requests: [accepted("request", { createdAt: 1 })],
      alias: alias("name"),
    });
    for (const one of [log, node]) {
      expect(await one.find(alias("name"))).toBe("run");
      expect(await one.lookup(asRequestId("request"))).toMatchObject({ runId: "run" });
    }
    const append = async (): Promise<unknown> =>
      node.append(late, { ...nextEvents(late, 1), requests: [accepted("another", { createdAt: 1 })] });
    await expect(append()).rejects.toBeInstanceOf(Fenced);
    expect(await log.lookup(asRequestId("another"))).toBeUndefined();
  },
);

interface ListPage {
  readonly keys: readonly string[];
  readonly next: string | undefined;
}

async function openFor(schemas: readonly string[]): Promise<EventLog> {
  const log = await openSchemas(schemas);
  onTestFinished(() => log.close());
  return log;
}

test("a database of several does not let nodes of older schemas in, and has no way back", async () => {
  const [a, b] = [newSchema(), newSchema()];
  const log = await openSchemas([a, b]);
  await log.close();
  for (const schema of [a, b]) {
    const [row] = await query(`SELECT max(version) AS oldest FROM ${schema}.migration`);
    expect(row).toEqual({ oldest: 16 });
    const back = migratePostgres({ url: await postgresUrl(), schema }, { to: 14 });
    await expect(back).rejects.toThrow(
      "schema 14 cannot hold what is there: 1 place among several databases",
    );
  }
});
