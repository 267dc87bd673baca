import { createRuntime, defineAgent } from "troupe";
import type { Runtime, Turn } from "troupe";
import { atMost, microseconds } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";
import type { Setup } from "../../harness/setup.ts";
import { median } from "../../harness/statistics.ts";

/** Calls in one turn. */
const CALLS = 1_000;

const child = defineAgent({ name: "child", purpose: "Answers.", chat: (input) => input });

/** A turn without calls: the same loop with a plain function. */
async function plain(input: string): Promise<string> {
  return input;
}

const ways: { readonly [name: string]: (turn: Turn) => Promise<unknown> } = {
  async plain() {
    for (let index = 0; index < CALLS; index += 1) await plain("hello");
  },
  async sequence(turn) {
    for (let index = 0; index < CALLS; index += 1) await turn.call(child, "chat", { input: "hello" });
  },
  async parallel(turn) {
    const calls = Array.from({ length: CALLS }, () => turn.call(child, "chat", { input: "hello" }));
    await Promise.all(calls);
  },
};

const parent = defineAgent({
  name: "parent",
  purpose: "Does one of these.",
  async chat(way, turn) {
    await ways[way]?.(turn);
  },
});

/**
 * The cost of an agent call compared with a plain function, with a memory log, in sequence and in parallel.
 */
export async function measureChildCalls({ rounds, warmUpTurns }: Setup): Promise<Result[]> {
  const runtime = createRuntime({ agents: [parent] });
  const results: Result[] = [];
  for (const way of ["sequence", "parallel"]) {
    for (let call = 0; call < warmUpTurns * 20; call += CALLS) await cpuOf(runtime, way);
    const costs: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      costs.push((await cpuOf(runtime, way)) - (await cpuOf(runtime, "plain")));
    }
    const what = `CPU of a call of a child, ${CALLS} in ${way}, memory log`;
    results.push(atMost(what, median(costs) / CALLS, 50, microseconds));
  }
  await runtime.close();
  return results;
}

/** The CPU time of a turn in microseconds. */
async function cpuOf(runtime: Runtime, way: string): Promise<number> {
  const before = process.cpuUsage();
  const receipt = await runtime.process("parent", { type: "ChatRequest", input: way });
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  const { user, system } = process.cpuUsage(before);
  if (end?.includes('"finish_reason":"success"') !== true) throw new Error(`the turn failed: ${end}`);
  return user + system;
}
