import { setImmediate } from "node:timers/promises";
import { createRuntime, defineAgent, operation } from "troupe";
import type { Agent, Runtime } from "troupe";
import { z } from "zod";
import { atMost, microseconds } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import type { Setup } from "../../harness/setup.ts";
import { median } from "../../harness/statistics.ts";

/** Asks or tells of one turn. */
const TIMES = 1_000;

/** Messages to one turn. */
const MESSAGES = 10_000;

const counter = defineAgent({
  name: "counter",
  purpose: "Answers with what it was given.",
  operations: {
    count: operation({ input: z.number(), run: (n) => n }),
  },
});

const sender = defineAgent({
  name: "sender",
  purpose: "Sends many requests to a known actor, one after the other.",
  async chat(way, turn) {
    const other = turn.actor(counter, way);
    for (let index = 0; index < TIMES; index += 1) {
      if (way === "ask") await turn.ask(other, "count", index);
      else await turn.tell(other, "count", index);
    }
  },
});

const reader = defineAgent({
  name: "reader",
  purpose: "Receives many messages in one turn.",
  messages: { note: z.number() },
  async chat(_input, turn) {
    for (let expected = 0; expected < MESSAGES; expected += 1) {
      const note = await turn.receive("note");
      if (note !== expected) throw new Error(`message ${expected} was ${note}`);
    }
  },
});

/** Something to measure: a request, and how often it does what is measured. */
interface Exchange {
  readonly what: string;
  readonly limitUs: number;
  readonly times: number;
  perform(runtime: Runtime): Promise<void>;
}

const EXCHANGES: readonly Exchange[] = [
  {
    what: `CPU of a tell with the turn that it starts, known actor, ${TIMES} in sequence, memory log`,
    limitUs: 150,
    times: TIMES,
    async perform(runtime) {
      await chat(runtime, sender, "tell");
      // Queued behind the told requests.
      await runtime.actor(counter, "tell").ask("count", 0);
    },
  },
  {
    what: `CPU of an ask with the turn that answers it, known actor, ${TIMES} in sequence, memory log`,
    limitUs: 200,
    times: TIMES,
    perform: (runtime) => chat(runtime, sender, "ask"),
  },
  {
    what: `CPU of a message, ${MESSAGES} to one turn, in order, memory log`,
    limitUs: 150,
    times: MESSAGES,
    perform: sendMessages,
  },
];

/** The CPU time of what actors send each other, with everything that the receivers do, on a log in memory. */
export async function measureExchanges({ rounds, warmUpTurns }: Setup): Promise<Result[]> {
  const runtime = createRuntime({ agents: [counter, sender, reader] });
  const results: Result[] = [];
  for (const { what, limitUs, times, perform } of EXCHANGES) {
    for (let done = 0; done < warmUpTurns; done += times) await perform(runtime);
    const costs: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = process.cpuUsage();
      await perform(runtime);
      const { user, system } = process.cpuUsage(before);
      costs.push((user + system) / times);
    }
    results.push(atMost(what, median(costs), limitUs, microseconds));
  }
  await runtime.close();
  return results;
}

/** Performs a turn in a run of its own. */
async function chat(runtime: Runtime, { name }: Agent, input: string): Promise<void> {
  const receipt = await runtime.process(name, { type: "ChatRequest", input });
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  if (end?.includes('"finish_reason":"success"') !== true) throw new Error(`the turn failed: ${end}`);
}

async function sendMessages(runtime: Runtime): Promise<void> {
  const receipt = await runtime.process(reader.name, { type: "ChatRequest", input: "", key: "reader" });
  for (let body = 0; body < MESSAGES; body += 1) {
    await runtime.process(reader.name, { type: "Message", key: "reader", name: "note", body });
    // A run holds only 100 unread messages, so the turn needs time to read them.
    await setImmediate();
  }
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  if (end?.includes('"finish_reason":"success"') !== true) throw new Error(`the turn failed: ${end}`);
}
