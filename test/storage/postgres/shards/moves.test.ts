import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { AuditAction } from "../../../../src/ports/audit.ts";
import type { Cursor, EventLog } from "../../../../src/ports/event-log.ts";
import { toEncoded } from "../../../../src/protocol/events/texts.ts";
import {
  accepted,
  alias,
  asRequestId,
  asRunId,
  nextEvents,
  row,
} from "../../../../src/testing/event-log/subject.ts";
import { needsPostgres } from "../../../machine/postgres.ts";
import { newSchema, query } from "../logs.ts";
import { Dead, idsIn, openMover } from "./moving.ts";
import { openSchemas } from "./shards.ts";

needsPostgres();

/** The shard of the first of two databases that moves first. */
const SHARD = 2_047;

test("a run goes on while its shard moves: its owner appends, and a reader on another node follows it without a gap", async () => {
  const schemas = [newSchema(), newSchema()] as const;
  const [owner, other] = [await openFor(schemas), await openFor(schemas)];
  const [busy = "", idle = "", removed = ""] = idsIn(SHARD, 3);
  await begin(owner, idle, { requests: [accepted("one", { createdAt: 1 })], alias: alias("idle") });
  await begin(owner, removed, { requests: [accepted("two", { createdAt: 1 })] });
  await owner.remove((await owner.claim(asRunId(removed))).cursor);
  let cursor = await begin(owner, busy, {
    requests: [accepted("three", { createdAt: 1 })],
    waits: [{ waitId: 1, requestId: asRequestId("three"), openedAt: 1 }],
    references: [{ thing: "file" }],
    schedules: [{ id: "daily", due: 5, data: {} }],
    audit: [{ at: 1_000, action: "create", by: { id: "ann" } }],
    outbox: [{ kind: "reply", event: 1, requestId: asRequestId("three") }],
  });
  const reader = follow(other, busy);
  let isMoved = false;
  const moving = openMover(schemas)
    .then((mover) => mover.move({ to: 2, count: 1 }))
    .finally(() => (isMoved = true));
  while (!isMoved) {
    cursor = await owner.append(cursor, nextEvents(cursor, 1));
    expect((await other.run(asRunId(busy)))?.head).toBeGreaterThanOrEqual(cursor.head);
    expect((await other.list({ limit: 10 })).runs.map(({ runId }) => runId).toSorted()).toEqual(
      [busy, idle].toSorted(),
    );
  }
  expect(await moving).toMatchObject([{ shard: SHARD, from: 1, to: 2, runs: 3 }]);
  cursor = await owner.append(cursor, { ...nextEvents(cursor, 2), run: row({ updatedAt: 2_000 }) });
  await reader.until(cursor.head);
  expect(reader.ids).toEqual(Array.from({ length: cursor.head }, (_, at) => at + 1));

  expect(await query(`SELECT count(*)::int AS count FROM ${schemas[0]}.run`)).toEqual([{ count: 0 }]);
  expect(await query(`SELECT count(*)::int AS count FROM ${schemas[0]}.batch`)).toEqual([{ count: 0 }]);
  for (const log of [owner, other, await openFor(schemas)]) {
    expect(await log.find(alias("idle"))).toBe(idle);
    expect(await log.lookup(asRequestId("three"))).toMatchObject({ runId: busy });
    expect(await log.lookup(asRequestId("two"))).toMatchObject({ runId: removed, removed: true });
    expect((await log.waits({ limit: 9 })).waits).toMatchObject([{ runId: busy, waitId: 1 }]);
    expect(await log.due({ notAfter: 9 })).toMatchObject([{ runId: busy, id: "daily" }]);
    expect(await log.outbox({})).toMatchObject([{ runId: busy }]);
    expect((await log.audit.list({ limit: 9 })).entries).toMatchObject([{ runId: busy, agent: "echo" }]);
    expect(await log.unreferenced(["file", "nothing"])).toEqual(["nothing"]);
    expect((await log.list({ limit: 9, byCreation: true })).runs).toHaveLength(2);
    expect((await log.list({ limit: 9, text: "echo" })).runs).toEqual([]);
    expect(log.health().warnings).toBeUndefined();
  }
});

test("a move that a run has taken back is done again", { tags: "long" }, async () => {
  const schemas = [newSchema(), newSchema()] as const;
  const log = await openFor(schemas);
  const [id = ""] = idsIn(SHARD, 1);
  const cursor = await begin(log, id, {});
  const moving = openMover(schemas).then((mover) => mover.move({ to: 2, count: 1 }));
  // As a node does for a run that has waited for too long.
  const takeBack = `UPDATE ${schemas[0]}.shard SET move = nextval('${schemas[0]}.epoch') WHERE copy = 2 RETURNING shard`;
  await expect.poll(() => query(takeBack)).toEqual([{ shard: SHARD }]);
  expect(await moving).toMatchObject([{ shard: SHARD, from: 1, to: 2, runs: 1 }]);
  await log.append(cursor, nextEvents(cursor, 1));
  expect(await query(`SELECT id FROM ${schemas[1]}.run`)).toEqual([{ id }]);
});

test("while the runs of a shard wait, a move sends six statements, however many runs there are", async () => {
  const schemas = [newSchema(), newSchema()] as const;
  const log = await openFor(schemas);
  const ids = idsIn(SHARD, 60);
  await Promise.all(ids.map((id) => begin(log, id, { requests: [accepted(`of-${id}`, { createdAt: 1 })] })));
  let late: Cursor | undefined;
  const mover = await openMover(schemas, Infinity, async (text, number) => {
    // What comes after the copy of the open shard is copied as well.
    if (text.includes("close_shard") && number === 1)
      late = await begin(log, ids[0] ?? "", { references: [{ thing: "late" }] });
  });
  expect(await mover.move({ to: 2, count: 1 })).toMatchObject([{ shard: SHARD, runs: 60 }]);
  const closed = mover.sent.findIndex(({ text, number }) => text.includes("close_shard") && number === 1);
  const open = mover.sent.findIndex(({ text }, at) => at > closed && text.includes("open_shard"));
  expect(mover.sent.slice(closed, open + 1).map(({ number }) => number)).toEqual([1, 1, 2, 1, 2, 2]);
  expect((await log.read(asRunId(ids[0] ?? ""), { after: 0 })).head).toBe(late?.head);
  expect(await log.unreferenced(["late"])).toEqual([]);
  const listed = await log.list({ limit: 99, byCreation: true });
  expect(listed.runs.map(({ runId }) => runId).toSorted()).toEqual(ids.toSorted());
});

test(
  "a run that waits for too long takes the move back: it is done again later, and nothing is lost or double",
  { tags: "long" },
  async () => {
    const schemas = [newSchema(), newSchema()] as const;
    const log = await openFor(schemas);
    const [id = "", other = ""] = idsIn(SHARD, 2);
    let cursor = await begin(log, id, { requests: [accepted("one", { createdAt: 1 })] });
    await begin(log, other, { requests: [accepted("two", { createdAt: 1 })] });
    // The database that gets the shard is slow when the last rows come, once as long as the run waits for it.
    const waited: number[] = [];
    const mover = await openMover(schemas, Infinity, async (text) => {
      if (!text.includes("words_are_due") || waited.length === 2) return;
      const startMs = performance.now();
      cursor = await append(log, cursor);
      waited.push(performance.now() - startMs);
    });
    expect(await mover.move({ to: 2, count: 1 })).toMatchObject([{ shard: SHARD, runs: 2 }]);
    expect(waited).toHaveLength(2);
    cursor = await append(log, cursor);
    const { events, head } = await log.read(asRunId(id), { after: 0 });
    expect(head).toBe(cursor.head);
    expect(toEncoded(events).map((text) => (JSON.parse(text) as { id: number }).id)).toEqual([1, 2, 3, 4]);
    expect(await log.open()).toHaveLength(2);
    for (const table of ["run", "batch", "request", "creation"])
      expect(await query(`SELECT count(*)::int AS count FROM ${schemas[0]}.${table}`)).toEqual([
        { count: 0 },
      ]);
    expect(await query(`SELECT id FROM ${schemas[1]}.run ORDER BY id`)).toEqual(
      [id, other].toSorted().map((moved) => ({ id: moved })),
    );
  },
);

test(
  "a run that is new, claimed, released, removed or taken over in the middle of a move is where its shard is",
  { tags: "long" },
  async () => {
    const schemas = [newSchema(), newSchema()] as const;
    const [one, two] = [await openFor(schemas), await openFor(schemas)];
    const ids = idsIn(SHARD, 200);
    const heads = new Map<string, number>();
    let isMoved = false;
    const moving = openMover(schemas)
      .then((mover) => mover.move({ to: 2, count: 1 }))
      .finally(() => (isMoved = true));
    let at = 0;
    for (; !isMoved && at < 190; at += 1) {
      const id = ids[at] ?? "";
      const [mine, theirs] = at % 2 === 0 ? [one, two] : [two, one];
      const cursor = await begin(mine, id, { requests: [accepted(`of-${id}`, { createdAt: 1 })] });
      const { cursor: taken } = await theirs.claim(asRunId(id));
      await expect(append(mine, cursor)).rejects.toThrow("owner");
      const next = await append(theirs, taken);
      if (at % 5 === 0) await theirs.remove(next);
      else {
        theirs.release(next);
        heads.set(id, next.head);
      }
      await setTimeout(50);
    }
    await moving;
    const listed = await one.list({ limit: 500 });
    expect(Object.fromEntries(listed.runs.map(({ runId, head }) => [runId, head]))).toEqual(
      Object.fromEntries(heads),
    );
    const rows = await query(`SELECT id FROM ${schemas[1]}.run ORDER BY id`);
    expect(rows.map(({ id }) => id)).toEqual(ids.slice(0, at).toSorted());
    expect(await query(`SELECT id FROM ${schemas[0]}.run`)).toEqual([]);
  },
);

test(
  "an empty database is added to a log, gets its share, and is emptied again",
  { tags: "long" },
  async () => {
    const [a, b, c] = [newSchema(), newSchema(), newSchema()];
    const before = await openSchemas([a, b]);
    const [id = ""] = idsIn(SHARD, 1);
    await begin(before, id);
    const log = await openFor([a, b, c]);
    const mover = await openMover([a, b, c]);
    // A node that does not know the new database would not find runs there.
    await expect(mover.move({ to: 3, count: 1 })).rejects.toThrow("1 of 2 nodes have not opened database 3");
    await before.close();
    expect(await mover.move({ to: 3, from: 1, count: 1 })).toMatchObject([{ shard: SHARD, runs: 1 }]);
    expect(await query(`SELECT id FROM ${c}.run`)).toEqual([{ id }]);
    expect(await log.run(asRunId(id))).toMatchObject({ head: 1 });
    await expect(openSchemas([a, b])).rejects.toThrow(
      "database number 3 of the log is not given, and has a part of it",
    );
    expect(await mover.move({ from: 3, to: 1 })).toMatchObject([{ shard: SHARD, runs: 1 }]);
    await log.close();
    const after = await openFor([a, b]);
    const { cursor } = await after.claim(asRunId(id));
    expect(await append(after, cursor)).toMatchObject({ head: 2 });
  },
);

test(
  "what an emptied database had is counted once, also when the mover was killed before the end and shards come and go again",
  { tags: "long" },
  async () => {
    const schemas = [newSchema(), newSchema(), newSchema()];
    await (await openSchemas(schemas.slice(0, 2))).close();
    const log = await openFor(schemas);
    const [id = ""] = idsIn(SHARD, 1);
    const there = { to: 3, from: 1, count: 1 } as const;
    const back = { from: 3, to: 1 } as const;
    const audited = (action: AuditAction): object => ({ audit: [{ at: 1_000, action, by: { id: "ann" } }] });
    const actions = async (): Promise<readonly string[]> => {
      const { entries } = await log.audit.list({ limit: 10 });
      return entries.map(({ action }) => action).toSorted();
    };
    const mover = await openMover(schemas);
    await mover.move(there);
    await begin(log, id, audited("create"));
    const before = mover.steps;
    await mover.move(back);
    const steps = mover.steps - before;
    expect(await actions()).toEqual(["create"]);

    await mover.move(there);
    const { cursor } = await log.claim(asRunId(id));
    const next = await log.append(cursor, { ...nextEvents(cursor, 1), ...audited("answer") });
    // The last three steps of the whole delete what was taken, then the note, and say that the database is empty.
    const dying = await openMover(schemas, steps - 2);
    await expect(dying.move(back)).rejects.toThrow(Dead);
    expect(await query(`SELECT number FROM ${schemas[0]}.taken`)).toEqual([{ number: 3 }]);
    await dying.close();

    await mover.move(there);
    await log.append(next, { ...nextEvents(next, 1), ...audited("cancel") });
    expect(await actions()).toEqual(["answer", "cancel", "create"]);
    await mover.move(back);
    expect(await actions()).toEqual(["answer", "cancel", "create"]);
    expect(await query(`SELECT action FROM ${schemas[2]}.audit`)).toEqual([]);
  },
);

async function begin(log: EventLog, id: string, more: object = {}): Promise<Cursor> {
  const { cursor } = await log.claim(asRunId(id));
  return log.append(cursor, { ...nextEvents(cursor, 1), ...more });
}

async function append(log: EventLog, cursor: Cursor): Promise<Cursor> {
  return log.append(cursor, nextEvents(cursor, 1));
}

/** Reads a run as it grows, woken by the log. */
function follow(log: EventLog, id: string): { readonly ids: number[]; until(head: number): Promise<void> } {
  const ids: number[] = [];
  let wake = Promise.withResolvers<void>();
  const stop = log.tail(asRunId(id), () => {
    wake.resolve();
    wake = Promise.withResolvers();
  });
  onTestFinished(stop);
  const reading = { isOver: false };
  const read = async (): Promise<void> => {
    for (;;) {
      const woken = wake.promise;
      const { events } = await log.read(asRunId(id), { after: ids.at(-1) ?? 0 });
      for (const text of toEncoded(events)) ids.push((JSON.parse(text) as { id: number }).id);
      if (reading.isOver) return;
      if (events.length === 0) await woken;
    }
  };
  const running = read();
  return {
    ids,
    async until(head) {
      while ((ids.at(-1) ?? 0) < head) await setTimeout(10);
      reading.isOver = true;
      wake.resolve();
      await running;
    },
  };
}

async function openFor(schemas: readonly string[]): Promise<EventLog> {
  const log = await openSchemas(schemas);
  onTestFinished(() => log.close());
  return log;
}
