import { defineAgent } from "troupe";
import type { Agent, JsonObject, Operation, Runtime } from "troupe";
import { z } from "zod";
import { createRandom } from "../../src/testing/event-log/random.ts";
import { TestHost } from "../runtime/test-host.ts";
import type { CommitFault } from "../runtime/test-host.ts";

/** When a schedule is due. */
type Times = { readonly everyMs: number } | { readonly cron: string };

/** A change of a schedule, by a client or by an actor; some time passes before it. */
interface Step {
  readonly afterMs: number;
  readonly key: string;
  readonly id: string;
  readonly change: "make" | "remove" | "pause" | "resume";
  readonly times: Times;
  readonly byActor: boolean;
}

const KEYS = ["a", "b"] as const;
const IDS = ["one", "two"] as const;
const MINUTE_MS = 60_000;

/**
 * What deaths and the pauses after them shift is a multiple of this. The times of a schedule that step n has made are 7 n ms beside its
 * multiples, so none is that of another step.
 */
const GRID_MS = 50;

/** Less than the time between two times of a schedule: of those that it misses, a process makes up for the newest. */
const PART_MS = GRID_MS * 80;

const TIMES: readonly Times[] = [
  { everyMs: 5_000 },
  { everyMs: 13_000 },
  { everyMs: 45_000 },
  { cron: "* * * * *" },
  { cron: "*/3 * * * *" },
];

const bell: Agent<{ readonly ring: Operation<{ readonly id: string }, void> }> = defineAgent({
  name: "bell",
  purpose: "Notes for which time of which schedule it rings.",
  memorySchema: z.array(z.string()).default([]),
  operations: (own) => ({
    ring: own({
      input: z.object({ id: z.string() }),
      run({ id }, turn): void {
        const at = Date.parse(turn.metadata["scheduled_at"] as string);
        turn.memory.set([...turn.memory.get(), `${id} ${at}`]);
      },
    }),
    rung: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
  }),
});

const keeper = defineAgent({
  name: "keeper",
  purpose: "Makes and removes the schedules of bells.",
  operations: (own) => ({
    make: own({
      input: z.object({
        key: z.string(),
        id: z.string(),
        everyMs: z.number().optional(),
        cron: z.string().optional(),
      }),
      async run({ key, id, everyMs, cron = "" }, turn) {
        const when = everyMs === undefined ? { cron } : { everyMs };
        await turn.schedule(turn.actor(bell, key), "ring", { id }, { id, ...when, overlap: "queue" });
      },
    }),
    remove: own({
      input: z.object({ key: z.string(), id: z.string() }),
      run: ({ key, id }, turn) => turn.unschedule(id, turn.actor(bell, key)),
    }),
  }),
});

/** A program of random changes. */
function createSteps(seed: number): readonly Step[] {
  const random = createRandom(seed + 41);
  const anyOf = <Item>(items: readonly Item[]): Item => items[random.below(items.length)] as Item;
  let paused: Pick<Step, "key" | "id"> | undefined;
  return Array.from({ length: 12 }, () => {
    // What was paused is mostly what is resumed.
    const change = anyOf(["make", "make", "make", "remove", "pause", paused ? "resume" : "make"] as const);
    const place = { key: anyOf(KEYS), id: anyOf(IDS), ...(change === "resume" && paused) };
    if (change === "pause") paused = place;
    return {
      afterMs: random.below(1_500) * GRID_MS,
      ...place,
      change,
      times: anyOf(TIMES),
      byActor: (change === "make" || change === "remove") && random.below(2) === 0,
    };
  });
}

/** A schedule from when it was made or resumed until it is changed; at times while a change is made it may ring or not. */
interface Life {
  readonly key: string;
  readonly id: string;
  readonly times: Times;
  readonly from: readonly [since: number, surely: number];
  /** The first time of one that rings every so many milliseconds. */
  readonly first: number;
  isPaused: boolean;
  until: readonly [surely: number, atMost: number];
}

/** A host that makes the changes of a program, and knows when each bell must ring. */
class Bells {
  readonly host: TestHost;
  readonly faults: string[] = [];
  readonly #lives: Life[] = [];

  constructor(commitFaults: readonly CommitFault[], isPassive: boolean) {
    this.host = new TestHost({
      agents: [bell, keeper],
      commitFaults,
      limits: isPassive ? { idleRuns: 0 } : {},
    });
  }

  get now(): number {
    return this.host.environment.now();
  }

  /** Lets time pass in parts: a process that has died is followed by the next before two times of a schedule have passed. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= PART_MS) {
      await this.host.environment.advance(Math.min(left, PART_MS));
      while (this.host.crashed) await this.host.restart();
    }
  }

  async take(at: number, { afterMs, key, id, change, times, byActor }: Step): Promise<void> {
    await this.pass(afterMs);
    await this.host.environment.advance(7);
    while (this.host.crashed) await this.host.restart();
    const before = this.now;
    const old = this.#lives.find((life) => life.key === key && life.id === id && life.until[0] === Infinity);
    if (change === "make" ? false : old === undefined) return;
    if (byActor) await this.#actorMakes(at, change, { key, id, ...times });
    else await this.#until(async (runtime) => this.#clientMakes(runtime, change, key, id, times));
    const { now } = this;
    if (old && !(change === "resume" && !old.isPaused) && !(change === "pause" && old.isPaused))
      old.until = [before, now];
    else if (old) return;
    if (change === "remove") return;
    const isPaused = change === "pause";
    const of = change === "make" || old === undefined ? times : old.times;
    const listed = await this.#listed(key, id);
    const next = Date.parse(listed?.next_at ?? "");
    if (listed === undefined || listed.paused !== isPaused) this.faults.push(`${key} ${id} is not there`);
    const since = "everyMs" in of ? next - of.everyMs : before;
    if (!isPaused && (since < before || since > now))
      this.faults.push(`${key} ${id} rings first at ${next}, though it was made at ${before}`);
    this.#lives.push({
      key,
      id,
      times: of,
      from: [since, now],
      first: next,
      isPaused,
      until: [Infinity, Infinity],
    });
  }

  /** Compares what has rung with what must have. */
  async check(): Promise<readonly string[]> {
    await this.host.restart();
    while (this.host.crashed) await this.host.restart();
    // The last times are those before now, and what they start ends.
    const end = this.now;
    for (const life of this.#lives) if (life.until[0] === Infinity) life.until = [end, end + MINUTE_MS];
    await this.pass(MINUTE_MS);
    for (const key of KEYS) {
      const rung = await this.host.runtime.actor(bell, key).ask("rung" as never, {} as never);
      const found: readonly string[] = rung ?? [];
      if (new Set(found).size !== found.length) this.faults.push(`${key} has rung twice: ${found.join()}`);
      const surely = new Set<string>();
      const perhaps = new Set<string>();
      for (const life of this.#lives) {
        if (life.key !== key || life.isPaused) continue;
        for (const at of timesOf(life)) {
          const isSure = at > life.from[1] && at <= life.until[0];
          (isSure ? surely : perhaps).add(`${life.id} ${at}`);
        }
      }
      for (const each of surely) if (!found.includes(each)) this.faults.push(`${key} has not rung: ${each}`);
      for (const each of found)
        if (!surely.has(each) && !perhaps.has(each)) this.faults.push(`${key} has rung: ${each}`);
    }
    return [...this.faults, ...this.host.faults.filter((fault) => !TOLD.test(fault))];
  }

  async #actorMakes(at: number, change: string, given: JsonObject): Promise<void> {
    const id = `step-${at}`;
    const isDone = async (): Promise<boolean> =>
      (await this.host.log.lookup(id))?.completed !== undefined &&
      (await this.host.log.outbox({})).length === 0;
    for (let left = 400; left > 0; left -= 1) {
      await this.host.environment.idle();
      if (this.host.crashed) await this.host.restart();
      else if (await isDone()) return;
      else if ((await this.host.log.lookup(id)) === undefined) {
        const request = {
          type: "OperationRequest",
          operation: change,
          input: given,
          request_id: id,
        } as const;
        this.host.runtime.process("keeper", request).catch(() => {});
      } else await this.host.environment.advance(GRID_MS);
    }
    this.faults.push(`${id} did not end`);
  }

  /** Does something again until the process does not die meanwhile. */
  async #until(does: (runtime: Runtime) => Promise<unknown>): Promise<void> {
    for (;;) {
      const { host } = this;
      let isDone = false;
      does(host.runtime).then(
        () => {
          isDone = true;
        },
        (error: unknown) => {
          if (!host.crashed) this.faults.push(String(error));
          isDone = true;
        },
      );
      await host.environment.idle();
      if (isDone && !host.crashed) return;
      if (host.crashed) await host.restart();
    }
  }

  async #clientMakes(
    { schedules, ...runtime }: Pick<Runtime, "schedules" | "find">,
    change: Step["change"],
    key: string,
    id: string,
    times: Times,
  ): Promise<unknown> {
    if (change === "make") {
      const when = "cron" in times ? { cron: times.cron } : { every_ms: times.everyMs };
      return schedules.make("bell", { key, id, operation: "ring", input: { id }, overlap: "queue", ...when });
    }
    return schedules[change]((await runtime.find("bell", key)) ?? "", id);
  }

  async #listed(key: string, id: string) {
    const { schedules } = await this.host.runtime.schedules.list({ agent: "bell", limit: 100 });
    return schedules.find((each) => each.key === key && each.id === id);
  }
}

/** The times of a schedule in its life. */
function timesOf({ times, from: [since], first, until: [, end] }: Life): readonly number[] {
  const all: number[] = [];
  if ("everyMs" in times) for (let at = first; at <= end; at += times.everyMs) all.push(at);
  else {
    const everyMs = times.cron === "* * * * *" ? MINUTE_MS : 3 * MINUTE_MS;
    for (let at = Math.floor(since / everyMs + 1) * everyMs; at <= end; at += everyMs) all.push(at);
  }
  return all;
}

/** Random programs, each with a death at every `every`th commit, written or not. */
export async function runSchedules(
  programs: number,
  every: number,
): Promise<{ readonly faults: readonly string[]; readonly deaths: number }> {
  const faults: string[] = [];
  let deaths = 0;
  for (let seed = 1; seed <= programs; seed += 1) {
    const steps = createSteps(seed);
    const run = async (commitFaults: readonly CommitFault[]): Promise<number> => {
      const bells = new Bells(commitFaults, seed % 2 === 0);
      await bells.host.runtime.ready();
      for (const [at, step] of steps.entries()) await bells.take(at, step);
      await bells.pass(2 * MINUTE_MS);
      const found = await bells.check();
      faults.push(...found.map((fault) => `${JSON.stringify({ seed, commitFaults })}: ${fault}`));
      deaths += commitFaults.length;
      return bells.host.commits;
    };
    const commits = await run([]);
    for (let commit = 1 + (seed % every); commit <= commits; commit += every)
      for (const written of [false, true]) {
        const first = { commit, kind: "crash", written } as const;
        // Every other process dies again soon after.
        const again = { commit: commit + 2, kind: "crash", written: !written } as const;
        await run(commit % 2 === 1 ? [first] : [first, again]);
      }
  }
  return { faults, deaths };
}

/** What a process says of turns whose process has died twice at the same place, which is so in every other program. */
const TOLD = /^the process of \d+ turns died 2 times or more in succession/;
