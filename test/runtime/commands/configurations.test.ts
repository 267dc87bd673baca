import { createRuntime, defineAgent, memoryLog } from "troupe";
import { collect } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import type { EventLog } from "../../../src/ports/event-log.ts";
import type { ReadOptions } from "../../../src/ports/log-queries.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { temporaryDirectory } from "../../storage/directories.ts";

const reader = defineAgent({
  name: "reader",
  purpose: "Says how it is configured.",
  chat: (_input, turn) => JSON.stringify(turn.config),
});

/** A log that counts the records of the pages that are read from it. */
function countingLog(log: EventLog): { readonly log: EventLog; readonly pages: number[] } {
  const pages: number[] = [];
  const read = async (runId: string, options: ReadOptions) => {
    const page = await log.read(runId, options);
    pages.push(page.records.length);
    return page;
  };
  return { pages, log: { ...log, read, close: async () => {} } };
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

test("a start and a change read the newest configuration of an agent, and none before it", async () => {
  const { log, pages } = countingLog(memoryLog());
  const first = createRuntime({ agents: [reader], log });
  await first.ready();
  for (let n = 0; n < 20; n += 1) await first.process("reader", { type: "ConfigureRequest", args: { n } });
  await first.close();
  const second = createRuntime({ agents: [reader], log });
  await second.ready();
  expect(sum(pages)).toBeLessThan(20);
  const events = await collect(second, "reader", { type: "ChatRequest", input: "" });
  expect(events.at(-1)).toMatchObject({ result: '{"n":19}' });
  await second.close();
});

test("configurations without a snapshot are read in pages of a limited size", { tags: "long" }, async () => {
  const directory = temporaryDirectory();
  const before = sqliteLog(directory);
  let { cursor } = await before.claim("config-reader");
  const row = {
    status: "idle",
    createdAt: 1,
    updatedAt: 1,
    turns: 0,
    initialInput: null,
    metadata: {},
  } as const;
  for (let n = 1; n <= 120; n += 1) {
    const args = { n, text: "x".repeat(200_000) };
    const records = [{ n, after: 0, type: "ConfigRecorded", version: n, args }];
    cursor = await before.append(cursor, { events: [], records, run: { agent: "", ...row } });
  }
  await before.close();

  const opened = sqliteLog(directory);
  onTestFinished(() => opened.close());
  const { log, pages } = countingLog(opened);
  const runtime = createRuntime({ agents: [reader], log });
  await runtime.ready();
  expect(sum(pages)).toBe(120);
  // Pages of 8 MiB.
  expect(Math.max(...pages)).toBeLessThan(50);
  const events = await collect(runtime, "reader", { type: "ChatRequest", input: "" });
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
  await runtime.close();
});
