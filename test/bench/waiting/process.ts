// One measurement in a process of its own; prints a line of JSON. Its arguments: what, a directory, a number.
import type { Runtime } from "troupe";
import type { RunId } from "troupe/protocol";
import { beginTurns, memory, start } from "./setting.ts";

const [, , what = "", directory = "", number = "0", idleRuns] = process.argv;
const count = Number(number);
const limits = idleRuns === undefined ? {} : { idleRuns: Number(idleRuns) };
const RUNS = 10_000;
const startedAt = performance.now();

switch (what) {
  case "wait":
    await wait();
    break;
  case "resume":
    await resume();
    break;
  case "sleep":
    await sleep();
    break;
  case "fill":
    await fill();
    break;
  case "recover":
    await recover();
    break;
  default:
    throw new Error(`unknown measurement ${what}`);
}

/** Begins turns that wait, and says what they hold. */
async function wait(): Promise<void> {
  const runtime = start(directory, limits);
  const before = await memory();
  await beginTurns(runtime, { agent: "asker", input: "?", count });
  const { activeRuns } = runtime.health();
  print({ before, after: await memory(), activeRuns, beganInS: seconds() });
  process.exit();
}

/** Starts on a directory full of waiting runs, and answers some of them, one after the other. */
async function resume(): Promise<void> {
  const runtime = start(directory, limits);
  await runtime.ready();
  const readyMs = Math.round(performance.now() - startedAt);
  const before = await memory();
  const runs = await listWaiting(runtime);
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const runId = runs[Math.floor((index * runs.length) / count)];
    if (runId === undefined) break;
    const from = performance.now();
    await runtime.process("asker", {
      type: "ResumeWithInput",
      run_id: runId,
      request_keys: { answer: "Go on." },
    });
    times.push(performance.now() - from);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number =>
    Number((times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(2));
  const resumeMs = { p50: at(0.5), p99: at(0.99), max: at(1) };
  print({ waiting: runs.length, readyMs, resumeMs, before, after: await memory() });
  process.exit();
}

async function listWaiting(runtime: Runtime): Promise<RunId[]> {
  const found: RunId[] = [];
  for (let cursor: string | undefined, more = true; more;) {
    const page = await runtime.runs({
      status: "waiting",
      limit: 1_000,
      ...(cursor !== undefined && { cursor }),
    });
    found.push(...page.runs.map(({ run_id }) => run_id));
    cursor = page.next;
    more = cursor !== undefined;
  }
  return found;
}

/** Begins turns that sleep, and says what they hold. */
async function sleep(): Promise<void> {
  const runtime = start(directory, limits);
  const before = await memory();
  await beginTurns(runtime, { agent: "sleeper", input: "sleep", count });
  print({ before, after: await memory(), activeTurns: runtime.health().activeTurns });
  process.exit();
}

/** Fills a log with runs of a hundred events each, so many of which are left in the middle of their turn. */
async function fill(): Promise<void> {
  const runtime = start(directory, { ...limits, idleRuns: 100 });
  await beginTurns(runtime, { agent: "speaker", input: "end", count: RUNS - count });
  await beginTurns(runtime, { agent: "speaker", input: "stay", count });
  print({ runs: RUNS, open: count, filledInS: seconds() });
  process.kill(process.pid, "SIGKILL");
}

/** Starts on that log, and says when it is ready. */
async function recover(): Promise<void> {
  const runtime = start(directory, limits);
  await runtime.ready();
  const readyMs = Math.round(performance.now() - startedAt);
  const { user, system } = process.cpuUsage();
  const threadMs = Math.round((process.threadCpuUsage().user + process.threadCpuUsage().system) / 1000);
  print({
    readyMs,
    threadMs,
    cpuMs: Math.round((user + system) / 1000),
    activeTurns: runtime.health().activeTurns,
    after: await memory(),
  });
  process.exit();
}

function seconds(): number {
  return Math.round((performance.now() - startedAt) / 1000);
}

function print(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
