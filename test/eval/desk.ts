import { createRuntime, defineTool } from "troupe";
import type { Runtime, Agent } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { Prompt } from "troupe/llm";
import { z } from "zod";

/** How a desk differs from the one whose runs are recorded. */
export interface DeskOptions {
  readonly instructions?: string;
  readonly refundDescription?: string;
  /** Is told of each completion that is asked of the model. */
  readonly asked?: () => void;
}

/** A desk that refunds an order once a person agrees; its model is a script, and its orders are in memory. */
export function createDesk(options: DeskOptions = {}): Agent {
  const { instructions = "You are the desk of a shop. Refund what the rules allow.", asked } = options;
  const { refundDescription = "Pays an order back." } = options;
  const order = defineTool({
    name: "order",
    description: "Looks an order up.",
    input: z.object({ id: z.string() }),
    effect: "idempotent",
    run({ id }) {
      if (!id.startsWith("A")) throw new Error(`there is no order ${id}`);
      return { id, cents: 1_000 + id.length };
    },
  });
  const refund = defineTool({
    name: "refund",
    description: refundDescription,
    input: z.object({ id: z.string(), cents: z.int() }),
    run: ({ id }) => ({ refunded: id }),
  });
  const model = scriptedModel(
    (prompt) => {
      asked?.();
      return answer(prompt);
    },
    { name: "script", price: { input: 1, output: 2 } },
  );
  return llmAgent({
    name: "desk",
    purpose: "Refunds orders.",
    instructions,
    model,
    tools: [order, refund],
    approve: ["refund"],
  });
}

function answer({
  messages,
  tools,
}: Prompt): string | { toolCalls: { name: string; input: { [key: string]: string | number } }[] } {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const [, id = ""] = /order (\w+)/.exec(messages[at]?.content ?? "") ?? [];
  const results = messages.slice(at).filter(({ role }) => role === "tool");
  // A model that does not see what a tool is for does not call it.
  const canRefund = tools.some(({ name, description }) => name === "refund" && description.includes("Pays"));
  const last = results.at(-1)?.content ?? "";
  if (results.length === 0) return { toolCalls: [{ name: "order", input: { id } }] };
  if (last.includes("no order")) return `We do not know order ${id}.`;
  if (results.length === 1 && canRefund)
    return {
      toolCalls: [{ name: "refund", input: { id, cents: (JSON.parse(last) as { cents: number }).cents } }],
    };
  return last.includes("refunded") ? `Order ${id} is refunded.` : `Order ${id} is not refunded.`;
}

/** A runtime in which the desk has had so many conversations: of each four, one is denied and one knows no order. */
export async function recordDesk(
  count: number,
): Promise<{ readonly runtime: Runtime; readonly runIds: readonly string[] }> {
  const runtime = createRuntime({ agents: [createDesk()] });
  const runIds: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const id = number % 4 === 3 ? `B${number}` : `A${number}`;
    const receipt = await runtime.process("desk", {
      type: "ChatRequest",
      input: `Please refund order ${id}`,
    });
    runIds.push(receipt.runId ?? "");
    const waiting = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
    if (waiting?.includes('"WaitForInput"') !== true) continue;
    const { requestId } = receipt;
    const answered = await runtime.process("desk", {
      type: "ResumeWithInput",
      request_id: requestId,
      request_keys: { approved: number % 4 !== 1 },
    });
    await runtime.acknowledgement(
      { ...receipt, after: answered.after },
      { until: "completed", timeoutMs: 10_000 },
    );
  }
  return { runtime, runIds };
}
