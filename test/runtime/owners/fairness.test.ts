import { describe, expect, test } from "vitest";
import { median } from "../../bench/harness/statistics.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { skipWithoutProc } from "../../machine/skip-without.ts";
import { temporaryDirectory } from "../../storage/directories.ts";
import { newDatabase } from "../../storage/postgres/databases.ts";
import { measureFairness } from "./fair/measure.ts";

/** How many requests one owner sends. `TROUPE_FAIR=10000` is the whole of it, and says how long the other one waits. */
const WHOLE = process.env["TROUPE_FAIR"];
const MANY = Number(WHOLE ?? 2_000);

/**
 * How much the server works at most until the first event of an owner beside another one that sends very many requests, relative to
 * a server that does nothing else. On a quiet machine it is 2, without turns of owners 10 and more. Work is what a loaded machine hardly changes.
 */
const MOST = 5;

test("a request of an owner does not wait for the many of another one", async ({ skip }) => {
  if (process.platform !== "linux") skipWithoutProc(skip);
  await expectFair(temporaryDirectory());
});

describe("on PostgreSQL", () => {
  needsPostgres();

  test("a request of an owner does not wait for the many of another one", async ({ skip }) => {
    if (process.platform !== "linux") skipWithoutProc(skip);
    await expectFair(await newDatabase());
  });
});

async function expectFair(place: string): Promise<void> {
  const { idle, busy } = await measureFairness(place, MANY);
  const [ms, busyMs] = [idle, busy].map((events) => median(events.map((event) => event.ms)));
  const [cpuMs = 0, busyCpuMs = 0] = [idle, busy].map((events) =>
    median(events.map((event) => event.cpuMs)),
  );
  if (WHOLE !== undefined) {
    const texts = [ms, busyMs, cpuMs, busyCpuMs].map((value) => `${value?.toFixed(2)} ms`);
    console.log(
      `p50 of the first event: ${texts[0]} idle, ${texts[1]} among ${MANY} (${busy.length} times); main thread ${texts[2]}, ${texts[3]}`,
    );
  }
  expect(busy.length).toBeGreaterThan(10);
  expect(busyCpuMs / cpuMs).toBeLessThan(MOST);
}
