import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { atMost, megabytes, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";
import { median, percentile } from "../harness/statistics.ts";

/** Clients that fill the server. */
const CLIENTS = 32;
/** Requests of a round; the median of the rounds counts, because other work on the machine delays some requests. */
const REQUESTS = 100;
const ROUNDS = 5;
const EVENTS = 100_000;
const FILE_BYTES = 32 * 1_048_576;
/** The first uploads pay for the compiler and for the heap, which grows once. */
const WARM_UPS = 24;
const UPLOADS = 5;

/** The times of the classic Agent Protocol with many tasks and with a long one, and the memory of an upload. */
export async function measureTasks({ lateRun: count }: Setup): Promise<Result[]> {
  const server = fork(join(import.meta.dirname, "server.ts"));
  const { url } = (await reportOf(server)) as { readonly url: string };
  try {
    const upload = await measureUpload(server, `${url}/quick${TASKS}`);
    return [...(await measureMany(`${url}/quick${TASKS}`, count)), ...(await measureLong(url)), upload];
  } finally {
    server.disconnect();
  }
}

const TASKS = "/ap/v1/agent/tasks";

async function measureMany(api: string, count: number): Promise<Result[]> {
  let left = count;
  const ids: string[] = [];
  const fill = async (): Promise<void> => {
    for (; left > 0; left -= 1) {
      const id = await createTask(api, "hello");
      await timeOf(`${api}/${id}/steps`, "POST");
      ids.push(id);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, fill));
  const pages = { first: 1, middle: Math.floor(count / 20), last: Math.floor(count / 10) };
  const results: Result[] = [];
  for (const [name, page] of Object.entries(pages)) {
    const times = await measureTimes(() => `${api}?current_page=${page}`);
    results.push(timesWithin(`list of ${count} tasks, ${name} page of 10`, times, 50));
  }
  const times = await measureTimes((index) => `${api}/${ids[(index * 7_919) % ids.length]}`);
  return [...results, timesWithin(`get of one of ${count} tasks`, times, 50)];
}

async function measureLong(url: string): Promise<Result[]> {
  const api = `${url}/talker${TASKS}`;
  const id = await createTask(api, String(EVENTS));
  // Over the native protocol, so that the adapter has read nothing of the turn before.
  const request = { type: "ChatRequest", input: String(EVENTS), run_id: id };
  await post(`${url}/talker/process?wait=completed`, request);
  const first = await timeOf(`${api}/${id}`);
  const later = await measureTimes(() => `${api}/${id}`);
  return [
    atMost(`get of a task with ${EVENTS} events, first`, first, 500, ms),
    timesWithin(`get of a task with ${EVENTS} events, later`, later, 20),
  ];
}

async function measureUpload(server: ChildProcess, api: string): Promise<Result> {
  const id = await createTask(api, "hello");
  const bytes = new Blob([new Uint8Array(FILE_BYTES)]);
  const upload = async (): Promise<void> => {
    const body = new FormData();
    body.set("file", bytes, "zeros.bin");
    const answer = await fetch(`${api}/${id}/artifacts`, { method: "POST", body });
    if (answer.status !== 200) throw new Error(`an upload was answered ${answer.status}`);
    await answer.text();
  };
  for (let index = 0; index < WARM_UPS; index += 1) await upload();
  server.send("begin");
  await reportOf(server);
  for (let index = 0; index < UPLOADS; index += 1) await upload();
  server.send("end");
  const { bytes: grown } = (await reportOf(server)) as { readonly bytes: number };
  return atMost("growth of memory during uploads of 32 MiB, warm", grown / 1_048_576, 8, megabytes);
}

async function createTask(api: string, input: string): Promise<string> {
  return ((await post(api, { input })) as { readonly task_id: string }).task_id;
}

async function post(url: string, body: object): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return answer.json();
}

interface Times {
  readonly p50: number;
  readonly p99: number;
}

/** The times of requests one after the other: the median of some rounds. */
async function measureTimes(urlOf: (index: number) => string): Promise<Times> {
  const rounds: Times[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const times: number[] = [];
    for (let index = 0; index < REQUESTS; index += 1)
      times.push(await timeOf(urlOf(round * REQUESTS + index)));
    rounds.push({ p50: median(times), p99: percentile(times, 0.99) });
  }
  return { p50: median(rounds.map(({ p50 }) => p50)), p99: median(rounds.map(({ p99 }) => p99)) };
}

function timesWithin(what: string, { p50, p99 }: Times, limitMs: number): Result {
  const measured = `${ms(p50)}, ${ms(p99)}`;
  return { what: `${what}, p50, p99`, measured, limit: `p99 ≤ ${ms(limitMs)}`, met: p99 <= limitMs };
}

async function timeOf(url: string, method = "GET"): Promise<number> {
  const start = performance.now();
  const answer = await fetch(url, { method });
  await answer.text();
  if (answer.status !== 200) throw new Error(`${method} ${url} was answered ${answer.status}`);
  return performance.now() - start;
}

async function reportOf(server: ChildProcess): Promise<unknown> {
  const [report] = (await once(server, "message")) as [unknown];
  return report;
}
