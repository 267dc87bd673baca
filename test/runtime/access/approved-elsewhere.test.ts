import { createRuntime, defineAgent } from "troupe";
import type { Agent, Event, Principal, Runtime } from "troupe";
import { remoteAgent } from "troupe/client";
import { createApp } from "troupe/http";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { temporaryDirectory } from "../../storage/directories.ts";
import { eventsOf } from "./events-of.ts";

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"], name: "Ann" };
const FAY: Principal = { id: "fay", owner: "acme", roles: ["user", "finance"], name: "Fay" };

const approved = z.object({ approved: z.boolean().describe("Pay 250 EUR?") });

const payer = defineAgent({
  name: "payer",
  purpose: "Pays; above 100 finance must agree.",
  operations: (own) => ({
    pay: own({
      input: z.number(),
      output: z.boolean(),
      async run(amount, turn) {
        if (amount <= 100) return true;
        return (await turn.waitForInput(approved, { approvers: ["finance"] })).approved;
      },
    }),
  }),
});

/** A triage agent, by how it has a payment made. */
function triage(payment: Agent, how: "call" | "ask", version = "1"): Agent {
  return defineAgent({
    name: "triage",
    purpose: "Decides what to pay.",
    version,
    uses: { payment },
    operations: (own) => ({
      handle: own({
        input: z.number(),
        async run(amount, turn) {
          if (version === "2") await turn.text("Another path.");
          return how === "call"
            ? turn.call(turn.uses.payment, "pay" as never, amount as never)
            : turn.ask(turn.actor(payer, "desk"), "pay", amount);
        },
      }),
    }),
  });
}

async function start(agents: readonly Agent[], directory = temporaryDirectory()): Promise<Runtime> {
  const runtime = createRuntime({ agents: [...agents], log: sqliteLog(directory) });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

/** Has Ann ask for a payment, and resolves with the question as she sees it. */
async function askToPay(runtime: Runtime): Promise<Event & { readonly type: "WaitForInput" }> {
  const own = runtime.as(ANN);
  await own.process("triage", {
    type: "OperationRequest",
    operation: "handle",
    input: 250,
    request_id: "pay-1",
  });
  await expect.poll(async () => (await own.waits({ limit: 2 })).events.length, { timeout: 60_000 }).toBe(1);
  const [wait = "{}"] = (await own.waits({ limit: 2 })).events;
  const question = JSON.parse(wait) as Event & { readonly type: "WaitForInput" };
  expect(question).toMatchObject({ request_keys: {}, question: "Pay 250 EUR?", approvers: ["finance"] });
  expect(question).not.toHaveProperty("schema");
  return question;
}

/** The agent of the run answers for those that its turn has called. */
function answer(
  runtime: Runtime,
  principal: Principal,
  { request_id }: Event,
  agent = "triage",
): Promise<unknown> {
  return runtime.as(principal).process(agent, {
    type: "ResumeWithInput",
    request_id: request_id ?? "",
    request_keys: { approved: true },
  });
}

async function checkPaidBy(runtime: Runtime, asked: Event): Promise<void> {
  const own = runtime.as(ANN);
  await expect.poll(async () => (await own.status("pay-1")).status, { timeout: 60_000 }).toBe("completed");
  const events = await eventsOf(own, asked.request_id ?? "");
  const answers = events.filter(({ type }) => type === "ResumeWithInput");
  expect(answers).toMatchObject([{ by: { id: "fay", name: "Fay" } }]);
  const { entries } = await runtime.audit.list({ action: "answer", limit: 10 });
  expect(entries).toMatchObject([
    { by: { id: "fay", name: "Fay" }, requestId: asked.request_id, owner: "acme" },
  ]);
}

test("an actor that is asked asks finance: its user reads the question, finance answers, the trail says who", async () => {
  const runtime = await start([triage(payer, "ask"), payer]);
  const asked = await askToPay(runtime);
  await expect(answer(runtime, ANN, asked, "payer")).rejects.toMatchObject({ code: "not_an_approver" });
  await answer(runtime, FAY, asked, "payer");
  await checkPaidBy(runtime, asked);
});

test("an agent on another server asks finance, through the agent that has called it", async () => {
  const far = await start([payer]);
  const app = createApp(far);
  const fetch = (async (input, init) => app.fetch(new Request(input, init))) as typeof globalThis.fetch;
  const runtime = await start([
    triage(remoteAgent("http://localhost/payer", { fetch, name: "payment" }), "call"),
  ]);
  const asked = await askToPay(runtime);
  await expect(answer(runtime, ANN, asked)).rejects.toMatchObject({ code: "not_an_approver" });
  await answer(runtime, FAY, asked);
  await checkPaidBy(runtime, asked);
});

test("finance answers the question of a turn that is held, and it counts when the turn goes on", async () => {
  const directory = temporaryDirectory();
  const first = await start([triage(payer, "call"), payer], directory);
  const asked = await askToPay(first);
  await first.close();

  // No served code continues the turn.
  const other = await start([payer], directory);
  await other.retryHeld({});
  await other.close();
  const changed = await start([triage(payer, "call", "2"), payer], directory);
  await expect(answer(changed, ANN, asked)).rejects.toMatchObject({ code: "not_an_approver" });
  await answer(changed, FAY, asked);
  await expect
    .poll(async () => (await changed.as(ANN).status("pay-1")).status, { timeout: 60_000 })
    .toBe("held");
  await changed.close();

  const runtime = await start([triage(payer, "call"), payer], directory);
  await runtime.retryHeld({});
  await checkPaidBy(runtime, asked);
});
