import { createRuntime, defineAgent, topic } from "troupe";
import type { Agent, EventLog, JsonObject, Runtime } from "troupe";
import type { Request } from "troupe/protocol";
import { z } from "zod";
import { createRandom } from "../../src/testing/event-log/random.ts";
import { TestHost } from "../runtime/test-host.ts";
import type { CommitFault } from "../runtime/test-host.ts";
import { toPicker } from "./program.ts";

/** What a client has happen, one after the other; everything arrives before the next one. */
type Step =
  | { readonly type: "follow" | "leave"; readonly worker: string }
  | { readonly type: "publish"; readonly values: readonly number[] }
  /** Works wait while the worker is busy, in the order in which they are told. */
  | { readonly type: "burst"; readonly worker: string; readonly works: readonly Work[] }
  /** Sends the dead letters again, which fail again. */
  | { readonly type: "again" };

interface Work {
  readonly name: "low" | "high" | "paint" | "boom";
  readonly n: number;
  /** What is painted: of several that wait, only the newest is. */
  readonly subject?: string;
}

/** Where a program runs. */
interface Place {
  readonly runtime: Runtime;
  /** Makes a request with an id until it is in the log, and resolves when everything has arrived and ended. */
  send(agent: string, request: Request): Promise<void>;
  /** Sends a request that is open until something else comes. */
  begin(agent: string, request: Request): Promise<void>;
  restart(): Promise<void>;
}

const numbers = topic("numbers", { messages: { said: z.object({ n: z.number() }) } });

const work = z.object({ n: z.number(), subject: z.string().optional() });

const worker = defineAgent({
  name: "worker",
  purpose: "Notes what it does, in its order.",
  memorySchema: z.array(z.string()).default([]),
  messages: { go: z.null() },
  mailbox: {
    coalesce: (input, operation) =>
      operation === "paint" ? (input as { readonly subject?: string }).subject : undefined,
  },
  operations: (own) => {
    const noting = (name: string, priority: number) =>
      own({
        input: work,
        priority,
        run: ({ n }, turn) => turn.memory.set([...turn.memory.get(), `${name} ${n}`]),
      });
    return {
      follow: own({ input: z.object({}), run: (_input, turn) => turn.subscribe(numbers, "said") }),
      leave: own({ input: z.object({}), run: (_input, turn) => turn.unsubscribe(numbers) }),
      hold: own({ input: z.object({}), run: (_input, turn) => turn.receive("go") }),
      said: noting("said", 0),
      low: noting("low", 0),
      high: noting("high", 5),
      paint: noting("paint", 0),
      boom: own({
        input: work,
        run({ n }): void {
          throw new Error(`boom ${n}`);
        },
      }),
      seen: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    };
  },
});

const boss = defineAgent({
  name: "boss",
  purpose: "Tells workers what to do, and everyone what it says.",
  operations: (own) => ({
    give: own({
      input: z.object({
        to: z.string(),
        works: z.array(work.extend({ name: z.enum(["low", "high", "paint", "boom"]) })),
      }),
      async run({ to, works }, turn) {
        const address = turn.actor(worker, to);
        await Promise.all(works.map(({ name, ...input }) => turn.tell(address, name, input)));
      },
    }),
    say: own({
      input: z.object({ values: z.array(z.number()) }),
      async run({ values }, turn) {
        await Promise.all(values.map((n) => turn.publish(numbers, "said", { n })));
      },
    }),
  }),
});

const AGENTS: readonly Agent[] = [worker, boss];
const WORKERS = ["a", "b", "c"] as const;

/** A program of random steps. */
function createSteps(seed: number): readonly Step[] {
  const random = createRandom(seed + 29);
  const pick = toPicker(random);
  let n = 0;
  const next = (): number => (n += 1);
  const anyOf = <Item>(items: readonly Item[]): Item => items[random.below(items.length)] as Item;
  const works = (): readonly Work[] =>
    Array.from({ length: 1 + random.below(6) }, (): Work => {
      const name = anyOf(["low", "high", "paint", "paint", "boom"] as const);
      return { name, n: next(), ...(name === "paint" && { subject: anyOf(["cat", "dog"]) }) };
    });
  return Array.from({ length: 7 }, (_, at): Step => {
    if (at === 0 || pick.chance(20)) return { type: "follow", worker: anyOf(WORKERS) };
    if (pick.chance(10)) return { type: "leave", worker: anyOf(WORKERS) };
    if (pick.chance(10)) return { type: "again" };
    if (pick.chance(45)) return { type: "burst", worker: anyOf(WORKERS), works: works() };
    return { type: "publish", values: Array.from({ length: 1 + random.below(3) }, next) };
  });
}

/** What each worker must have noted, and how many dead letters there must be. */
interface Expected {
  readonly seen: ReadonlyMap<string, readonly string[]>;
  readonly letters: readonly number[];
}

function expectedOf(steps: readonly Step[]): Expected {
  const seen = new Map<string, string[]>(WORKERS.map((key) => [key, []]));
  const followers = new Set<string>();
  const letters: number[] = [];
  for (const step of steps) {
    if (step.type === "follow") followers.add(step.worker);
    else if (step.type === "leave") followers.delete(step.worker);
    else if (step.type === "publish") {
      for (const key of followers) seen.get(key)?.push(...step.values.map((n) => `said ${n}`));
    } else if (step.type === "burst") {
      const { works } = step;
      const kept = works.filter(
        ({ name, subject }, at) =>
          name !== "paint" || !works.slice(at + 1).some((later) => later.subject === subject),
      );
      const isHigh = ({ name }: Work): boolean => name === "high";
      const inOrder = [...kept.filter(isHigh), ...kept.filter((each) => !isHigh(each))];
      for (const { name, n } of inOrder)
        if (name === "boom") letters.push(n);
        else seen.get(step.worker)?.push(`${name} ${n}`);
    }
  }
  return { seen, letters };
}

/** Takes the steps of a program, and returns what is not as it must be. */
async function runSteps(place: Place, steps: readonly Step[]): Promise<readonly string[]> {
  const ask = (operation: string, input: JsonObject, key: string, id: string): Request => ({
    type: "OperationRequest",
    operation,
    input,
    key,
    request_id: id,
  });
  for (const [at, step] of steps.entries()) {
    const id = `step-${at}`;
    switch (step.type) {
      case "follow":
      case "leave":
        await place.send("worker", ask(step.type, {}, step.worker, id));
        break;
      case "publish":
        await place.send("boss", ask("say", { values: step.values }, "boss", id));
        break;
      case "burst": {
        await place.begin("worker", ask("hold", {}, step.worker, `${id}-hold`));
        const given = { to: step.worker, works: step.works as unknown as JsonObject[] };
        await place.begin("boss", ask("give", given, "boss", id));
        const go = { type: "Message", name: "go", body: null, key: step.worker } as const;
        await place.send("worker", { ...go, request_id: `${id}-go` });
        break;
      }
      case "again": {
        const letters = await place.runtime.deadLetters();
        for (const { run_id: runId, request_id: requestId } of letters)
          await place.runtime.sendAgain(runId, requestId).catch(() => {});
        break;
      }
      default:
        step satisfies never;
    }
  }
  await place.restart();
  const { seen, letters } = expectedOf(steps);
  const faults: string[] = [];
  for (const [key, expected] of seen) {
    const found = await place.runtime.actor(worker, key).ask("seen", {});
    if (found.join() !== expected.join()) faults.push(`${key} has ${found.join()}, not ${expected.join()}`);
  }
  const found = (await place.runtime.deadLetters()).map(({ input }) => (input as { readonly n: number }).n);
  const inOrder = (values: readonly number[]): string => [...values].sort((a, b) => a - b).join();
  if (inOrder(found) !== inOrder(letters))
    faults.push(`the dead letters are ${inOrder(found)}, not ${inOrder(letters)}`);
  return faults;
}

/** A simulated place, whose process dies at some commits. */
class SimulatedPlace implements Place {
  readonly host: TestHost;

  constructor(commitFaults: readonly CommitFault[], isPassive: boolean) {
    const limits = isPassive ? { idleRuns: 0 } : {};
    this.host = new TestHost({ agents: AGENTS, topics: [numbers], commitFaults, limits });
  }

  get runtime(): Runtime {
    return this.host.runtime;
  }

  send(agent: string, request: Request): Promise<void> {
    return this.#until(agent, request, async () => !(await hasOpen(this.host.runtime, this.host.log)));
  }

  begin(agent: string, request: Request): Promise<void> {
    const id = idOf(request);
    return this.#until(agent, request, async () => {
      const entry = await this.host.log.lookup(id);
      return agent === "boss"
        ? entry?.phase === "completed"
        : entry?.waitingFor !== undefined && entry.waitingFor !== null;
    });
  }

  async restart(): Promise<void> {
    await this.host.restart();
    await this.#settle(async () => !(await hasOpen(this.host.runtime, this.host.log)));
  }

  #until(agent: string, request: Request, isOver: () => Promise<boolean>): Promise<void> {
    const id = idOf(request);
    return this.#settle(async () => {
      // A process that dies loses what it has not accepted, so its client sends that again.
      if ((await this.host.log.lookup(id)) === undefined) {
        this.host.ask(agent, request).catch(() => {});
        return false;
      }
      return isOver();
    });
  }

  async #settle(isOver: () => Promise<boolean>): Promise<void> {
    for (let left = 400; left > 0; left -= 1) {
      await this.host.environment.idle();
      if (this.host.crashed) await this.host.restart();
      else if (await isOver()) return;
      else await this.host.environment.advance(250);
    }
    throw new Error("it did not end");
  }
}

function idOf(request: Request): string {
  return (request as { readonly request_id: string }).request_id;
}

async function hasOpen(runtime: Runtime, log: EventLog): Promise<boolean> {
  const { runs } = await runtime.runs({ limit: 100 });
  const left = await log.outbox({});
  return (
    runs.some(({ status, queued }) => status !== "idle" || queued > 0) ||
    left.some(({ kind }) => kind !== "dead")
  );
}

/** Random programs, each with a death at every `every`th commit, written or not. */
export async function runMailboxes(
  programs: number,
  every: number,
): Promise<{ readonly faults: readonly string[]; readonly deaths: number }> {
  const faults: string[] = [];
  let deaths = 0;
  for (let seed = 1; seed <= programs; seed += 1) {
    const steps = createSteps(seed);
    const run = async (commitFaults: readonly CommitFault[]): Promise<number> => {
      const place = new SimulatedPlace(commitFaults, seed % 2 === 0);
      const found = await runSteps(place, steps).catch((error: unknown) => [String(error)]);
      const program = JSON.stringify({ seed, commitFaults, steps });
      faults.push(...found.map((fault) => `${program}: ${fault}`));
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

/** Random programs on a log on disk, whose process ends and begins again between two steps. */
export async function runMailboxesOnDisk(
  open: (seed: number) => EventLog,
  programs: number,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (let seed = 101; seed <= 100 + programs; seed += 1) {
    const steps = createSteps(seed);
    const start = async (): Promise<{ readonly runtime: Runtime; readonly log: EventLog }> => {
      const log = open(seed);
      const runtime = createRuntime({ agents: AGENTS, topics: [numbers], log });
      await runtime.ready();
      return { runtime, log };
    };
    let now = await start();
    const place: Place = {
      get runtime() {
        return now.runtime;
      },
      async send(agent, request) {
        const { runtime, log } = now;
        await runtime.process(agent, request);
        while (await hasOpen(runtime, log)) await nextTick();
      },
      async begin(agent, request) {
        const { runtime, log } = now;
        await runtime.process(agent, request);
        const id = idOf(request);
        const isOpen = async (): Promise<boolean> => {
          const entry = await log.lookup(id);
          return agent === "boss" ? entry?.phase !== "completed" : (entry?.waitingFor ?? null) === null;
        };
        while (await isOpen()) await nextTick();
        // The worker is held while the process ends and begins again.
        if (agent === "boss") await place.restart();
      },
      async restart() {
        await now.runtime.close();
        now = await start();
      },
    };
    const found = await runSteps(place, steps);
    while (await hasOpen(now.runtime, now.log)) await nextTick();
    await now.runtime.close();
    faults.push(...found.map((fault) => `${JSON.stringify({ seed, steps })}: ${fault}`));
  }
  return faults;
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 2);
  });
}
