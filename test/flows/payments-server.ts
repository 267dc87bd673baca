// Serves agents that pay through the provider at $PROVIDER, with a durable log in the directory given as its only argument.
import { createRuntime, defineAgent, defineTool } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import type { Turn } from "troupe";
import { z } from "zod";

const [, , directory = "."] = process.argv;
const { PROVIDER = "" } = process.env;

async function pay(
  key: string,
  payment: { readonly customer: string; readonly number: number },
): Promise<string> {
  const response = await fetch(PROVIDER, {
    method: "POST",
    headers: { "idempotency-key": key },
    body: JSON.stringify(payment),
  });
  return response.text();
}

const payTool = defineTool({
  name: "pay",
  description: "Pays once.",
  input: z.object({ customer: z.string(), number: z.number() }),
  effect: "idempotent",
  run: (payment, turn) => pay(turn.callId, payment),
});

/** Makes 20 payments for the customer that the input names: by tools, by effects, and by effects beside each other. */
const payer = defineAgent({
  name: "payer",
  purpose: "Pays for a customer.",
  async chat(customer, turn) {
    const effect = (handle: Turn, number: number): Promise<string> =>
      handle.effect("pay", ({ callId }) => pay(callId, { customer, number }), { effect: "idempotent" });
    for (let round = 0; round < 4; round += 1) {
      await turn.tool(payTool, { customer, number: round * 5 });
      await turn.tool(payTool, { customer, number: round * 5 + 1 }, { retry: { attempts: 2 } });
      await effect(turn, round * 5 + 2);
      await turn.all([(branch) => effect(branch, round * 5 + 3), (branch) => effect(branch, round * 5 + 4)]);
    }
    return `${customer} has paid`;
  },
});

const runtime = createRuntime({ agents: [payer], log: sqliteLog(directory) });
await runtime.ready();
const { url } = await serve(runtime, { port: 0 });
console.log(url);
