import { setImmediate, setTimeout } from "node:timers/promises";
import { createRuntime, defineAgent } from "troupe";
import type { Agent, Limits, Runtime } from "troupe";
import type { RequestId } from "troupe/protocol";
import { sqliteLog } from "troupe/storage/sqlite";

/** The number of events in a run of a speaker. */
export const EVENTS = 100;

/** The number of texts of a speaker; the other two events are the start and the end of its turn. */
const TEXTS = EVENTS - 2;

/** Asks a question, and answers with the answer. */
export const asker: Agent = defineAgent({
  name: "asker",
  purpose: "Asks something and waits for the answer.",
  async chat(_, turn) {
    const { answer } = await turn.waitForInput({ answer: "What now?" });
    return answer as string;
  },
});

const sleeper = defineAgent({
  name: "sleeper",
  purpose: "Sleeps for longer than a 32-bit timer can.",
  async chat(_, turn) {
    await turn.sleep(30 * 86_400_000);
  },
});

const speaker = defineAgent({
  name: "speaker",
  purpose: "Says many texts, and then is perhaps busy for ever.",
  async chat(input, turn) {
    for (let index = 1; index < TEXTS; index += 1) void turn.text(`${input} ${index}`);
    await turn.text(`${input} ${TEXTS}`);
    if (input === "stay")
      await turn.effect("stay", () => new Promise<never>(() => {}), { effect: "idempotent" });
  },
});

const inquirer = defineAgent({
  name: "inquirer",
  purpose: "Asks the actor with the given key, and waits for its answer.",
  async chat(key, turn) {
    await turn.ask(turn.actor(sleeper, key), "chat", { input: "" });
  },
});

/** Starts a runtime on a directory, whose log syncs every commit. */
export function start(directory: string, limits: Partial<Limits> = {}): Runtime {
  return createRuntime({
    agents: [asker, sleeper, speaker, inquirer],
    log: sqliteLog(directory),
    limits,
  });
}

/**
 * Starts a number of turns with limited concurrency; a turn counts as started when it waits, sleeps or has
 * ended.
 */
export async function beginTurns(
  runtime: Runtime,
  { agent, input, count }: { readonly agent: string; readonly input: string; readonly count: number },
): Promise<string[]> {
  const runs: string[] = [];
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      const receipt = await runtime.process(agent, { type: "ChatRequest", input });
      runs.push(String(receipt.runId));
      if (input !== "stay" && agent !== "sleeper") {
        await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
      }
    }
  };
  await Promise.all(Array.from({ length: 200 }, lane));
  return runs;
}

/** Starts keyed actors that ask others, and waits until all of them rest on their asks. */
export async function beginAsks(runtime: Runtime, count: number): Promise<void> {
  const requestIds: RequestId[] = [];
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < count) {
      const index = begun;
      begun += 1;
      const input = `sleeper-${index}`;
      const receipt = await runtime.process("inquirer", { type: "ChatRequest", input, key: `k-${index}` });
      requestIds.push(receipt.requestId);
    }
  };
  await Promise.all(Array.from({ length: 200 }, lane));
  // An ask rests only when it has been open for a second.
  for (const requestId of requestIds)
    while ((await runtime.status(requestId)).waiting_for === undefined) await setTimeout(50);
}

/** The memory of a process, in MB of 10^6 bytes. */
export interface Memory {
  /** All of it, including what the allocator keeps for later. */
  readonly rss: number;
  /** The JavaScript heap after a garbage collection. */
  readonly heap: number;
}

/** Collects garbage and returns the memory of this process. */
export async function memory(): Promise<Memory> {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await setImmediate();
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rss: Math.round(rss / 1e6), heap: Math.round(heapUsed / 1e6) };
}
