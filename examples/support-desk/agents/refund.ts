import { existsSync } from "node:fs";
import { appendFile, readFile } from "node:fs/promises";
import { agentActor, defineAgent, defineTool, fromMachine, operation, toolActor } from "troupe";
import { assign, setup } from "xstate";
import { z } from "zod";
import { ledger } from "./ledger.ts";

const payment = z.object({ order: z.string(), cents: z.int() });
type Payment = z.infer<typeof payment>;

/** The bank: a file with a line for each payment. It recognizes a payment that it is asked for again by its key. */
const pay = defineTool({
  name: "pay",
  description: "Pays an amount back.",
  input: payment,
  effect: "idempotent",
  async run({ order, cents }, turn) {
    const bank = process.env["DESK_BANK"] ?? "bank.jsonl";
    const line = JSON.stringify({ key: turn.callId, order, cents });
    const paid = existsSync(bank) ? await readFile(bank, "utf8") : "";
    if (!paid.includes(line)) await appendFile(bank, `${line}\n`);
    await turn.ask(turn.actor(ledger, "refunds"), "add", { cents });
  },
});

/** Asks a person, who sees the order and the amount; above 100 EUR only one of finance may answer. */
const approval = defineAgent({
  name: "approval",
  purpose: "Asks a person whether a refund is right.",
  operations: {
    ask: operation({
      input: payment,
      output: z.object({ approved: z.boolean() }),
      async run({ order, cents }, turn) {
        const amount = `${(cents / 100).toFixed(2)} EUR`;
        const question = z.object({ approved: z.boolean().describe(`Refund ${amount} for order ${order}?`) });
        const approvers = cents > 100_00 ? { approvers: ["finance"] } : {};
        return turn.waitForInput(question, {
          approval: { tool: "pay", args: { order, amount } },
          ...approvers,
        });
      },
    }),
  },
});

const machine = setup({
  types: { context: {} as Payment, events: {} as { readonly type: "start" } & Payment },
  actors: { ask: agentActor(approval, "ask"), pay: toolActor(pay) },
}).createMachine({
  context: { order: "", cents: 0 },
  initial: "open",
  states: {
    open: {
      on: {
        start: { target: "asking", actions: assign(({ event: { order, cents } }) => ({ order, cents })) },
      },
    },
    asking: {
      invoke: {
        src: "ask",
        input: ({ context }) => context,
        onDone: [{ guard: ({ event }) => event.output.approved, target: "paying" }, { target: "declined" }],
      },
    },
    paying: { invoke: { src: "pay", input: ({ context }) => context, onDone: "refunded" } },
    refunded: { type: "final" },
    declined: { type: "final" },
  },
});

/** Pays an order back once a person agrees. */
export const refund = fromMachine({
  name: "refund",
  purpose: "Pays an order back once a person agrees.",
  machine,
  operations: {
    start: operation({ description: "Refunds an order, once a person agrees.", input: payment }),
  },
  output: (snapshot) => ({ refunded: snapshot.value === "refunded" }),
});
