import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createRuntime, defineAgent } from "troupe";
import type { Runtime } from "troupe";
import { expect, test } from "vitest";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

const echo = defineAgent({ name: "echo", purpose: "Says what it hears.", chat: (input) => input });

test("a turn that is over leaves little behind that only a collection of the whole heap would free", async () => {
  const runtime = createRuntime({ agents: [echo], limits: { idleRuns: 0 } });
  await takeTurns(runtime, 1_000);
  collectGarbage();
  await takeTurns(runtime, TURNS);

  // Twice: what survives the first is looked at once more.
  collectGarbage({ type: "minor" });
  collectGarbage({ type: "minor" });
  const young = process.memoryUsage().heapUsed;
  collectGarbage();
  const whole = process.memoryUsage().heapUsed;

  expect((young - whole) / TURNS).toBeLessThan(6_000);
  await runtime.close();
});

const TURNS = 500;

async function takeTurns(runtime: Runtime, count: number): Promise<void> {
  for (let taken = 0; taken < count; taken += 1) {
    const receipt = await runtime.process("echo", { type: "ChatRequest", input: "hello" });
    await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
  }
}
