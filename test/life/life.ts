import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRuntime, memoryLog } from "troupe";
import type { EventLog } from "troupe";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";
import { manualEnvironment } from "troupe/testing";
import { askWithoutPause } from "./clients.ts";
import { beat } from "./heartbeat.ts";
import { countUnderKills } from "./kills.ts";
import { age, askFirst, weigh } from "./age.ts";
import { steps, walker } from "./agents.ts";
import { lives } from "./lives.ts";
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

/** How much dearer a message may be at the end of a life. */
const GROWTH = 1.3;
/** The bytes of answers and runs that a process keeps at hand, whose number is limited; in a short life they come during it. */
const CACHES = 16 << 20;
/** What the first ask after a restart may cost, in milliseconds of CPU. */
const FIRST_ASK_MS = 20;
/** The events and records that it may read: those since the newest place from which a run is loaded. */
const FIRST_ASK_READ = 1_000;
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

/** An actor gets messages, or makes steps, and is asked after a restart. */
async function growOld(name: string): Promise<void> {
  const life = lives.find((one) => one.name === name);
  if (life === undefined) return;
  const store = await createStore();
  const { us, start, end, heapStart, heapEnd } = await age(life, store.open(), times);
  console.log(
    `${name}: after ${times} messages one costs ${us} µs of CPU, ${end.toFixed(2)} times that of a young actor; ` +
      `${start.toFixed(2)} times at the start; heap ${heapStart >> 20} MB, then ${heapEnd >> 20} MB`,
  );
  if (end > GROWTH * start)
    faults.push(`${name}: a message at the end costs ${(end / start).toFixed(2)} times`);
  if (heapEnd > GROWTH * heapStart + CACHES) faults.push(`${name}: the heap grows`);
  const { ms, read } = await askFirst(life, () => store.open());
  console.log(
    `${name}: the first ask after a restart takes ${ms.toFixed(1)} ms of CPU and reads ${read} entries`,
  );
  if (ms > FIRST_ASK_MS)
    faults.push(`${name}: the first ask after a restart takes ${ms.toFixed(1)} ms of CPU`);
  if (read > FIRST_ASK_READ) faults.push(`${name}: the first ask after a restart reads ${read} entries`);
  await store.remove();
}

const parts: { readonly [name: string]: () => Promise<void> } = {
  chart: () => growOld("chart"),
  loop: () => growOld("loop"),
  steps: () => growOld("steps"),

  /** Each of these lives with retention, which removes all that is not needed. */
  async disk() {
    for (const life of lives) {
      const store = await createStore();
      const { young, old, besides } = await weigh(
        life,
        { log: store.open(), retainMs: 1 },
        Math.ceil(times / 5),
      );
      console.log(
        `disk: the run of a ${life.name} has ${young >> 10} KiB at most in the first third of its life, ${old >> 10} at least in the last; ` +
          `the log has ${besides} bytes more for each message`,
      );
      // Without retention it would be twice as much.
      if (old > GROWTH * young) faults.push(`the run of a ${life.name} grows from ${young} to ${old} bytes`);
      await store.remove();
    }
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
