// One measurement in its own process; prints a line of JSON. Its arguments: the measurement, a directory, a
// number.
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { RunId } from "troupe/protocol";
import { beginAsks, beginTurns, memory, start } from "./runs.ts";

const [, , what = "", directory = "", number = "0"] = process.argv;
const [name, detail = "0"] = what.split(" ");
const count = Number(number);
const startedAt = performance.now();
/** A process is idle if it uses at most so much CPU time in half a second, in microseconds. */
const IDLE_US = 25_000;
const RUNS_FILE = `${directory}.runs.json`;

switch (name) {
  case "wait":
    await begin({ agent: "asker", input: "?", count });
    break;
  case "sleep":
    await begin({ agent: "sleeper", input: "sleep", count });
    break;
  case "ask":
    await ask();
    break;
  case "resume":
    await resume();
    break;
  case "fill":
    await fill(Number(detail));
    break;
  case "recover":
    await recover();
    break;
  default:
    throw new Error(`unknown measurement ${what}`);
}

/** Starts turns, and exits when all of them wait or sleep and are committed. */
async function begin(turns: Parameters<typeof beginTurns>[1]): Promise<void> {
  const runtime = start(directory);
  // Stored, so that the measurement of answers need not read the list of runs.
  writeFileSync(RUNS_FILE, JSON.stringify(await beginTurns(runtime, turns)));
  print({ ...(await memory()), beganInMs: since(startedAt) });
  await runtime.close();
}

/** Starts actors that ask others, and exits when all of them rest. */
async function ask(): Promise<void> {
  const runtime = start(directory, { idleRuns: 100 });
  await beginAsks(runtime, count);
  print({ ...(await memory()), beganInMs: since(startedAt) });
  await runtime.close();
}

/** Starts on a directory full of waiting runs, and answers some of them, one after the other. */
async function resume(): Promise<void> {
  const runtime = start(directory);
  await runtime.ready();
  const readyMs = since(startedAt);
  const before = await memory();
  const times: number[] = [];
  for (const runId of pickWaiting()) {
    const from = performance.now();
    await runtime.process("asker", {
      type: "ResumeWithInput",
      run_id: runId,
      request_keys: { answer: "Go on." },
    });
    times.push(performance.now() - from);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? Number.NaN;
  const resumeMs = { p50: at(0.5), p99: at(0.99), max: at(1) };
  print({ readyMs, resumeMs, before, after: await memory() });
  process.exit();
}

/** Selects the waiting runs to answer, spread over the log. */
function pickWaiting(): RunId[] {
  const found = JSON.parse(readFileSync(RUNS_FILE, "utf8")) as RunId[];
  const every = Math.max(Math.floor(found.length / count), 1);
  return found.filter((_, index) => index % every === 0).slice(0, count);
}

/** Fills a log with runs, some of them in the middle of their turn. */
async function fill(runs: number): Promise<void> {
  const runtime = start(directory, { idleRuns: 100 });
  await beginTurns(runtime, { agent: "speaker", input: "end", count: runs - count });
  await beginTurns(runtime, { agent: "speaker", input: "stay", count });
  print({ runs, open: count, filledInMs: since(startedAt) });
  process.kill(process.pid, "SIGKILL");
}

/** Starts on that log and reports when it is ready. */
async function recover(): Promise<void> {
  const runtime = start(directory);
  await runtime.ready();
  const readyMs = since(startedAt);
  const { user, system } = process.cpuUsage();
  const cpuMs = (user + system) / 1_000;
  await untilIdle();
  const after = await memory();
  print({
    readyMs,
    cpuMs,
    activeTurns: runtime.health().activeTurns,
    loaded: runtime.actors().length,
    after,
  });
  process.exit();
}

/** Waits until the process is idle: it also works after it is ready. */
async function untilIdle(): Promise<void> {
  for (let used = Infinity; used > IDLE_US;) {
    const before = process.cpuUsage();
    await setTimeout(500);
    const { user, system } = process.cpuUsage(before);
    used = user + system;
  }
}

function since(from: number): number {
  return Math.round(performance.now() - from);
}

function print(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
