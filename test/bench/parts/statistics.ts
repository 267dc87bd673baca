import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { EventLog, StatisticsEntry } from "troupe";
import { createRuntime, defineAgent } from "troupe";
import { readConsole, serve } from "troupe/node";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { DURATION_BOUNDS_MS, HOUR_MS, NO_SUMS, STATISTICS_BY } from "../../../src/ports/statistics.ts";
import type { StatisticsKey } from "../../../src/ports/statistics.ts";
import { RANGES } from "../../../src/console/statistics/statistics.ts";
import { findBrowser } from "../../console/harness/find-browser.ts";
import { atMost, ms, skipped } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import { pinClient, unpinClient } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";
import { percentile } from "../harness/statistics.ts";
import { inDirectory, onPostgres, sqlitePlace } from "./owner-places.ts";
import type { Place } from "./owner-places.ts";

const WHAT = "a question to the statistics of a million runs";
const DAYS = 90;
const [AGENTS, OPERATIONS, MODELS, OWNERS] = [20, 2, 5, 10_000];
const RUNS = 1_000_000;

/**
 * The time of each question to `/statistics` over HTTP in a store with what a million runs of 10,000 owners have counted in ninety days:
 * over all of the days, and together as a page of the console asks. The hours of the runs are put in as their ends would have made them,
 * without the runs, and the engine sums them up by itself.
 */
export async function measureStatistics({ isQuick, store }: Setup): Promise<Result[]> {
  const [runs, questions] = isQuick ? [RUNS / 10, 10] : [RUNS, 50];
  const kept = (engine: string): string | undefined =>
    store === undefined ? undefined : resolve(store, `statistics-${engine}-${runs}`);
  const [directory, database] = [kept("sqlite"), kept("postgres")];
  return [
    ...(await inDirectory((at) => measure(sqlitePlace(at), { runs, questions, kept: directory }), directory)),
    ...(await onPostgres(WHAT, (place) => measure(place, { runs, questions, kept: database }), database)),
  ];
}

interface StoreSize {
  readonly runs: number;
  readonly kept: string | undefined;
}

interface Size extends StoreSize {
  readonly questions: number;
}

async function measure(place: Place, { questions, ...size }: Size): Promise<Result[]> {
  return serveStatistics(place, size, async ({ url, until }) => {
    const of = { url, until, questions, place };
    const results: Result[] = [];
    for (const { name, days, step } of RANGES) {
      // As the console asks: whole days, except of the last day.
      const since = step === "hour" ? until - 24 : until - (until % 24) - (days - 1) * 24;
      for (const [view, groups] of Object.entries(VIEWS))
        results.push(...(await ask(of, `page ${view}, ${name}`, [step, ...groups], since)));
    }
    for (const days of [1 / 24, 1, 7, 30, DAYS])
      for (const by of STATISTICS_BY) {
        // Their rows would be more than an answer has.
        if (by === "hour" && days > 30) continue;
        results.push(...(await ask(of, `${toName(days)} by ${by}`, [by], until - days * 24)));
      }
    for (const owner of ["owner0", "owner5000"])
      for (const days of [1, 30, DAYS])
        for (const by of ["agent", "model", "day"])
          results.push(
            ...(await ask(of, `${toName(days)} of ${owner} by ${by}`, [by], until - days * 24, owner)),
          );
    return results;
  });
}

/** Serves a store with what so many runs have counted, with the console. */
async function serveStatistics<Value>(
  place: Place,
  size: StoreSize,
  use: (server: { readonly url: string; readonly until: number }) => Promise<Value>,
): Promise<Value> {
  const log = await place.open();
  const until = await fillOnce(log, place, size);
  const agent = defineAgent({ name: "agent0", purpose: "Answers.", chat: () => "" });
  const runtime = createRuntime({ agents: [agent], log });
  const server = await serve(runtime, { port: 0, console: await readConsole() });
  try {
    return await use({ url: server.url, until });
  } finally {
    await server.close();
    await runtime.close();
    await log.close();
  }
}

/**
 * The time from the last byte of the answers that a page of the console has asked for to the frame after the first one with their sums, in a
 * browser, each time in a tab of its own.
 */
export async function measurePaint({ isQuick, store }: Setup): Promise<Result[]> {
  const executablePath = findBrowser();
  if (executablePath === undefined) return [skipped("first paint of statistics", "there is no Chromium")];
  const [runs, rounds] = isQuick ? [RUNS / 10, 3] : [RUNS, 10];
  const kept = store === undefined ? undefined : resolve(store, `statistics-sqlite-${runs}`);
  unpinClient();
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    return await inDirectory(
      (at) =>
        serveStatistics(sqlitePlace(at), { runs, kept }, async ({ url }) => {
          const results: Result[] = [];
          for (const { name } of RANGES)
            for (const view of Object.keys(VIEWS)) {
              const address = `${url}/#/statistics?view=${view.toLowerCase()}&range=${name}`;
              const paints: number[] = [];
              for (let round = 0; round < rounds; round += 1) paints.push(await paintOf(browser, address));
              const [p50, most] = [percentile(paints, 0.5), Math.max(...paints)];
              const what = `${view}, ${name}`;
              console.log(`paint, ${what}: p50 ${ms(p50)}, slowest of ${rounds} ${ms(most)}`);
              results.push(
                atMost(
                  `first paint after the answers of a million runs: ${what}, slowest of ${rounds}`,
                  most,
                  300,
                  ms,
                ),
              );
            }
          return results;
        }),
      kept,
    );
  } finally {
    await browser.close();
    pinClient();
  }
}

async function paintOf(browser: Browser, address: string): Promise<number> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  try {
    await page.addInitScript(WATCH);
    await page.goto(address);
    return await page.evaluate<number>("globalThis.painted");
  } finally {
    await page.close();
  }
}

/** Says when the first sums have been drawn: a frame later, counted from the end of the newest answer. */
const WATCH = `globalThis.painted = new Promise((resolve) => new MutationObserver((_, observer) => {
  if (document.querySelector(".sums-body .charts") === null) return;
  observer.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const painted = performance.now();
    const answers = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/statistics?"));
    resolve(painted - Math.max(...answers.map(({ responseEnd }) => responseEnd)));
  }));
}).observe(document, { childList: true, subtree: true }));`;

/** What the pages of the console ask together, beside the hour or the day. */
const VIEWS = { Spend: ["agent", "model", "owner"], Failures: ["error"], Latency: ["operation", "model"] };

function toName(days: number): string {
  return days < 1 ? "the last hour" : days === 1 ? "the last day" : `${days} days`;
}

interface Server {
  readonly url: string;
  readonly until: number;
  readonly questions: number;
  readonly place: Place;
}

async function ask(
  { url, until, questions, place }: Server,
  what: string,
  groups: readonly string[],
  since: number,
  owner?: string,
): Promise<Result[]> {
  const hour = (number: number): string => new Date(number * HOUR_MS).toISOString();
  const of = owner === undefined ? "" : `&owner=${owner}`;
  const times: number[] = [];
  for (let count = 0; count < questions; count += 1) {
    const startedAt = performance.now();
    await Promise.all(
      groups.map(async (by) => {
        const answer = await fetch(
          `${url}/statistics?by=${by}&since=${hour(since)}&until=${hour(until)}${of}`,
        );
        await answer.text();
        if (answer.status !== 200) throw new Error(`/statistics answered ${answer.status}`);
      }),
    );
    times.push(performance.now() - startedAt);
  }
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  console.log(
    `statistics, ${place.name}, ${what}: first ${ms(times[0] ?? 0)}, p50 ${ms(p50)}, p99 ${ms(p99)}`,
  );
  return [
    atMost(`${WHAT}: ${what}, p50, ${place.name}`, p50, 300, ms),
    atMost(`${WHAT}: ${what}, p99, ${place.name}`, p99, 300, ms),
  ];
}

/** Fills a store, unless it was kept; returns the hour behind the last one. */
async function fillOnce(log: EventLog, { name }: Place, { runs, kept }: StoreSize): Promise<number> {
  const mark = `${kept}.hour`;
  if (kept !== undefined && existsSync(mark)) {
    await log.indexed?.();
    return Number(readFileSync(mark, "utf8"));
  }
  const until = Math.floor(Date.now() / HOUR_MS) + 1;
  const startedAt = performance.now();
  const rows = await fill(log, runs, until - 1);
  const filledAt = performance.now();
  await log.indexed?.();
  const [filling, summing] = [filledAt - startedAt, performance.now() - filledAt];
  console.log(
    `statistics, ${name}: ${runs} runs of ${DAYS} days are ${rows} rows, put in in ${ms(filling)}, then summed up in ${ms(summing)}`,
  );
  if (kept !== undefined) writeFileSync(mark, String(until));
  return until;
}

/** Puts in the hours of runs, each of which has one turn and two completions. Few owners and agents have most of them. */
async function fill(log: EventLog, runs: number, until: number): Promise<number> {
  const chance = createChance();
  const hours = DAYS * 24;
  let rows = 0;
  for (let hour = hours - 1; hour >= 0; hour -= 1) {
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
