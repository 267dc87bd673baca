import { setTimeout as pause } from "node:timers/promises";
import { createRuntime } from "troupe";
import type { CreateRuntimeOptions, EventLog, Runtime } from "troupe";
import { countEvents } from "../../src/protocol/events/texts.ts";
import { agents } from "./lives.ts";
import type { Life } from "./lives.ts";

/** What a message costs an actor as it gets older, and what it holds of memory. */
export interface Aging {
  /** In microseconds of CPU at the end of the life. */
  readonly us: number;
  /** How many times that of a young actor at the same moment it is, at the start of the life and at its end. */
  readonly start: number;
  readonly end: number;
  /** The heap after a garbage collection, in bytes. */
  readonly heapStart: number;
  readonly heapEnd: number;
}

/** The first ask of an actor after a restart. */
export interface FirstAsk {
  /** Milliseconds of CPU: the least of some restarts, because other work on the machine makes it dearer. */
  readonly ms: number;
  /** The most events and records that the runtime has read for it. */
  readonly read: number;
}

/** How many times a life is looked at. */
const SAMPLES = 48;

const RESTARTS = 5;

/** The key of the actor that grows old. */
const OLD = "old";

function startLife(log: EventLog, options: Partial<CreateRuntimeOptions> = {}): Runtime {
  return createRuntime({ limits: { ownSteps: 1_000_000 }, ...options, agents, log });
}

/**
 * Has an actor grow old. After each part of its life a new actor gets a few messages, because what a message costs depends
 * most of all on what else the machine does.
 */
export async function age(life: Life, log: EventLog, messages: number): Promise<Aging> {
  const runtime = startLife(log);
  const part = Math.max(1, Math.floor(messages / SAMPLES));
  const few = Math.max(20, Math.floor(part / 8));
  const samples: { readonly us: number; readonly times: number; readonly heap: number }[] = [];
  let before = cpuMs();
  await life.live(runtime, OLD, {
    from: 0,
    to: messages,
    each: async (reached) => {
      if (reached % part !== 0) return;
      const old = (cpuMs() - before) / part;
      const begun = cpuMs();
      await life.live(runtime, `young-${samples.length}`, { from: 0, to: few });
      const young = (cpuMs() - begun) / few;
      globalThis.gc?.();
      samples.push({ us: old * 1_000, times: old / young, heap: process.memoryUsage().heapUsed });
      before = cpuMs();
    },
  });
  await runtime.close();
  // The first ones warm the process up.
  const first = samples.slice(2, samples.length / 3);
  const last = samples.slice((-samples.length * 2) / 7);
  return {
    us: Math.round(median(last.map(({ us }) => us))),
    start: median(first.map(({ times }) => times)),
    end: median(last.map(({ times }) => times)),
    heapStart: median(first.map(({ heap }) => heap)),
    heapEnd: median(last.map(({ heap }) => heap)),
  };
}

/** What the first ask of an old actor takes in processes that have worked with young ones before, so that its code is warm. */
export async function askFirst(life: Life, open: () => EventLog): Promise<FirstAsk> {
  let [ms, read] = [Infinity, 0];
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    const log = counted(open());
    const runtime = startLife(log);
    await runtime.ready();
    for (const key of [`warm-${restart}`, `warmer-${restart}`]) {
      await life.live(runtime, key, { from: 0, to: 3 });
      await life.ask(runtime, key);
    }
    await quiet();
    globalThis.gc?.();
    const [readBefore, before] = [log.entries(), cpuMs()];
    await life.ask(runtime, OLD);
    ms = Math.min(ms, cpuMs() - before);
    read = Math.max(read, log.entries() - readBefore);
    await runtime.close();
  }
  return { ms, read };
}

/**
 * The most events and records that an activation reads: in the first and in the last third of a life with restarts in between, whose
 * places follow no rule of the log.
 */
export async function readToActivate(
  life: Life,
  memory: EventLog & { reopen(): EventLog },
  messages: number,
): Promise<readonly [young: number, old: number]> {
  const reads: number[] = [];
  for (let from = 0; from < messages; from += BETWEEN_RESTARTS) {
    const log = counted(memory.reopen());
    const runtime = startLife(log);
    await runtime.ready();
    if (from > 0) await life.ask(runtime, OLD);
    reads.push(log.entries());
    await life.live(runtime, OLD, { from, to: from + BETWEEN_RESTARTS });
    await runtime.close();
  }
  const third = Math.floor(reads.length / 3);
  return [Math.max(...reads.slice(0, third)), Math.max(...reads.slice(-third))];
}

const BETWEEN_RESTARTS = 37;

/** What the run of an actor takes as the actor gets older, in bytes. */
export interface Weight {
  /** The most in the first third of its life. */
  readonly young: number;
  /** The least in the last third: what retention leaves when it has just looked. */
  readonly old: number;
  /** What the log has at the end besides the run, for each message: that a request has been, for example. */
  readonly besides: number;
}

/** Weighs the run of an actor as it gets older. With `retainMs` and a clock that goes on in `passes`, retention removes what is not needed. */
export async function weigh(
  life: Life,
  options: Pick<CreateRuntimeOptions, "environment" | "retainMs"> & { readonly log: EventLog },
  messages: number,
  passes: () => Promise<void> = async () => {},
): Promise<Weight> {
  const { log } = options;
  const runtime = startLife(log, options);
  const sizes: number[] = [];
  await life.live(runtime, OLD, {
    from: 0,
    to: messages,
    each: async (reached) => {
      if (reached % BETWEEN_LOOKS !== 0) return;
      await passes();
      sizes.push(await log.size(await runtime.find(life.agent, OLD)));
    },
  });
  const besides = Math.round(((await log.size()) - (sizes.at(-1) ?? 0)) / messages);
  await runtime.close();
  const third = Math.floor(sizes.length / 3);
  return { young: Math.max(...sizes.slice(0, third)), old: Math.min(...sizes.slice(-third)), besides };
}

const BETWEEN_LOOKS = 50;

/** A log that counts the events and records that are read from it. */
function counted(log: EventLog): EventLog & { readonly entries: () => number } {
  let entries = 0;
  return {
    ...log,
    entries: () => entries,
    async read(runId, options) {
      const page = await log.read(runId, options);
      entries += countEvents(page.events) + page.records.length;
      return page;
    },
  };
}

/** Resolves when the process has done nothing for a moment: a log checks itself after it was opened. */
async function quiet(): Promise<void> {
  for (let before = cpuMs(), isBusy = true; isBusy; before = cpuMs()) {
    await pause(200);
    isBusy = cpuMs() - before > 10;
  }
}

/** Milliseconds of CPU that this process has used. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function median(samples: readonly number[]): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? 0;
}
