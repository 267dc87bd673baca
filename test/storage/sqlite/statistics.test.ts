import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { EventLog } from "troupe";
import { countOne } from "../../../src/ports/statistics.ts";
import type { StatisticsEntry } from "../../../src/ports/statistics.ts";
import { statisticsAnswers } from "../../../src/storage/sql/statistics.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { createReader, QUERIES } from "../../../src/storage/sqlite/reader/reader.ts";

const WEEK = 2_858 * 168;
const ALL = { by: "owner", from: 0, until: WEEK * 2 } as const;

/** A turn that ended in an hour of the week. */
function ended(hour: number): StatisticsEntry {
  const key = { owner: "acme", kind: "turn", agent: "desk", name: "chat", outcome: "success" } as const;
  return { hour: WEEK + hour, ...key, ...countOne(10) };
}

function open(): { readonly log: EventLog; readonly directory: string } {
  const directory = mkdtempSync(join(tmpdir(), "troupe-statistics-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const log = sqliteLog(directory);
  onTestFinished(() => log.close());
  return { log, directory };
}

test("other work goes on while statistics are summed up", async () => {
  const { log } = open();
  await log.statistics.put([ended(0), ended(30)]);
  let others = 0;
  const other = (): void => {
    others += 1;
    next = setImmediate(other);
  };
  let next = setImmediate(other);
  const sums = await log.statistics.sum(ALL);
  clearImmediate(next);
  expect(sums).toMatchObject([{ group: "acme", count: 2 }]);
  expect(others).toBeGreaterThan(0);
});

test("too many questions are refused, and those that a closing log has are answered or refused", async () => {
  const { log } = open();
  await log.statistics.put([ended(0)]);
  const all = await Promise.allSettled(Array.from({ length: 300 }, () => log.statistics.since()));
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(256);
  expect(all.at(-1)).toMatchObject({ status: "rejected", reason: { code: "overloaded" } });
  const asked = Promise.allSettled([log.statistics.since(), log.statistics.sum(ALL)]);
  await log.close();
  expect(await asked).toMatchObject([
    { status: "fulfilled", value: WEEK },
    { status: "rejected", reason: { code: "unavailable", message: "the log is closed" } },
  ]);
});

test("a question that cannot be read fails by itself, and the next one is answered", async () => {
  const { log, directory } = open();
  await log.statistics.put([ended(0)]);
  renameSync(directory, `${directory}-away`);
  await expect(log.statistics.since()).rejects.toThrow("the log cannot be read here");
  renameSync(`${directory}-away`, directory);
  expect(await log.statistics.since()).toBe(WEEK);
});

test("hours that are summed up between the parts of an answer are in it once", async () => {
  const { log, directory } = open();
  await log.statistics.put(Array.from({ length: 101 }, (_, hour) => ended(hour)));
  await log.indexed?.();
  const reader = createReader(new DatabaseSync(join(directory, "log.db"), { readOnly: true }));
  onTestFinished(() => reader.close());
  let asked = 0;
  const answers = statisticsAnswers(QUERIES, async (query) => {
    asked += 1;
    if (asked === 2) {
      await log.statistics.put([ended(150)]);
      await log.indexed?.();
    }
    return reader.ask((tables) => tables.answer(query));
  });
  expect(await answers.sum(ALL)).toMatchObject([{ group: "acme", count: 102 }]);
  expect(asked).toBe(6);
});
