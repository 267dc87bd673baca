import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRuntime, memoryLog } from "troupe";
import type { EventLog, Limits, Runtime } from "troupe";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";
import { manualEnvironment } from "troupe/testing";
import { askWithoutPause } from "./clients.ts";
import { beat } from "./heartbeat.ts";
import { countUnderKills } from "./kills.ts";
import { chart, looper, steps, walker } from "./agents.ts";
import { keepLawsUnderKills } from "./laws/laws-under-kills.ts";
import { runMailboxes } from "../laws/mailboxes.ts";
import { runSchedules } from "../laws/schedules.ts";
import { runSagas } from "../laws/sagas.ts";
import { readBeside } from "./reads.ts";
import { runSupervised } from "../laws/supervised.ts";
import { raceInMemory, raceOnDisk } from "./races.ts";
import { measureTells } from "./tells.ts";

/**
 * Actors that live long: what a message costs at the start and at the end of a life, and after a restart. Run it with
 * `npm run test:life`, or one part with `npm run test:life -- --only chart --log sqlite --times 100000`.
 */
const { values } = parseArgs({
  options: {
    only: { type: "string" },
    log: { type: "string", default: "sqlite" },
    times: { type: "string", default: "100000" },
  },
});
const times = Number(values.times);
/** The cost at an age is that of this many messages. */
const SAMPLE = Math.min(2_000, times / 10);

/** How much dearer a message may be at the end of a life. */
const GROWTH = 1.3;
/** What the first ask after a restart may cost, in milliseconds of CPU. */
const FIRST_ASK_MS = 20;
/** What a tell to an actor that has several waiting may cost, in microseconds of CPU. */
const TELL_US = 600;

const faults: string[] = [];

/** A store for one part, which can be closed and opened again. */
interface Store {
  open(): EventLog;
  remove(): Promise<void>;
}

async function createStore(durability: "relaxed" | "full" = "relaxed"): Promise<Store> {
  if (values.log === "memory") {
    const log = memoryLog();
    return { open: () => log.reopen(), remove: async () => {} };
  }
  const directory = await mkdtemp(join(tmpdir(), "troupe-life-"));
  return {
    open: () => sqliteLog(directory, { durability }),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Milliseconds of CPU that this process has used. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function start(log: EventLog, limits: Partial<Limits> = {}): Runtime {
  return createRuntime({ agents: [chart, looper, walker], log, limits });
}

/** Resolves when the process has done nothing for a moment: a log checks itself after it was opened. */
async function quiet(): Promise<void> {
  for (let before = cpuMs(), isBusy = true; isBusy; before = cpuMs()) {
    await new Promise((resolve) => {
      setTimeout(resolve, 200);
    });
    isBusy = cpuMs() - before > 10;
  }
}

/** Compares the cost of a message at the start and at the end. */
function compare(what: string, samples: readonly number[]): void {
  // The first ones warm the process up.
  const first = medianOf(samples.slice(1, 6));
  const last = medianOf(samples.slice(-5));
  globalThis.gc?.();
  const heapMb = Math.round(process.memoryUsage().heapUsed / 1_048_576);
  const us = (ms: number): string => `${Math.round((ms * 1_000) / SAMPLE)} µs`;
  console.log(`${what}: ${us(first)} at the start, ${us(last)} at the end; heap ${heapMb} MB`);
  if (last > GROWTH * first)
    faults.push(`${what}: a message at the end costs ${(last / first).toFixed(2)} times`);
}

function medianOf(samples: readonly number[]): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? 0;
}

/** The CPU of the first ask of an actor in a process that has worked with young ones before, so that its code is warm. */
async function firstAsk(
  store: Store,
  what: string,
  ask: (runtime: Runtime) => Promise<unknown>,
): Promise<void> {
  const runtime = start(store.open());
  await runtime.ready();
  for (const key of ["warm", "warmer"]) {
    await runtime.ask(walker, "where", {}, { key });
    await runtime.ask(looper, "loop", { step: 1, last: 2 }, { key });
    await runtime.process("chart", { type: "OperationRequest", operation: "add", input: { amount: 0 }, key });
    for (const amount of [1, 2, 3]) await runtime.ask(chart, "add", { amount }, { key });
  }
  await quiet();
  const before = cpuMs();
  await ask(runtime);
  const ms = cpuMs() - before;
  console.log(`${what}: the first ask after a restart takes ${ms.toFixed(1)} ms of CPU`);
  if (ms > FIRST_ASK_MS)
    faults.push(`${what}: the first ask after a restart takes ${ms.toFixed(1)} ms of CPU`);
  await runtime.close();
}

const parts: { readonly [name: string]: () => Promise<void> } = {
  /** Messages to a chart that never ends. */
  async chart() {
    const store = await createStore();
    const runtime = start(store.open());
    const key = "one";
    await runtime.process("chart", { type: "OperationRequest", operation: "add", input: { amount: 0 }, key });
    const samples: number[] = [];
    for (let sent = 0, before = cpuMs(); sent < times; sent += 1) {
      await runtime.ask(chart, "add", { amount: 1 }, { key });
      if ((sent + 1) % SAMPLE !== 0) continue;
      samples.push(cpuMs() - before);
      before = cpuMs();
    }
    compare(`${times} messages to a chart`, samples);
    await runtime.close();
    await firstAsk(store, "chart", (next) => next.ask(chart, "add", { amount: 1 }, { key }));
    await store.remove();
  },

  /** A loop of turns by continueAs. */
  async loop() {
    const store = await createStore();
    const runtime = start(store.open());
    const samples: number[] = [];
    let before = cpuMs();
    steps.listener = (step) => {
      if (step % SAMPLE !== 0) return;
      samples.push(cpuMs() - before);
      before = cpuMs();
    };
    await runtime.ask(looper, "loop", { step: 1, last: times }, { key: "one" });
    compare(`${times} steps of a loop`, samples);
    // It waits now for a message, and is at its last step.
    await runtime.process("looper", { type: "OperationRequest", operation: "listen", input: {}, key: "one" });
    await runtime.close();
    await firstAsk(store, "loop", async (next) => {
      await next.process("looper", { type: "Message", name: "stop", body: null, key: "one" });
      return next.ask(looper, "loop", { step: 1, last: 1 }, { key: "one" });
    });
    await store.remove();
  },

  /** Steps that an actor tells itself. */
  async steps() {
    const store = await createStore();
    const runtime = start(store.open(), { ownSteps: 1_000_000 });
    const samples: number[] = [];
    let before = cpuMs();
    const done = Promise.withResolvers<void>();
    steps.listener = (step) => {
      if (step % SAMPLE === 0) {
        samples.push(cpuMs() - before);
        before = cpuMs();
      }
      if (step === times) done.resolve();
    };
    await runtime.ask(walker, "walk", { to: times }, { key: "one" });
    await done.promise;
    compare(`${times} steps that an actor tells itself`, samples);
    await runtime.close();
    await firstAsk(store, "steps", (next) => next.ask(walker, "where", {}, { key: "one" }));
    await store.remove();
  },

  /** A heart that beats every 100 ms, by a clock of the test. */
  async beats() {
    const environment = manualEnvironment();
    const beats = Math.min(times, 10_000);
    const runtime = createRuntime({ agents: [walker], environment, log: memoryLog() });
    let last = 0;
    steps.listener = (step) => {
      last = step;
    };
    const begun = runtime.ask(walker, "beat", { to: beats }, { key: "one" });
    for (let tenths = 0; tenths < 2 * beats && last < beats; tenths += 1) await environment.advance(100);
    await begun;
    console.log(
      `beats: ${last} of ${beats} in ${Math.round(environment.monotonic() / 1_000)} s of the clock`,
    );
    if (last !== beats) faults.push(`the heart has beaten ${last} times`);
    await runtime.close();
  },

  /** A heart that beats every 100 ms by the real clock, 6,000 times with the usual number: ten minutes. */
  async heartbeat() {
    const store = await createStore();
    const { beats, remembered, longestMs } = await beat(() => store.open(), Math.ceil((times * 6) / 100));
    console.log(`heartbeat: ${beats} beats, ${longestMs} ms between two at most`);
    if (beats !== remembered) faults.push(`the heart remembers ${remembered} of ${beats} beats`);
    if (longestMs > 10_000) faults.push("the heart has stopped");
    await store.remove();
  },

  /** Clients that never pause, through three renewals; also on the PostgreSQL of `TROUPE_TEST_POSTGRES`, if there is one. */
  async clients() {
    const url = process.env["TROUPE_TEST_POSTGRES"];
    const store = await createStore();
    const logs = [
      store.open(),
      ...(url ? [await postgresLog({ url, schema: `clients_${Date.now()}` })] : []),
    ];
    for (const [at, log] of logs.entries()) {
      const { answers, refusals, renewals } = await askWithoutPause(log, times);
      const name = at === 0 ? values.log : "PostgreSQL";
      console.log(`clients on ${name}: ${answers} different answers to ${times} asks, ${renewals} renewals`);
      faults.push(...refusals.map((refusal) => `a client was refused: ${refusal}`));
      if (answers !== times) faults.push(`${times} asks have ${answers} answers`);
      if (renewals < 3) faults.push(`${renewals} renewals`);
    }
    await store.remove();
  },

  /** Reads of an actor that works, waits for a person, or is held, beside the ask of an idle one. */
  async reads() {
    const store = await createStore();
    const { askMs, readMs, faults: found } = await readBeside(() => store.open(), Math.min(times, 10_000));
    faults.push(...found);
    const us = (ms: number): string => `${Math.round(ms * 1_000)} µs`;
    const all = Object.entries(readMs);
    const read = all.map(([does, ms]) => `${us(ms)} while it ${does}`).join(", ");
    console.log(`reads: p50 of an idle actor's ask ${us(askMs)}, of a read ${read}`);
    for (const [does, ms] of all)
      if (ms > 2 * askMs)
        faults.push(`a read of an actor that ${does} takes ${(ms / askMs).toFixed(1)} times`);
    await store.remove();
  },

  /** Tells to one actor, which share commits, beside tells to fifty. */
  async tells() {
    const store = await createStore("full");
    const { toOne, toFifty, wrong } = await measureTells(store.open(), Math.min(times, 5_000));
    console.log(`tells: ${toOne} µs of CPU for one to one actor, ${toFifty} µs to one of fifty`);
    if (toOne > TELL_US) faults.push(`a tell to one actor takes ${toOne} µs of CPU`);
    if (wrong > 0) faults.push(`${wrong} tells were counted twice, or not at all`);
    await store.remove();
  },

  /** Priorities, coalescing, topics and dead letters, with a death at every commit. */
  async mailboxes() {
    const { faults: found, deaths } = await runMailboxes(Math.max(6, Math.round(times / 5_000)), 1);
    faults.push(...found);
    console.log(`mailboxes: ${deaths} deaths, ${found.length} faults`);
  },

  /** Schedules that are changed at run time, with a death at every commit: each of their times rings once. */
  async schedules() {
    const { faults: found, deaths } = await runSchedules(Math.max(3, Math.round(times / 10_000)), 1);
    faults.push(...found);
    console.log(`schedules: ${deaths} deaths, ${found.length} faults`);
  },

  /** Races of messages, calls and deadlines: each message has one reader, in order. */
  async races() {
    const turns = Math.min(times / 10, 1_000);
    faults.push(...(await raceInMemory(turns)));
    const store = await createStore();
    faults.push(...(await raceOnDisk(() => store.open(), Math.ceil(turns / 2))));
    await store.remove();
    console.log(`races: ${turns * 35} races of messages, calls and deadlines, ${turns * 2} deaths`);
  },

  /** Sagas that end at every step, with a death at every commit: what was booked is undone once. */
  async sagas() {
    const { faults: found, deaths } = await runSagas(Math.max(1, Math.round(100_000 / times)));
    faults.push(...found);
    console.log(`sagas: ${deaths} deaths, ${found.length} faults`);
  },

  /** Work that fails under supervision, with a death at every commit: it is tried as often as it should be. */
  async supervised() {
    const programs = Math.max(12, Math.round(times / 1_000));
    const { faults: found, deaths } = await runSupervised(programs, 1);
    faults.push(...found);
    console.log(`supervised: ${programs} programs, ${deaths} deaths, ${found.length} faults`);
  },

  /**
   * Cleanup, watch, select and retention while servers are killed: one on SQLite, and two on the PostgreSQL of
   * `TROUPE_TEST_POSTGRES`, if there is one.
   */
  async laws() {
    const url = process.env["TROUPE_TEST_POSTGRES"];
    const many = Math.ceil(times / 5_000);
    const laws = { sagas: Math.ceil(many / 4), watched: many, racing: many, accounts: many * 50, every: 300 };
    for (const database of [undefined, ...(url ? [{ url, schema: `laws_${Date.now()}` }] : [])]) {
      const {
        faults: found,
        kills,
        done,
      } = await keepLawsUnderKills({ ...laws, ...(database && { database }) });
      faults.push(...found);
      console.log(`laws on ${database ? "PostgreSQL" : "SQLite"}: ${done}, ${kills} kills`);
    }
  },

  /** The count of asks over HTTP, while the server is killed. */
  async kills() {
    const asks = Math.min(times, 2_000);
    const { counts, refusals, renewals, kills } = await countUnderKills(asks, 2_500);
    console.log(`kills: ${counts.length} answers to ${asks} asks, ${renewals} renewals, ${kills} kills`);
    if (counts.some((count, index) => count !== index + 1))
      faults.push("an ask was counted twice, or not at all");
    if (counts.length !== asks || renewals < 3)
      faults.push(`${refusals.length} refusals: ${refusals[0] ?? ""}`);
  },
};

for (const [name, part] of Object.entries(parts))
  if (values.only === undefined || values.only === name) await part();
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
