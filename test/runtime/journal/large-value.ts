// Has an agent do something with a value of 150 MB; prints how many MB of memory that took beside the value.
import { createRuntime, defineAgent } from "troupe";
import type { Turn } from "troupe";

const LENGTH = 150_000_000;

const [use = ""] = process.argv.slice(2);
const uses: Readonly<Record<string, (turn: Turn) => unknown>> = {
  text: (turn) => turn.text(large),
  result: () => large,
  "result in an object": () => ({ text: large }),
  "result of many values": () => many,
  "result of bytes": () => bytes,
  "effect's result": (turn) => turn.effect("read", () => ({ text: large })),
  question: (turn) => turn.waitForInput({ answer: large }),
  "call's name": (turn) => turn.effect(large, () => "done"),
  error: () => {
    throw new Error(large);
  },
};

const large = use.startsWith("result of") ? "" : flat("x".repeat(LENGTH));
const many = use === "result of many values" ? Array.from({ length: 5_000_000 }, (_, at) => at) : [];
const bytes = use === "result of bytes" ? new Uint8Array(LENGTH) : new Uint8Array();

const agent = defineAgent({
  name: "large",
  purpose: "Handles a large value.",
  chat: async (_input, turn) => (await uses[use]?.(turn)) as string,
});
const runtime = createRuntime({ agents: [agent] });
await runtime.ready();
const before = process.resourceUsage().maxRSS;
const receipt = await runtime.process("large", { type: "ChatRequest", input: "" });
const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
const mb = Math.round((process.resourceUsage().maxRSS - before) / 1_000);
console.log(`{"mb":${mb},"end":${end ?? "null"}}`);
// The test ends this process.

/** The text as one piece of memory. */
function flat(text: string): string {
  text.charCodeAt(0);
  return text;
}
