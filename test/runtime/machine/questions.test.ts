import { fromMachine } from "troupe";
import type { StateQuestions } from "troupe";
import { expect, test } from "vitest";
import { assign, setup } from "xstate";
import * as z from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";

interface Refund {
  readonly order: string;
  readonly amount: number;
}

type RefundEvent =
  | { readonly type: "refund"; readonly order: string; readonly amount: number; readonly reason: string }
  | { readonly type: "raise" }
  | { readonly type: "resume"; readonly ok: boolean };

/** An agent that asks for the approval of a refund, which can be raised meanwhile. */
const desk = (currency: string) =>
  fromMachine({
    name: "desk",
    purpose: "Refunds.",
    operations: { refund: { description: "Refunds." }, raise: { description: "Raises the amount." } },
    machine: setup({
      types: {
        context: {} as Refund,
        events: {} as RefundEvent,
        meta: {} as StateQuestions<Refund, RefundEvent>,
      },
    }).createMachine({
      context: { order: "", amount: 0 },
      initial: "idle",
      on: { raise: { actions: assign({ amount: ({ context }) => context.amount + 1 }) } },
      states: {
        idle: {
          on: {
            refund: {
              target: "asking",
              actions: assign(({ event: { order, amount } }) => ({ order, amount })),
            },
          },
        },
        asking: {
          tags: ["wait"],
          meta: {
            request_keys: ({ context: { order, amount }, event }) => ({
              ok: `Refund ${amount} ${currency} for ${order}, because of ${event.type === "refund" ? event.reason : ""}?`,
            }),
            schema: z.object({ ok: z.boolean() }),
          },
          on: { resume: "done" },
        },
        done: { type: "final" },
      },
      output: ({ context }) => context,
    }),
  });

const input = { order: "A-17", amount: 129, reason: "damage" };

test("the questions of a state show what is approved, and stay as they were asked", async () => {
  const host = new TestHost({ agents: [desk("EUR")] });
  await host.ask("desk", { type: "OperationRequest", operation: "refund", input, request_id: asked });
  const question = { ok: "Refund 129 EUR for A-17, because of damage?" };
  const status = await host.runtime.status(asked);
  expect(status).toMatchObject({ status: "waiting", request_keys: question });

  // The context changes while the question is open, and the process that asks it again has other words.
  const raise = { type: "OperationRequest", operation: "raise", input: {}, run_id: status.run_id } as const;
  await host.ask("desk", { ...raise, request_id: "raised" });
  await host.restart([desk("USD")]);
  expect(await host.runtime.status(asked)).toMatchObject({ request_keys: question });
  await host.ask("desk", { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } });
  expect(await host.runtime.status(asked)).toMatchObject({ output: { order: "A-17", amount: 130 } });
  expect(ofType(await host.events(asked), "WaitForInput")).toMatchObject([{ request_keys: question }]);
});
