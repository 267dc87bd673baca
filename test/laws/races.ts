import { defineAgent, defineTool } from "troupe";
import type { Agent, MessageEntry, Operation, Turn } from "troupe";
import { z } from "zod";
import { createRandom } from "../../src/testing/event-log/random.ts";
import type { EventLog } from "../../src/ports/event-log.ts";
import { TestHost } from "../runtime/test-host.ts";
import type { CommitFault } from "../runtime/test-host.ts";
import { readHistory } from "./history.ts";
import { checkMessages, unreadOf } from "./messages.ts";
import { toPicker } from "./program.ts";

type Picker = ReturnType<typeof toPicker>;

/** The names of the messages; the bodies are numbers. */
export const COLORS = ["red", "green", "blue"] as const;
type Color = (typeof COLORS)[number];

/** A message that the code has read. */
export type Read = readonly [name: string, body: number];

const tool = defineTool({
  name: "tool",
  description: "Works a while.",
  input: z.object({ ms: z.number() }),
  effect: "idempotent",
  async run({ ms }, turn): Promise<number> {
    await turn.sleep(ms);
    if (ms % 5 === 4) throw new Error("it fails");
    return ms;
  },
});

const echo = defineAgent({
  name: "echo",
  purpose: "Answers after a while.",
  operations: (own) => ({
    wait: own({
      input: z.object({ ms: z.number() }),
      async run({ ms }, turn): Promise<number> {
        await turn.sleep(ms);
        return ms;
      },
    }),
  }),
});

/** Makes random races of messages, calls and deadlines, and gives what it has read, in order. */
const racer: Agent<{
  readonly race: Operation<
    { readonly seed: number; readonly races: number; readonly unitMs: number },
    Read[]
  >;
}> = defineAgent({
  name: "racer",
  purpose: "Races.",
  messages: { red: z.number(), green: z.number(), blue: z.number() },
  operations: (own) => ({
    race: own({
      input: z.object({ seed: z.number(), races: z.number(), unitMs: z.number() }),
      async run({ seed, races, unitMs }, turn): Promise<Read[]> {
        const race = new Races(toPicker(createRandom(seed)), unitMs);
        for (let made = 0; made < races; made += 1) await race.next(turn as RacerTurn);
        await race.end(turn as RacerTurn);
        return race.reads;
      },
    }),
  }),
});

/** All agents of the races. */
export const racers: readonly Agent[] = [racer, echo];

type RacerTurn = Turn<
  Record<never, never>,
  never,
  Turn["memory"],
  { readonly red: z.ZodNumber; readonly green: z.ZodNumber; readonly blue: z.ZodNumber }
>;

/** The races of one turn. */
class Races {
  readonly reads: Read[] = [];
  readonly #pick: Picker;
  readonly #unitMs: number;
  /** The promises that have not come first yet. */
  #left: Promise<unknown>[] = [];

  constructor(pick: Picker, unitMs: number) {
    this.#pick = pick;
    this.#unitMs = unitMs;
  }

  async next(turn: RacerTurn): Promise<void> {
    const pick = this.#pick;
    switch (pick.below(8)) {
      case 0:
        return this.#one(turn, pick.of(COLORS));
      case 1: {
        const read = await turn.receive(this.#colors(), { timeoutMs: this.#time() });
        if (read) this.reads.push([read.name, read.body]);
        return;
      }
      case 2:
        return this.#canceled(turn);
      case 3: {
        const name = pick.of(COLORS);
        for (const body of turn.received(name)) this.reads.push([name, body]);
        return;
      }
      case 4: {
        const colors = [pick.of(COLORS), pick.of(COLORS)];
        await turn.all(colors.map((color) => (own) => this.#one(own, color)));
        return;
      }
      default:
        return this.#select(turn);
    }
  }

  /** Waits for what is left, and reads what is unread. */
  async end(turn: RacerTurn): Promise<void> {
    await Promise.allSettled(this.#left);
    for (const name of COLORS) for (const body of turn.received(name)) this.reads.push([name, body]);
  }

  async #one(turn: RacerTurn, name: Color): Promise<void> {
    const body = await turn.receive(name, { timeoutMs: this.#time() });
    if (body !== undefined) this.reads.push([name, body]);
  }

  /** A receive that is canceled by a sleep: it may have its message by then. */
  async #canceled(turn: RacerTurn): Promise<void> {
    const name = this.#pick.of(COLORS);
    const received = turn.receive(name);
    await turn.sleep(this.#time());
    received.cancel();
    const body = await received.catch(() => undefined);
    if (body !== undefined) this.reads.push([name, body]);
  }

  async #select(turn: RacerTurn): Promise<void> {
    const pick = this.#pick;
    const colors = this.#colors();
    const [one, ...others] = colors;
    const entries: Record<string, MessageEntry | Promise<unknown>> = {};
    if (pick.chance(85)) entries["one"] = turn.receive.of(one as Color);
    if (others.length > 0) entries["others"] = turn.receive.of(others);
    if (this.#left.length < 3 && pick.chance(60)) this.#left.push(this.#start(turn));
    const raced = pick.chance(80) ? [...this.#left] : [];
    for (const [index, promise] of raced.entries()) entries[`promise-${index}`] = promise;
    const isTimed = raced.length === 0 || pick.chance(50);
    const options = isTimed ? { timeoutMs: this.#time() } : {};
    const first: { readonly name: string; readonly value: unknown } | undefined = await turn
      .select(entries, options as { readonly timeoutMs: number })
      .catch((error: unknown) => ({ name: "failed", value: error }));
    if (first === undefined) return;
    if (first.name === "one") this.reads.push([one as string, first.value as number]);
    else if (first.name === "others") {
      const { name, body } = first.value as { readonly name: string; readonly body: number };
      this.reads.push([name, body]);
    } else if (first.name === "failed") this.#left = this.#left.filter((promise) => !raced.includes(promise));
    else {
      const won = raced[Number(first.name.slice("promise-".length))];
      this.#left = this.#left.filter((promise) => promise !== won);
    }
  }

  /** Begins something that is not a message. */
  #start(turn: RacerTurn): Promise<unknown> {
    const ms = this.#time();
    switch (this.#pick.below(4)) {
      case 0:
        return turn.sleep(ms);
      case 1:
        return turn.tool(
          tool,
          { ms },
          this.#pick.chance(30) ? { retry: { attempts: 2, backoffMs: ms } } : {},
        );
      case 2:
        return turn.ask(turn.actor(echo, `echo-${this.#pick.below(2)}`), "wait", { ms });
      default:
        return turn.ask(turn.actor(echo, "late"), "wait", { ms: ms * 4 }, { timeoutMs: ms + 1 });
    }
  }

  #colors(): Color[] {
    const colors = COLORS.filter(() => this.#pick.chance(60));
    return colors.length > 0 ? colors : ["red"];
  }

  #time(): number {
    return this.#pick.below(8) * this.#unitMs;
  }
}

/** What is wrong with the reads of a turn: each message has one reader, and those of each name are read in order. */
export async function checkReads(
  log: EventLog,
  runId: string,
  requestId: string,
  reads: readonly Read[],
  sent: readonly string[],
): Promise<readonly string[]> {
  const { entries } = await readHistory(log, runId, requestId);
  const faults = [...checkMessages(entries)];
  const unread = new Set(unreadOf(entries));
  const logged: { readonly id: string; readonly name: string; readonly body: number }[] = [];
  for (const entry of entries)
    if (!("n" in entry) && entry.type === "MessageReceived")
      logged.push({ id: entry.message_id, name: entry.name, body: entry.body as number });
  const known = new Set(logged.map(({ id }) => id));
  for (const id of sent) if (!known.has(id)) faults.push(`message ${id} is lost`);
  for (const name of COLORS) {
    const expected = logged.filter((message) => message.name === name && !unread.has(message.id));
    const got = reads.filter(([read]) => read === name).map(([, body]) => body);
    const want = expected.map(({ body }) => body);
    if (JSON.stringify(got) !== JSON.stringify(want))
      faults.push(`the code has read ${JSON.stringify(got)} of ${name}, and the log ${JSON.stringify(want)}`);
  }
  return faults;
}

/** The races of one turn under a clock of the test, with deaths at some commits. */
export async function simulateRaces({
  seed,
  races,
  commitFaults = [],
  passive = false,
}: {
  readonly seed: number;
  readonly races: number;
  readonly commitFaults?: readonly CommitFault[];
  readonly passive?: boolean;
}): Promise<{ readonly faults: readonly string[]; readonly commits: number }> {
  const host = new TestHost({
    seed,
    agents: racers,
    commitFaults,
    ...(passive && { limits: { idleRuns: 0 } }),
  });
  const pick = toPicker(createRandom(seed + 13));
  const requestId = "races";
  const sent: string[] = [];
  const request = {
    type: "OperationRequest",
    operation: "race",
    input: { seed, races, unitMs: 500 },
    key: "one",
    request_id: requestId,
  } as const;
  const deliver = async (deliverable: Parameters<TestHost["ask"]>[1]): Promise<void> => {
    for (;;) {
      host.runtime.process("racer", deliverable).catch(() => {});
      await host.environment.idle();
      if (!host.crashed) return;
      await host.restart();
    }
  };
  const report = (found: readonly string[]): { faults: readonly string[]; commits: number } => ({
    faults: found.map((fault) => `seed ${seed} ${JSON.stringify(commitFaults)}: ${fault}`),
    commits: host.commits,
  });
  await deliver(request);
  for (let move = 0; move < MOST_MOVES; move += 1) {
    await host.environment.idle();
    if (host.crashed) {
      await host.restart();
      continue;
    }
    const entry = await host.log.lookup(requestId);
    if (entry?.completed !== undefined) {
      const end = (await host.events(requestId)).at(-1) as unknown as { output: Read[]; error?: object };
      const faults = host.faults.filter((fault) => !/^tool|^agent echo/.test(fault));
      if (!Array.isArray(end.output)) return report([JSON.stringify(end), ...faults]);
      return report([...faults, ...(await checkReads(host.log, entry.runId, requestId, end.output, sent))]);
    }
    const next = host.environment.nextTimerMs;
    if (sent.length < races * 2 && (next === undefined || pick.chance(50))) {
      for (let some = 1 + pick.below(3); some > 0; some -= 1) {
        const id = `m${sent.length + 1}`;
        sent.push(id);
        const body = sent.length;
        await deliver({ type: "Message", name: pick.of(COLORS), body, key: "one", request_id: id });
      }
    } else if (next === undefined) return report(["nothing is left to happen"]);
    else await host.environment.advance(pick.chance(50) ? next : Math.min(next, 250));
  }
  return report(["the turn does not end"]);
}

const MOST_MOVES = 2_000;
