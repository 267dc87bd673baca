import type { EventLog, Runtime, StatisticsBy, StatisticsEntry } from "troupe";
import { createRuntime, defineAgent } from "troupe";
import { createApp } from "troupe/http";
import { DURATION_BOUNDS_MS, HOUR_MS, NO_SUMS, STATISTICS_BY } from "../../../src/ports/statistics.ts";
import type { StatisticsKey } from "../../../src/ports/statistics.ts";
import { atMost, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { percentile } from "../harness/statistics.ts";
import { inDirectory, onPostgres, sqlitePlace } from "./owner-places.ts";
import type { Place } from "./owner-places.ts";

const WHAT = "a question to the statistics of a million runs";
const DAYS = 90;
const [AGENTS, OPERATIONS, MODELS, OWNERS] = [20, 2, 5, 100];
const RUNS = 1_000_000;

/**
 * The time of each question to `/statistics` in a store with what a million runs have counted, over a day and over the ninety days in
 * which they were: their hours are put in as the ends of the runs would have made them, without the runs.
 */
export async function measureStatistics({ isQuick }: Setup): Promise<Result[]> {
  const runs = isQuick ? RUNS / 10 : RUNS;
  const questions = isQuick ? 10 : 50;
  return [
    ...(await inDirectory((directory) => measure(sqlitePlace(directory), runs, questions))),
    ...(await onPostgres(WHAT, (place) => measure(place, runs, questions))),
  ];
}

async function measure(place: Place, runs: number, questions: number): Promise<Result[]> {
  const log = await place.open();
  const until = Math.floor(Date.now() / HOUR_MS);
  const rows = await fill(log, runs, until);
  console.log(`statistics, ${place.name}: ${runs} runs of ${DAYS} days are ${rows} rows`);
  const agent = defineAgent({ name: "agent0", purpose: "Answers.", chat: () => "" });
  const runtime = createRuntime({ agents: [agent], log });
  try {
    const results: Result[] = [];
    for (const days of [1, DAYS])
      for (const by of STATISTICS_BY) results.push(...(await ask(runtime, { by, days, questions, place })));
    return results;
  } finally {
    await runtime.close();
  }
}

interface Question {
  readonly by: StatisticsBy;
  readonly days: number;
  readonly questions: number;
  readonly place: Place;
}

async function ask(runtime: Runtime, { by, days, questions, place }: Question): Promise<Result[]> {
  const app = createApp(runtime);
  const since = new Date(Date.now() - days * 24 * HOUR_MS).toISOString();
  const times: number[] = [];
  for (let count = 0; count < questions; count += 1) {
    const startedAt = performance.now();
    const answer = await app.request(`/statistics?by=${by}&since=${since}`);
    await answer.text();
    times.push(performance.now() - startedAt);
    if (answer.status !== 200) throw new Error(`/statistics answered ${answer.status}`);
  }
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  console.log(
    `statistics, ${place.name}, ${days} d by ${by}: first ${ms(times[0] ?? 0)}, p50 ${ms(p50)}, p99 ${ms(p99)}`,
  );
  const of = days === 1 ? "the last day" : `${days} days`;
  return [
    atMost(`${WHAT}: ${of} by ${by}, p50, ${place.name}`, p50, 300, ms),
    atMost(`${WHAT}: ${of} by ${by}, p99, ${place.name}`, p99, 300, ms),
  ];
}

/** Puts in the hours of runs, each of which has one turn and two completions. Few owners and agents have most of them. */
async function fill(log: EventLog, runs: number, until: number): Promise<number> {
  const chance = createChance();
  const hours = DAYS * 24;
  let rows = 0;
  for (let hour = 0; hour < hours; hour += 1) {
    const entries = new Map<string, StatisticsEntry>();
    const count = Math.round(runs / hours);
    for (let run = 0; run < count; run += 1) {
      const place = {
        hour: until - hour,
        owner: `owner${few(chance, OWNERS)}`,
        agent: `agent${few(chance, AGENTS)}`,
      };
      const failed = chance() < 0.05;
      const outcome = failed ? `error:${chance() < 0.5 ? "agent_error" : "model_unavailable"}` : "success";
      const turn = { ...place, kind: "turn", name: `operation${few(chance, OPERATIONS)}`, outcome } as const;
      add(entries, turn, chance, failed ? { runId: `run_${hour}_${run}` } : {});
      for (let completion = 0; completion < 2; completion += 1) {
        const name = `provider/model${few(chance, MODELS)}`;
        const used = { inputTokens: 2_000, outputTokens: 300, cost: 0.01 };
        add(entries, { ...place, kind: "completion", name, outcome: "success" }, chance, used);
      }
    }
    await log.statistics.put([...entries.values()]);
    rows += entries.size;
  }
  return rows;
}

function add(
  entries: Map<string, StatisticsEntry>,
  key: StatisticsKey,
  chance: () => number,
  more: Partial<StatisticsEntry>,
): void {
  const id = `${key.owner} ${key.kind} ${key.agent} ${key.name} ${key.outcome}`;
  const { count, ms: before, durations, ...known } = entries.get(id) ?? { ...NO_SUMS, ...key };
  const at = Math.floor(chance() * DURATION_BOUNDS_MS.length);
  entries.set(id, {
    ...known,
    ...more,
    count: count + 1,
    ms: before + (DURATION_BOUNDS_MS[at] ?? 0),
    durations: durations.map((value, place) => value + Number(place === at)),
    inputTokens: known.inputTokens + (more.inputTokens ?? 0),
    outputTokens: known.outputTokens + (more.outputTokens ?? 0),
    cost: known.cost + (more.cost ?? 0),
  });
}

/** One of so many, of which few are chosen often. */
function few(chance: () => number, count: number): number {
  return Math.floor(chance() ** 3 * count);
}

/** The same numbers each time. */
function createChance(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
