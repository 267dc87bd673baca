import { createRuntime, defineAgent } from "troupe";
import type { Model, Principal } from "troupe";
import { a2a } from "troupe/adapters/a2a";
import { agUi } from "troupe/adapters/ag-ui";
import { agentic } from "troupe/adapters/agentic";
import { agentscope } from "troupe/adapters/agentscope";
import { aipGateway } from "troupe/adapters/aip";
import { tasks } from "troupe/adapters/tasks";
import { createClient } from "troupe/client";
import type { JsonObject } from "troupe/protocol";
import { serve } from "troupe/node";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import type { Addresses } from "./serve-wires.ts";
import { getText, post, wires } from "./wires.ts";
import type { Run, Wire } from "./wires.ts";

const ANN: Principal = { id: "ann", owner: "default", roles: ["user"] };
const FAY: Principal = { id: "fay", owner: "default", roles: ["user", "finance"] };

const payer = defineAgent({
  name: "payer",
  purpose: "Asks finance before it pays.",
  async chat(_input, turn) {
    const asked = z.object({ approved: z.boolean().describe("Pay 250 EUR?") });
    const { approved } = await turn.waitForInput(asked, { approvers: ["finance"] });
    return approved ? "Paid." : "Not paid.";
  },
});

const saver = defineAgent({
  name: "saver",
  purpose: "Asks a model, for which its run has no budget.",
  async chat(_input, turn) {
    await turn.complete({ model: costly, input: null });
    return "Done.";
  },
});

const costly: Model = {
  name: "costly",
  async *generate() {
    yield { type: "result", result: null, usage: { input_tokens: 4 } };
  },
};

/** Who makes the requests. AIP has no authentication: there it is always a user without further roles. */
let who = ANN;
let at: Addresses;
let close: () => Promise<void>;

beforeAll(async () => {
  const runtime = createRuntime({
    agents: [payer, saver],
    owners: () => ({ agents: { saver: { tokensPerRun: 0 } }, budgetApprovers: ["finance"] }),
  });
  const server = await serve(runtime, {
    port: 0,
    drain: false,
    authenticate: () => who,
    adapters: [agentscope(), tasks(), agentic(), agUi(), a2a()],
    listeners: [aipGateway({ open: true })],
  });
  at = { url: server.url, aip: server.listeners[0]?.address ?? "" };
  close = async () => {
    await server.close();
    await runtime.close();
  };
});
afterAll(() => close());
beforeEach(() => {
  who = ANN;
});

interface Status {
  readonly run_id: string;
  readonly status: string;
  readonly result?: string;
}

async function statusOf(requestId: string): Promise<Status> {
  return JSON.parse(await getText(`${at.url}/request/${requestId}`)) as Status;
}

/** Answers over a wire; over that without authentication nobody has further roles, so it is answered beside it. */
async function answerAs(wire: Wire, run: Run, keys: JsonObject): Promise<void> {
  if (wire.name !== "AIP") {
    await wire.answer(at, run, keys);
    return;
  }
  const answer = { type: "ResumeWithInput", request_id: run.requestId, request_keys: keys };
  await post(`${at.url}/${run.agent}/process?wait=completed`, answer);
}

test.each(wires)(
  "over $name, who is no approver reads the question and cannot answer it, and the approver can",
  async (wire) => {
    const requestId = await wire.begin(at, "payer", "pay");
    const { run_id: runId } = await statusOf(requestId);
    const run = { agent: "payer", runId, requestId };
    const shown = JSON.stringify(await wire.read(at, run));
    expect(shown).toContain("Pay 250 EUR?");
    expect(shown).not.toContain("properties");

    const refused = await wire.answer(at, run, { approved: true }).catch(String);
    expect(refused).toContain("finance");
    expect(refused).not.toContain("Paid");
    expect(await statusOf(requestId)).toMatchObject({ status: "waiting" });

    who = FAY;
    await answerAs(wire, run, { approved: true });
    expect(await statusOf(requestId)).toMatchObject({ status: "completed", result: "Paid." });
  },
);

test.each(wires)("over $name, a budget is a question, which its approver answers", async (wire) => {
  const requestId = await wire.begin(at, "saver", "go");
  const { run_id: runId } = await statusOf(requestId);
  const run = { agent: "saver", runId, requestId };
  expect(JSON.stringify(await wire.read(at, run))).toContain("This run has used 0 of 0 tokens");
  const refused = await wire.answer(at, run, { raise: 9 }).catch(String);
  expect(refused).toContain("finance");
  expect(await statusOf(requestId)).toMatchObject({ status: "waiting" });
  who = FAY;
  await answerAs(wire, run, { raise: 9 });
  expect(await statusOf(requestId)).toMatchObject({ status: "completed", result: "Done." });
});

test("a client learns from the code of the refusal that it is no approver", async () => {
  const client = createClient(at.url);
  const call = client.agent("payer").chat("pay");
  const asked = await call.then(undefined, (error: unknown) => error);
  expect(asked).toMatchObject({ code: "waiting" });
  const [wait] = call.waits;
  expect(wait).toMatchObject({ question: "Pay 250 EUR?", approvers: ["finance"], questions: {} });
  await expect(wait?.answer({ approved: true })).rejects.toMatchObject({
    code: "not_an_approver",
    details: { facts: { approvers: ["finance"] } },
  });
  who = FAY;
  await wait?.answer({ approved: true });
  await expect(call).resolves.toBe("Paid.");
});
