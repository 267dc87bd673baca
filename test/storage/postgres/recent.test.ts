/** @module-tag long */
// The newest small appends of a run, which share a row until an append follows that is more.
import { expect, onTestFinished, test } from "vitest";
import { Fenced } from "../../../src/ports/event-log.ts";
import type { Cursor, EventLog } from "../../../src/ports/event-log.ts";
import { encodeTexts } from "../../../src/protocol/events/texts.ts";
import type { LoggedEvents, Texts } from "../../../src/protocol/events/texts.ts";
import { asRunId, nextEvents, row, startRun, texts } from "../../../src/testing/event-log/subject.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { newSchema, openSchema, query, schemaOf } from "./logs.ts";

needsPostgres();

const RUN = asRunId("run");
const { speaker } = texts(RUN, 1, 1);
const other = texts(RUN, 1, 1, "other").speaker;

test("small appends are one row, and that of the next append that is more has them", async () => {
  const log = await open(newSchema());
  let cursor = await startRun(log, "run", 1);
  for (const last of [5, 9, 13]) cursor = await say(log, cursor, last);
  cursor = await say(log, cursor, 15, other);
  cursor = await log.append(cursor, nextEvents(cursor, 1));
  cursor = await say(log, cursor, 20, other);
  expect(await rowsOf(log)).toEqual({ batches: [1], recent: [19] });
  await expectAll(log, 20);
  const said = [textsAfter(1, 5), textsAfter(5, 9), textsAfter(9, 13), textsAfter(13, 15, other)];
  expect(encoded((await log.read(RUN, { after: 1, limit: 14 })).events)).toEqual(encoded(said));

  cursor = await log.append(cursor, { ...nextEvents(cursor, 1), run: row({ turns: 1 }) });
  expect(await rowsOf(log)).toEqual({ batches: [1, 20], recent: [] });
  await expectAll(log, 21);
  expect(await log.run(RUN)).toMatchObject({ head: 21, turns: 1 });
});

test("appends that are too much for a row begin another one, and a removed run leaves none", async () => {
  const log = await open(newSchema());
  let cursor = await startRun(log, "run", 1);
  for (let last = 41; last <= 601; last += 40) cursor = await say(log, cursor, last);
  const { batches, recent } = await rowsOf(log);
  expect(batches.length).toBeGreaterThan(3);
  expect([...batches, ...recent].reduce((sum, count) => sum + count, 0)).toBe(601);
  await expectAll(log, 601);
  expect(await log.size(RUN)).toBeGreaterThan(5_000);

  await log.remove(cursor);
  expect(await rowsOf(log)).toEqual({ batches: [], recent: [] });
  expect(await log.size(RUN)).toBe(0);
});

test("another node reads them, and takes the run over in the middle of them", async () => {
  const schema = newSchema();
  const [first, second] = [await open(schema), await open(schema)];
  let cursor = await startRun(first, "run", 1);
  for (const last of [5, 9]) cursor = await say(first, cursor, last);
  await expectAll(second, 9);
  expect(await second.run(RUN)).toMatchObject({ head: 9 });

  const claim = await second.claim(RUN);
  expect(claim.cursor.head).toBe(9);
  await expect(async () => say(first, cursor, 10)).rejects.toBeInstanceOf(Fenced);
  let next = claim.cursor;
  for (const last of [13, 17]) next = await say(second, next, last);
  expect(await rowsOf(second)).toEqual({ batches: [1, 8], recent: [8] });
  await expectAll(first, 17);

  second.release(next);
  await expect.poll(async () => rowsOf(second)).toEqual({ batches: [1, 8, 8], recent: [] });
  expect((await first.claim(RUN)).cursor.head).toBe(17);
});

test("a base in the middle of them keeps what follows it, and one behind them keeps none", async () => {
  const log = await open(newSchema());
  let cursor = await startRun(log, "run", 1);
  cursor = await say(log, cursor, 9);
  cursor = await log.append(cursor, {
    ...nextEvents(cursor, 1),
    base: { head: 5, records: 0, data: "kept" },
  });
  expect(await log.read(RUN, { after: 0 })).toMatchObject({ base: { head: 5 }, head: 10 });
  expect(encoded((await log.read(RUN, { after: 6 })).events)).toHaveLength(4);

  cursor = await say(log, cursor, 14);
  const place = { ...cursor, head: 20 };
  await log.append(cursor, { ...nextEvents(place, 2), base: { head: 20, records: 0, data: "new" } });
  expect(await rowsOf(log)).toEqual({ batches: [2], recent: [] });
  expect(await log.read(RUN, { after: 0 })).toMatchObject({ base: { head: 20 }, head: 22 });
});

async function open(schema: string): Promise<EventLog> {
  // Without a cache, so that the database is read.
  const log = await openSchema(schema, { cacheBytes: 0 });
  onTestFinished(() => log.close());
  return log;
}

/** Appends the texts up to an event. */
function say(log: EventLog, cursor: Cursor, last: number, by = speaker): Promise<Cursor> {
  return Promise.resolve(log.append(cursor, { events: [textsAfter(cursor.head, last, by)], records: [] }));
}

function textsAfter(head: number, last: number, by = speaker): Texts {
  return { ...texts(RUN, head + 1, last), at: 1_000 * head, speaker: by };
}

/** The numbers of events in the rows. */
async function rowsOf(
  log: EventLog,
): Promise<{ readonly batches: readonly number[]; readonly recent: readonly number[] }> {
  const countsOf = async (table: string): Promise<readonly number[]> =>
    (await query(`SELECT count FROM ${schemaOf(log)}.${table}`)).map(({ count }) => Number(count));
  return { batches: await countsOf("batch ORDER BY head"), recent: await countsOf("recent") };
}

/** Reads the events from some positions. */
async function expectAll(log: EventLog, head: number): Promise<void> {
  const all = encoded((await log.read(RUN, { after: 0 })).events);
  expect(all.map((event) => (JSON.parse(event) as { readonly id: number }).id)).toEqual(
    Array.from({ length: head }, (_, index) => index + 1),
  );
  for (const after of [1, 3, 5, 8, head - 1]) {
    expect(encoded((await log.read(RUN, { after })).events)).toEqual(all.slice(after));
    expect(encoded((await log.read(RUN, { after, limit: 3 })).events)).toEqual(all.slice(after, after + 3));
  }
}

function encoded(events: LoggedEvents): readonly string[] {
  return events.flatMap((item) => (typeof item === "string" ? item : encodeTexts(item)));
}
