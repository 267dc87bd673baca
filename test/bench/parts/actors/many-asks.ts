import { setImmediate } from "node:timers/promises";
import { createRuntime, defineAgent } from "troupe";
import type { Runtime } from "troupe";
import { atMost } from "../../harness/result.ts";
import type { Result } from "../../harness/result.ts";

/** Asks of one turn at the same time; a turn may have no more. */
const ASKS = 1_000;

/** Counts how often the handler below begins. */
let begun = 0;

const oracle = defineAgent({
  name: "oracle",
  purpose: "Answers when it is told the answer.",
  chat: async (_input, turn) => (await turn.waitForInput({ answer: "What is it?" }))["answer"] as string,
});

const pollster = defineAgent({
  name: "pollster",
  purpose: "Asks many actors at the same time.",
  async chat(_input, turn) {
    begun += 1;
    const keys = Array.from({ length: ASKS }, (_, index) => `oracle-${index}`);
    const answers = await Promise.all(
      keys.map((key) => turn.ask(turn.actor(oracle, key), "chat", { input: "" })),
    );
    return `${answers.length} answers`;
  },
});

/** How often a turn with many open asks is replayed, whose answers come one after the other, when it had to leave memory. */
export async function measureManyAsks(): Promise<Result> {
  const runtime = createRuntime({ agents: [pollster, oracle], limits: { idleRuns: 0 } });
  const receipt = await runtime.process("pollster", { type: "ChatRequest", input: "" });
  while ((await runtime.waits({ limit: ASKS })).events.length < ASKS) await setImmediate();
  while (runtime.actors().length > 0) await setImmediate();
  for (let index = 0; index < ASKS; index += 1) await answer(runtime, `oracle-${index}`);
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  if (end?.includes(`${ASKS} answers`) !== true) throw new Error(`the turn failed: ${end}`);
  await runtime.close();
  return atMost(`replays of a turn with ${ASKS} asks, answered one by one`, begun - 1, 2, String);
}

async function answer(runtime: Runtime, key: string): Promise<void> {
  const request = { type: "ResumeWithInput", key, request_keys: { answer: "yes" } } as const;
  const receipt = await runtime.process("oracle", request);
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
}
