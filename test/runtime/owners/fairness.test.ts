/** @module-tag long */
import { describe, expect, test } from "vitest";
import { median } from "../../bench/harness/statistics.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { skipWithoutProc } from "../../machine/skip-without.ts";
import { temporaryDirectory } from "../../storage/directories.ts";
import { newDatabase } from "../../storage/postgres/databases.ts";
import { measureFairness } from "./fair/measure.ts";
import type { Fairness } from "./fair/measure.ts";

/** How many requests one owner sends. `TROUPE_FAIR=10000` is the whole of it, and says how long the other one waits. */
const WHOLE = process.env["TROUPE_FAIR"];
const MANY = Number(WHOLE ?? 2_000);

/**
 * How much the server works at most until the first event of an owner beside another one that sends very many requests, relative to
 * a server that does nothing else. On a quiet machine it is 2, without turns of owners 10 and more. Work is what a loaded machine hardly changes.
 */
const MOST = 5;

/**
 * How many requests of the other owner are read, and turns of it begun, at most until the turn of a request begins. With two requests of
 * an owner accepted at once it is 4 on any machine, with four 8 to 9.
 */
const MOST_STEPS = 6;

test("a request of an owner does not wait for the many of another one", async ({ skip }) => {
  if (process.platform !== "linux") skipWithoutProc(skip);
  const events = await measureFairness(temporaryDirectory(), MANY);
  expect(events.busy.length).toBeGreaterThan(10);
  expectFair(events);
});

describe("on PostgreSQL", () => {
  needsPostgres();

  test("a request of an owner does not wait for the many of another one", async ({ skip }) => {
    if (process.platform !== "linux") skipWithoutProc(skip);
    const events = await measureFairness(await newDatabase(), MANY);
    expect(events.busy.length).toBeGreaterThan(10);
    expectFair(events);
  });
});

function expectFair(events: Fairness): void {
  expect(moreWork(events)).toBeLessThan(MOST);
  expect(median(events.busy.map(({ steps }) => steps))).toBeLessThanOrEqual(MOST_STEPS);
}

/** How much more the server works until the first event. */
function moreWork({ idle, busy }: Fairness): number {
  const cpuMs = median(idle.map((event) => event.cpuMs));
  const busyCpuMs = median(busy.map((event) => event.cpuMs));
  if (WHOLE !== undefined) {
    const waits = [idle, busy].map((events) => `${median(events.map(({ ms }) => ms)).toFixed(2)} ms`);
    console.log(
      `p50 of the first event: ${waits[0]} idle, ${waits[1]} among ${MANY} requests (${busy.length} times); ` +
        `of the work of the main thread until then: ${cpuMs.toFixed(2)} ms, ${busyCpuMs.toFixed(2)} ms; ` +
        `${median(busy.map(({ steps }) => steps))} steps for the other owner until the turn began`,
    );
  }
  return busyCpuMs / cpuMs;
}
