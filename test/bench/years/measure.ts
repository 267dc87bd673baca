import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join, resolve } from "node:path";
import { createRuntime } from "troupe";
import { onAllCores, pinClient, unpinClient } from "../harness/server-process.ts";
import { atMost, ms, toTable } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { median, percentile } from "../harness/statistics.ts";
import { inDirectory, onPostgres } from "../parts/owner-places.ts";
import { QUESTIONS } from "./questions.ts";
import type { Asked } from "./questions.ts";
import { measureRetention } from "./retention.ts";
import { fillStore, postgresStore, sqliteStore } from "./stores.ts";
import type { Store } from "./stores.ts";
import { AGENTS } from "./templates.ts";

const WHAT = "a store of years";
const STARTS = 3;

/**
 * What lists, waits, searches and the questions of owners cost in a store of a million runs of 10,000 owners with 20 million events, 100,000
 * of which wait for a person; how long a node needs to start on it; and how fast retention removes runs beside turns. Writes the plans of the
 * statements beside a store that is kept.
 */
export function measureYears(setup: Setup): Promise<Result[]> {
  return measureStores(setup, measureStore);
}

/** How fast retention removes runs of such a store beside turns, alone. A store that is kept has fewer old runs afterwards. */
export function measureRemoval(setup: Setup): Promise<Result[]> {
  return measureStores(setup, async (store, { runs, removals }, mark) => {
    await fillStore(store, runs, mark);
    return measureRetention(store, removals);
  });
}

async function measureStores(
  { isQuick, store, runs: wanted }: Setup,
  measure: typeof measureStore,
): Promise<Result[]> {
  const [runs, draws] = isQuick ? [wanted ?? 20_000, 50] : [wanted ?? 1_000_000, 300];
  const kept = (engine: string): string | undefined =>
    store === undefined ? undefined : resolve(store, `years-${engine}-${runs}`);
  const size = {
    runs,
    draws,
    removals: isQuick ? Math.round(0.14 * runs) : 30_000,
    plans: store && resolve(store),
  };
  unpinClient();
  const [directory, database] = [kept("sqlite"), kept("postgres")];
  const results = [
    ...(await inDirectory(
      (at) => measure(sqliteStore(at), size, directory && `${directory}.runs`),
      directory,
    )),
    ...(await onPostgres(
      WHAT,
      (_, server) => measure(postgresStore(server.url, server), size, database && `${database}.runs`),
      database,
      {
        isSynced: true,
        settings: [
          "shared_buffers=2GB",
          "max_wal_size=8GB",
          "checkpoint_timeout=15min",
          "wal_compression=lz4",
        ],
      },
    )),
  ];
  pinClient();
  return results;
}

/** Measures a store, which is filled before, unless a file says that it was. */
export async function measureStore(store: Store, size: Size, mark: string | undefined): Promise<Result[]> {
  await fillStore(store, size.runs, mark);
  return [
    ...(await measureQuestions(store, size)),
    ...measureStart(store),
    ...(await measureRetention(store, size.removals)),
  ];
}

interface Size {
  readonly runs: number;
  readonly draws: number;
  /** So many runs are removed. */
  readonly removals: number;
  readonly plans: string | undefined;
}

/** Asks all questions in turn, again and again. What a question costs is less disturbed by other work than how long it takes. */
async function measureQuestions(store: Store, { runs, draws, plans }: Size): Promise<Result[]> {
  const log = await store.open();
  const runtime = createRuntime({ agents: AGENTS, log });
  await runtime.ready();
  const asked: Asked = {
    runtime,
    log,
    runs,
    as: (owner) => runtime.as({ id: owner, owner, roles: ["user"] }),
    random: createChance(),
    runIds: (await log.list({ limit: 1_000, cursor: `${Date.now() - 100 * DAY_MS}.run_0` })).runs.map(
      ({ runId }) => runId,
    ),
  };
  const took = QUESTIONS.map(() => ({ ms: [] as number[], cpuMs: [] as number[] }));
  // The first question of a kind compiles its statement.
  for (let draw = -1; draw < draws; draw += 1)
    for (const [at, { ask, looks = false }] of QUESTIONS.entries()) {
      // Those take as long as many others.
      if (looks && draw % 10 !== 0) continue;
      const cpuBefore = cpuMsOf(store);
      const startedAt = performance.now();
      await ask(asked);
      const ms = performance.now() - startedAt;
      if (draw < 0) continue;
      took[at]?.ms.push(ms);
      took[at]?.cpuMs.push(cpuMsOf(store) - cpuBefore);
    }
  const p99 = (of: readonly number[] = []): number => percentile(of, 0.99);
  const rows = QUESTIONS.map(({ what }, at) => {
    const { ms: times = [], cpuMs = [] } = took[at] ?? {};
    return [what, ...[median(times), p99(times), median(cpuMs), p99(cpuMs)].map(ms)];
  });
  const head = ["question", "p50", "p99", "CPU, p50", "CPU, p99"];
  console.log(
    `\n${runs} runs, ${store.name}, each question ${draws} times in turn, load ${loadavg()[0]?.toFixed(1)}\n\n${toTable([head, ...rows])}\n`,
  );
  await runtime.close();
  await log.close();
  if (plans !== undefined) await writePlans(store, join(plans, `years-plans-${store.name}.txt`));
  return QUESTIONS.flatMap(({ what, looks }, at) =>
    looks === undefined
      ? [atMost(`p99 of ${what}, ${runs} runs, ${store.name}`, p99(took[at]?.ms), 20, ms)]
      : [],
  );
}

/** The CPU time of this thread, which answers the questions of SQLite, and of the processes of a database. */
function cpuMsOf({ engineCpuMs }: Store): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000 + (engineCpuMs?.() ?? 0);
}

const DAY_MS = 86_400_000;

async function writePlans(store: Store, path: string): Promise<void> {
  const plans: string[] = [];
  for (const { what, plan } of QUESTIONS)
    if (plan !== undefined) plans.push(`${what}\n${(await store.explain(plan(store.queries))).join("\n")}\n`);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, plans.join("\n"));
}

/** The time from the start of a process until it is ready, the slowest of some. */
function measureStart({ name, place }: Store): Result[] {
  const times: { readonly readyMs: number; readonly line: string }[] = [];
  const [command = "", ...args] = [...onAllCores, process.execPath, ...FLAGS];
  const program = join(import.meta.dirname, "open-store.ts");
  for (let start = 0; start < STARTS; start += 1) {
    const line = execFileSync(command, [...args, program, place], { encoding: "utf8" }).trim();
    times.push({ readyMs: (JSON.parse(line) as { readonly readyMs: number }).readyMs, line });
  }
  console.log(`years, ${name}: a node starts: ${times.map(({ line }) => line).join(" ")}`);
  const slowest = Math.max(...times.map(({ readyMs }) => readyMs));
  return [atMost(`a node is ready on ${WHAT}, slowest of ${STARTS}, ${name}`, slowest, 3_000, ms)];
}

/** As this process has them. */
const FLAGS: readonly string[] = process.execArgv;

/** The same numbers each time. */
function createChance(): (below: number) => number {
  let state = 1;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return Math.floor((state / 2_147_483_647) * below);
  };
}
