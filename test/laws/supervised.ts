import { setTimeout as pause } from "node:timers/promises";
import { createRuntime, defineAgent, ended } from "troupe";
import type { Agent, EventLog, Runtime, Supervision } from "troupe";
import type { Event, EventOf, JsonObject } from "troupe/protocol";
import { z } from "zod";
import { toEncoded } from "../../src/protocol/events/texts.ts";
import { TestHost } from "../runtime/test-host.ts";
import type { CommitFault } from "../runtime/test-host.ts";

/** How a worker is given work: asked, called or told by its supervisor, or asked by a client while it is watched. */
const WAYS = ["ask", "call", "tell", "client"] as const;

/** Some work, and how often it fails before it succeeds. */
interface Work {
  readonly way: (typeof WAYS)[number];
  readonly fails: number;
}

/** A program: work under one supervision, one after the other; a stopped actor is resumed before the next. */
interface Program {
  readonly seed: number;
  readonly supervise: Supervision;
  readonly works: readonly Work[];
}

/** Where a program runs: under a clock of the test, or on a disk. */
interface Place {
  /** The runtime of now: it is another one after each death. */
  readonly runtime: Runtime;
  readonly log: EventLog;
  /** Waits until something holds, over the deaths that come; false if it never does. */
  settle(isOver: () => Promise<boolean>): Promise<boolean>;
  /** Starts again; the deaths that have not come yet come no more. */
  restart(): Promise<void>;
}

/** How long work takes, in milliseconds. */
const WORK_MS = 200;

/** How often each work was tried: a try is known by its key, so a turn that runs again after a crash counts once. */
class Tries {
  readonly #keys = new Map<string, string[]>();

  number(work: string, key: string): number {
    const keys = this.#keys.get(work) ?? [];
    this.#keys.set(work, keys);
    if (!keys.includes(key)) keys.push(key);
    return keys.indexOf(key) + 1;
  }

  of(work: string): number {
    return this.#keys.get(work)?.length ?? 0;
  }
}

const workInput = z.object({ work: z.string(), fails: z.number() });

function createAgents(supervise: Supervision, tries: Tries, workMs: number): readonly Agent[] {
  const worker = defineAgent({
    name: "worker",
    purpose: "Counts what it has done.",
    memorySchema: z.number().default(0),
    operations: (own) => ({
      work: own({
        input: workInput,
        async run({ work, fails }, turn): Promise<string> {
          turn.memory.set(turn.memory.get() + 1);
          const tried = await turn.effect("try", ({ callId }) => tries.number(work, callId), {
            effect: "idempotent",
          });
          await turn.sleep(workMs);
          if (tried <= fails) throw new Error(`try ${tried}`);
          return `try ${tried}`;
        },
      }),
      count: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    }),
  });
  const boss = defineAgent({
    name: "boss",
    purpose: "Has work done.",
    supervise,
    memorySchema: z.array(z.string()).default([]),
    operations: (own) => ({
      watch: own({ input: z.object({}), run: (_input, turn) => turn.watch(turn.actor(worker, "w")) }),
      give: own({
        input: workInput.extend({ way: z.enum(WAYS) }),
        async run({ way, ...work }, turn): Promise<string> {
          const to = turn.actor(worker, "w");
          try {
            if (way === "call") return await turn.call(worker, "work", work);
            if (way === "ask") return await turn.ask(to, "work", work);
            await turn.tell(to, "work", work);
            return "told";
          } catch (error) {
            return `caught ${(error as Error).message}`;
          }
        },
      }),
      ended: own({
        input: ended,
        run({ request_id: id, finish_reason: reason }, turn) {
          turn.memory.set([...turn.memory.get(), `${id} ${reason}`]);
        },
      }),
      seen: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    }),
  });
  return [worker, boss];
}

/** Runs a program to its end. Returns what is not as its strategy says. */
async function runProgram(
  place: Place,
  { supervise, works }: Program,
  tries: Tries,
): Promise<readonly string[]> {
  const faults: string[] = [];
  const { attempts = 1 } = supervise.restart ?? {};
  const settle = async (isOver: () => Promise<boolean>): Promise<void> => {
    if (!(await place.settle(isOver))) faults.push("it did not end");
  };
  const isEnded = async (id: string): Promise<boolean> =>
    (await place.log.lookup(id))?.completed !== undefined &&
    !(await hasOpen(place, "worker")) &&
    !(await hasOpen(place, "boss"));
  const send = async (
    agent: string,
    operation: string,
    input: JsonObject,
    id: string,
    key: string,
  ): Promise<void> => {
    const request = { type: "OperationRequest", operation, input, key, request_id: id } as const;
    // A process that dies loses what it has not accepted, so its client sends that again.
    await settle(async () => {
      if ((await place.log.lookup(id)) === undefined) place.runtime.process(agent, request).catch(() => {});
      return isEnded(id);
    });
  };
  await send("boss", "watch", {}, "watch", "b");
  let done = 0;
  for (const [at, { way, fails }] of works.entries()) {
    const id = `work-${at}`;
    const work = { work: id, fails };
    if (way === "client") await send("worker", "work", work, id, "w");
    else await send("boss", "give", { ...work, way }, id, "b");
    const succeeds = fails < attempts;
    const expected = succeeds ? fails + 1 : attempts;
    if (tries.of(id) !== expected) faults.push(`${id} was tried ${tries.of(id)} times, not ${expected}`);
    if (succeeds && way !== "call") done += 1;
    faults.push(...(await checkEnd(place, id, way, succeeds, supervise)));
    const worker = await place.runtime.find("worker", "w");
    const run = worker === undefined ? undefined : await place.runtime.run(worker);
    const isStopped = run?.last_turn?.stopped !== undefined;
    if (isStopped !== (!succeeds && way !== "call" && supervise.then === "stop"))
      faults.push(`after ${id} the worker is ${isStopped ? "" : "not "}stopped`);
    if (!isStopped || worker === undefined) continue;
    await settle(async () => {
      const isResumed = (await place.runtime.run(worker)).last_turn?.stopped === undefined;
      // Not awaited: a process that dies meanwhile does not answer.
      if (!isResumed) place.runtime.resume(worker).catch(() => {});
      return isResumed;
    });
  }
  await place.restart();
  const count = await read(place, "worker", "count", "w");
  if ((count ?? 0) !== done) faults.push(`the worker remembers ${JSON.stringify(count)} works, not ${done}`);
  faults.push(...(await checkNotices(place, supervise)));
  return faults;
}

async function hasOpen({ runtime, log }: Place, agent: string): Promise<boolean> {
  const { runs } = await runtime.runs({ agent, limit: 10 });
  const left = await log.outbox({});
  return runs.some(({ status, queued }) => status !== "idle" || queued > 0) || left.length > 0;
}

/** All events of a run, or of one request. */
async function eventsOf({ log }: Place, id: string): Promise<readonly Event[]> {
  const entry = await log.lookup(id);
  const { events } = await log.read(entry?.runId ?? id, { after: 0 });
  const all = toEncoded(events).map((text) => JSON.parse(text) as Event);
  return entry ? all.filter(({ request_id: of }) => of === id) : all;
}

/** Compares the end of a request with what the strategy says, also in the log of the worker. */
async function checkEnd(
  place: Place,
  id: string,
  way: Work["way"],
  succeeds: boolean,
  { then }: Supervision,
): Promise<readonly string[]> {
  const end = (await eventsOf(place, id)).at(-1) as EventOf<"RequestCompleted">;
  const isCaught = !succeeds && then === "stop" && (way === "ask" || way === "call");
  const isSuccess = succeeds || isCaught || way === "tell";
  const faults: string[] = [];
  if (end.finish_reason !== (isSuccess ? "success" : "error"))
    faults.push(`${id} ended with ${JSON.stringify(end)}`);
  const output = JSON.stringify(end.output);
  if (isCaught && !output.startsWith('"caught try ')) faults.push(`${id} got ${output}`);
  const worker = await place.runtime.find("worker", "w");
  if (way === "call" || worker === undefined) return faults;
  const events = await eventsOf(place, worker);
  const completed = events.filter((event) => event.type === "RequestCompleted").at(-1);
  const own = events.filter(({ request_id: of }) => of !== null && of === completed?.request_id);
  const restarts = own.filter(({ type }) => type === "RequestRestarted").length;
  const started = own.filter(({ type }) => type === "RequestStarted").length;
  const tried = own.filter((event) => event.type === "ToolCall" && (event.attempt ?? 1) === 1).length;
  if (started !== 1 || tried !== restarts + 1)
    faults.push(`${id} was started ${started} times, restarted ${restarts} times and tried ${tried} times`);
  return faults;
}

/** Each end of the worker is told once, in order; a failed one that escalates fails what tells it. */
async function checkNotices(place: Place, { then }: Supervision): Promise<readonly string[]> {
  const [worker, boss] = [await place.runtime.find("worker", "w"), await place.runtime.find("boss", "b")];
  if (worker === undefined || boss === undefined) return [];
  const ends = (await eventsOf(place, worker)).flatMap((event) =>
    event.type === "RequestCompleted" ? [`${event.request_id ?? ""} ${event.finish_reason}`] : [],
  );
  const told = (await eventsOf(place, boss)).flatMap((event) =>
    event.type === "RequestStarted" && event.operation === "ended" ? [event] : [],
  );
  const toText = ({ input }: Event & { readonly type: "RequestStarted" }): string => {
    const { request_id: id, finish_reason: reason } = input as {
      readonly request_id: string;
      readonly finish_reason: string;
    };
    return `${id} ${reason}`;
  };
  const faults: string[] = [];
  if (told.map(toText).join() !== ends.join())
    faults.push(`told ${told.map(toText).join()}, not ${ends.join()}`);
  const expected = then === "escalate" ? ends.filter((text) => text.endsWith(" success")) : ends;
  const seen = (await read(place, "boss", "seen", "b")) as readonly string[] | undefined;
  if ((seen ?? []).join() !== expected.join())
    faults.push(`seen ${(seen ?? []).join()}, not ${expected.join()}`);
  return faults;
}

async function read(place: Place, agent: string, operation: string, key: string): Promise<unknown> {
  const { event } = await place.runtime.process(agent, {
    type: "OperationRequest",
    operation,
    input: {},
    key,
  });
  return (JSON.parse(event ?? "{}") as { readonly output?: unknown }).output;
}

/** A program of random work. */
function createProgram(seed: number): Program {
  let state = seed * 2_654_435_761;
  const pick = (count: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
    return (state >>> 8) % count;
  };
  const attempts = 1 + pick(3);
  return {
    seed,
    supervise: {
      on: "error",
      ...(attempts > 1 && { restart: { attempts, backoffMs: [0, 300, 5_000][pick(3)] ?? 0 } }),
      then: pick(2) === 0 ? "escalate" : "stop",
    },
    works: Array.from({ length: 3 }, () => ({ way: WAYS[pick(WAYS.length)] ?? "ask", fails: pick(4) })),
  };
}

/** A process that dies at commits, under a clock of the test. */
class SimulatedPlace implements Place {
  readonly host: TestHost;
  readonly log: EventLog;

  constructor(agents: readonly Agent[], passive: boolean, commitFaults: readonly CommitFault[]) {
    this.host = new TestHost({ agents, commitFaults, limits: passive ? { idleRuns: 0 } : {} });
    this.log = this.host.log;
  }

  get runtime(): Runtime {
    return this.host.runtime;
  }

  async settle(isOver: () => Promise<boolean>): Promise<boolean> {
    const { host } = this;
    for (let left = 200; left > 0; left -= 1) {
      await host.environment.idle();
      if (host.crashed) await host.restart();
      else if (await isOver()) return true;
      else await host.environment.advance(250);
    }
    return false;
  }

  async restart(): Promise<void> {
    const { host } = this;
    await host.restart();
    while (host.crashed) await host.restart();
    await host.environment.advance(2_000);
  }
}

/** A log on a disk, whose process ends while it works, and begins again. */
class DiskPlace implements Place {
  log: EventLog;
  runtime: Runtime;
  readonly #open: () => EventLog;
  readonly #agents: readonly Agent[];
  /** The looks at what is done; every few of them the process ends. */
  #looks = 0;

  constructor(agents: readonly Agent[], open: () => EventLog) {
    this.#open = open;
    this.#agents = agents;
    this.log = open();
    this.runtime = createRuntime({ agents, log: this.log });
  }

  async settle(isOver: () => Promise<boolean>): Promise<boolean> {
    for (let left = 2_000; left > 0; left -= 1) {
      if (await isOver()) return true;
      this.#looks += 1;
      if (this.#looks % 8 === 0) await this.restart();
      else await pause(WORK_ON_DISK_MS / 2);
    }
    return false;
  }

  async restart(): Promise<void> {
    await this.runtime.close({ drainMs: 0 });
    this.log = this.#open();
    this.runtime = createRuntime({ agents: this.#agents, log: this.log });
    await this.runtime.ready();
  }
}

/** How long work on a disk takes, in milliseconds. */
const WORK_ON_DISK_MS = 20;

/** Random programs, each with a death at every `every`th commit, written or not. */
export async function runSupervised(
  programs: number,
  every: number,
): Promise<{ readonly faults: readonly string[]; readonly deaths: number }> {
  const faults: string[] = [];
  let deaths = 0;
  for (let seed = 1; seed <= programs; seed += 1) {
    const program = createProgram(seed);
    const run = async (commitFaults: readonly CommitFault[]): Promise<number> => {
      const tries = new Tries();
      const agents = createAgents(program.supervise, tries, WORK_MS);
      const place = new SimulatedPlace(agents, seed % 2 === 0, commitFaults);
      const found = await runProgram(place, program, tries);
      faults.push(...found.map((fault) => `${JSON.stringify({ ...program, commitFaults })}: ${fault}`));
      deaths += commitFaults.length;
      return place.host.commits;
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

/** Random programs on a log on disk, whose process ends again and again. */
export async function runSupervisedOnDisk(
  open: (seed: number) => EventLog,
  programs: number,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (let seed = 101; seed <= 100 + programs; seed += 1) {
    const { restart, ...supervise } = createProgram(seed).supervise;
    const program: Program = {
      ...createProgram(seed),
      supervise: { ...supervise, ...(restart && { restart: { ...restart, backoffMs: seed % 30 } }) },
    };
    const tries = new Tries();
    const place = new DiskPlace(createAgents(program.supervise, tries, WORK_ON_DISK_MS), () => open(seed));
    const found = await runProgram(place, program, tries);
    await place.runtime.close();
    faults.push(...found.map((fault) => `${JSON.stringify(program)}: ${fault}`));
  }
  return faults;
}
