import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import type { RunId } from "troupe/protocol";
import { manualEnvironment } from "troupe/testing";
import type { ManualEnvironment } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import type { FeedReader } from "../../../src/runtime/feeds.ts";

interface Row {
  readonly run_id: string;
  readonly agent?: string;
  readonly last_event_id?: number;
  readonly removed?: boolean;
}

const talker = defineAgent({
  name: "talker",
  purpose: "Says a word every 50 ms.",
  async chat(input, turn) {
    for (let left = Number(input); left > 0; left -= 1) {
      await turn.text("word ");
      await turn.sleep(50);
    }
  },
});

const silent = defineAgent({ name: "silent", purpose: "Says nothing.", async chat() {} });

interface Watched {
  readonly environment: ManualEnvironment;
  readonly runtime: Runtime;
}

function start(log = memoryLog()): Watched {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [talker, silent], log, environment });
  onTestFinished(() => runtime.close());
  return { environment, runtime };
}

async function chat({ environment, runtime }: Watched, agent: string, input: string): Promise<string> {
  const asked = runtime.process(agent, { type: "ChatRequest", input });
  await environment.idle();
  return (await asked).runId ?? "";
}

/** Reads a stream of runs; `accepts` says whether the reader takes more pages after one. */
function watch(
  runtime: Runtime,
  options: {
    readonly agent?: string;
    readonly limit?: number;
    readonly intervalMs?: number;
    readonly idsOnly?: boolean;
    readonly accepts?: () => boolean;
  } = {},
) {
  const { accepts = () => true, ...query } = options;
  const rows: Row[] = [];
  const ends: unknown[] = [];
  const reader: FeedReader = runtime.watchRuns({ limit: 100, ...query }).read({
    page({ events }) {
      rows.push(...toEncoded(events).map((text) => JSON.parse(text) as Row));
      return accepts();
    },
    end: (error) => void ends.push(error),
  });
  return { rows, ends, reader };
}

test("a run that changes all the time is sent at most four times a second, and in the end as it is", async () => {
  const host = start();
  const { rows, reader } = watch(host.runtime);
  const runId = await chat(host, "talker", "40");
  await host.environment.advance(1_000);
  const during = rows.length;
  expect(during).toBeGreaterThanOrEqual(3);
  expect(during).toBeLessThanOrEqual(5);
  await host.environment.advance(2_000);
  const details = await host.runtime.run(runId);
  expect(details.status).toBe("idle");
  const { metadata: _, ...row } = details;
  expect(rows.at(-1)).toEqual(row);
  expect(rows.length).toBeLessThanOrEqual(14);
  const count = rows.length;
  await host.environment.advance(10_000);
  expect(rows).toHaveLength(count);
  reader.stop();
});

test("a reader that waits longer between its reads gets a changing run once in that time, and all that have changed", async () => {
  const host = start();
  const { rows, reader } = watch(host.runtime, { intervalMs: 4_000 });
  const runId = await chat(host, "talker", "40");
  const others = await Promise.all(Array.from({ length: 200 }, () => chat(host, "silent", "0")));
  await host.environment.advance(3_900);
  expect(rows.filter((row) => row.run_id === runId)).toHaveLength(1);
  await host.environment.advance(200);
  const { metadata: _, ...row } = await host.runtime.run(runId);
  expect(rows.filter(({ run_id: id }) => id === runId).slice(1)).toEqual([row]);
  expect(new Set(rows.map(({ run_id: id }) => id))).toEqual(new Set([runId, ...others]));
  reader.stop();
});

test("a reader of ids gets those of runs that change or are removed, and of one agent only its own", async () => {
  const host = start();
  const all = watch(host.runtime, { idsOnly: true });
  const own = watch(host.runtime, { idsOnly: true, agent: "silent" });
  const talking = await chat(host, "talker", "0");
  const kept = await chat(host, "silent", "0");
  await host.environment.advance(1_000);
  expect(all.rows).toEqual(expect.arrayContaining([{ run_id: talking }, { run_id: kept }]));
  expect(new Set(own.rows.map(({ run_id: id }) => id))).toEqual(new Set([kept]));
  const before = all.rows.length;
  const removing = host.runtime.removeRun(talking);
  await host.environment.idle();
  await removing;
  await host.environment.advance(1_000);
  // The end of the removal is a change, too.
  const later = all.rows.slice(before);
  expect(later.length).toBeGreaterThan(0);
  expect(later.every((row) => JSON.stringify(row) === JSON.stringify({ run_id: talking }))).toBe(true);
  all.reader.stop();
  own.reader.stop();
});

test("a stream of one agent has its rows alone, at first the newest ones", async () => {
  const host = start();
  const ids: string[] = [];
  for (const agent of ["silent", "talker", "silent", "silent"]) {
    ids.push(await chat(host, agent, "0"));
    await host.environment.advance(1_000);
  }
  const { rows, reader } = watch(host.runtime, { agent: "silent", limit: 2 });
  await host.environment.idle();
  expect(rows.map((row) => row.run_id)).toEqual([ids[3], ids[2]]);
  await chat(host, "talker", "0");
  const later = await chat(host, "silent", "0");
  await host.environment.advance(1_000);
  expect(rows.every(({ agent }) => agent === "silent")).toBe(true);
  expect(rows.at(-1)?.run_id).toBe(later);
  reader.stop();
});

test("a reader that has stopped reading costs no more rows, and then gets each changed run once", async () => {
  const host = start();
  let accepts = true;
  const { rows, reader } = watch(host.runtime, { accepts: () => accepts });
  accepts = false;
  const first = await chat(host, "silent", "0");
  await host.environment.advance(1_000);
  expect(rows.map((row) => row.run_id)).toEqual([first]);
  const ids = [first, await chat(host, "talker", "20"), await chat(host, "silent", "0")];
  await host.environment.advance(5_000);
  expect(rows).toHaveLength(1);
  accepts = true;
  reader.resume();
  await host.environment.advance(1_000);
  expect(rows.slice(1).map((row) => row.run_id)).toEqual(ids);
  reader.stop();
});

test("a removed run is sent without its row", async () => {
  const host = start();
  const runId = await chat(host, "silent", "0");
  const { rows, reader } = watch(host.runtime);
  await host.environment.idle();
  const removing = host.runtime.removeRun(runId);
  await host.environment.idle();
  await removing;
  await host.environment.advance(1_000);
  expect(rows.at(-1)).toEqual({ run_id: runId, removed: true });
  reader.stop();
});

test("a log whose wakes are lost is read again from time to time", async () => {
  const host = start({ ...memoryLog(), reliableTail: false, watch: () => () => {} });
  const { rows, reader } = watch(host.runtime);
  await host.environment.idle();
  const runId = await chat(host, "silent", "0");
  await host.environment.advance(10_000);
  expect(rows.at(-1)?.run_id).toBe(runId);
  reader.stop();
});

test("a stream ends without an error when its reader falls 10,000 runs behind, and leaves no timer", async () => {
  let wake: (runId: RunId) => void = () => {};
  const watchLog = (given: typeof wake) => {
    wake = given;
    return () => {};
  };
  const log = { ...memoryLog(), watch: watchLog };
  const host = start(log);
  const timers = host.environment.timers;
  const { ends } = watch(host.runtime, { accepts: () => false });
  await chat(host, "silent", "0");
  for (let run = 0; run <= 20_000; run += 1) wake(`run_${run}`);
  await host.environment.idle();
  expect(ends).toEqual([undefined]);
  expect(host.environment.timers).toBeLessThanOrEqual(timers);
});
