import { AgentError, createRuntime, defineAgent } from "troupe";
import type { Event, Principal, Runtime } from "troupe";
import { createApp } from "troupe/http";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { temporaryDirectory } from "../../storage/directories.ts";
import { eventsOf } from "./events-of.ts";

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"], name: "Ann" };
const FAY: Principal = { id: "fay", owner: "acme", roles: ["user", "finance"], name: "Fay" };
const FIN: Principal = { id: "fin", owner: "bolt", roles: ["user", "finance"] };
const OPS: Principal = { id: "ops", owner: "default", roles: ["operator"] };
const CFO: Principal = { id: "cfo", owner: "default", roles: ["operator", "finance"] };
const ROOT: Principal = { id: "root", owner: "default", roles: ["admin"] };

const approved = z.object({ approved: z.boolean().describe("Pay 250 EUR?") });

const payer = defineAgent({
  name: "payer",
  purpose: "Pays.",
  operations: (own) => ({
    pay: own({
      input: z.number(),
      async run(amount, turn) {
        if (amount <= 100) return true;
        return (await turn.waitForInput(approved, { approvers: ["finance"] })).approved;
      },
    }),
    ask: own({
      input: z.array(z.string()),
      run: async (approvers, turn) => (await turn.waitForInput(approved, { approvers })).approved,
    }),
    mail: own({
      input: z.null(),
      async run(_, turn) {
        const answer = turn.waitForInput(approved, { approvers: ["finance"] });
        links.push(
          await turn.answerLink(answer, { name: "Tom" }),
          await turn.answerLink(answer, { name: "Fay", roles: ["finance"] }),
        );
        return (await answer).approved;
      },
    }),
  }),
});

const triage = defineAgent({
  name: "triage",
  purpose: "Decides what to pay.",
  operations: (own) => ({
    handle: own({
      input: z.number(),
      run: (amount, turn) => turn.call(payer, "pay", amount),
    }),
  }),
});

/** The links that the agent has made. */
const links: string[] = [];

async function start(directory = temporaryDirectory()): Promise<Runtime> {
  const runtime = createRuntime({ agents: [triage, payer], log: sqliteLog(directory) });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

/** A payment of Ann that waits for finance. */
async function askToPay(runtime: Runtime, agent = "triage", operation = "handle"): Promise<void> {
  const own = runtime.as(ANN);
  const receipt = await own.process(agent, {
    type: "OperationRequest",
    operation,
    input: operation === "mail" ? null : 250,
    request_id: "pay-1",
  });
  await own.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
}

function answer(runtime: Runtime, principal: Principal, agent = "triage"): Promise<unknown> {
  return runtime.as(principal).process(agent, {
    type: "ResumeWithInput",
    request_id: "pay-1",
    request_keys: { approved: true },
  });
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "none";
  } catch (error) {
    return error instanceof AgentError ? error.code : String(error);
  }
}

test("a payment above 100 is for finance: its user reads the question, finance answers, and the log says who", async () => {
  const directory = temporaryDirectory();
  const first = await start(directory);
  await askToPay(first);
  const question = {
    type: "WaitForInput",
    request_keys: {},
    question: "Pay 250 EUR?",
    approvers: ["finance"],
  };
  const [asked] = (await first.as(ANN).waits({ limit: 10 })).events.map((text) => JSON.parse(text) as Event);
  expect(asked).toMatchObject(question);
  expect(asked).not.toHaveProperty("schema");
  await first.close();

  // The turn that asked is held by the log alone now.
  const runtime = await start(directory);
  expect(await codeOf(answer(runtime, ANN))).toBe("not_an_approver");
  expect(await runtime.as(ANN).status("pay-1")).toMatchObject({
    status: "waiting",
    request_keys: {},
    question: "Pay 250 EUR?",
    waiting_for: { kind: "input", approvers: ["finance"] },
  });
  await answer(runtime, FAY);
  await expect.poll(async () => (await runtime.as(ANN).status("pay-1")).status).toBe("completed");
  const events = await eventsOf(runtime.as(ANN), "pay-1");
  expect(events.find(({ type }) => type === "WaitForInput")).toMatchObject(question);
  expect(events.find(({ type }) => type === "ResumeWithInput")).toMatchObject({
    by: { id: "fay", name: "Fay" },
  });
});

test("roles of an application show nothing of other owners; an operator needs the role, an admin does not", async () => {
  const other = await start();
  await askToPay(other);
  const [wait = "{}"] = (await other.waits({ limit: 1 })).events;
  const { run_id: runId } = JSON.parse(wait) as Event;
  const answerAs = (principal: Principal): Promise<unknown> =>
    other.as(principal).process("triage", {
      type: "ResumeWithInput",
      run_id: runId,
      request_keys: { approved: true },
    });
  expect(await codeOf(answerAs(FIN))).toBe("not_found");
  expect(await codeOf(answerAs(OPS))).toBe("not_an_approver");
  const formOf = async (principal: Principal): Promise<unknown> =>
    (JSON.parse((await other.as(principal).waits({ limit: 1 })).events[0] ?? "{}") as { schema?: unknown })
      .schema;
  expect(await formOf(OPS)).toBeUndefined();
  expect(await formOf(CFO)).toBeDefined();
  expect(await formOf(ROOT)).toBeDefined();
  expect(await codeOf(answerAs(CFO))).toBe("none");
});

test("streams, pages and replies show the form only to approvers, and the others as much of everything else", async () => {
  const runtime = await start();
  await askToPay(runtime);
  const address = await runtime.as(ANN).resolve("pay-1");
  const read = async (principal: Principal): Promise<readonly string[]> => {
    const own = runtime.as(principal);
    const texts: string[] = [];
    const feed = await own.follow(address, { after: 0 });
    for await (const { events } of feed.pages) texts.push(...events);
    expect((await own.read(address, { after: 0 })).events).toEqual(texts);
    return texts;
  };
  const [user, finance] = [await read(ANN), await read(FAY)];
  expect(finance.join("\n")).toContain('"properties"');
  expect(user.filter((text) => !text.includes('"WaitForInput"'))).toEqual(
    finance.filter((text) => !text.includes('"WaitForInput"')),
  );
  expect(user.filter((text) => text.includes('"schema"'))).toEqual([]);
  const ids = (texts: readonly string[]): readonly number[] =>
    texts.map((text) => (JSON.parse(text) as Event).id);
  expect(ids(user)).toEqual(ids(finance));
});

test("over HTTP a wrong answer is 403 with the approvers, and the question stays open", async () => {
  const runtime = await start();
  await askToPay(runtime);
  const app = createApp(runtime, {
    authenticate: (request) => ({ ann: ANN, fay: FAY })[request.headers.get("x-user") ?? ""],
  });
  const send = (user: string): Response | Promise<Response> =>
    app.request("/triage/process", {
      method: "POST",
      headers: { "x-user": user, "content-type": "application/json" },
      body: JSON.stringify({
        type: "ResumeWithInput",
        request_id: "pay-1",
        request_keys: { approved: true },
      }),
    });
  const refused = await send("ann");
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ code: "not_an_approver", approvers: ["finance"] });
  expect((await send("fay")).status).toBeLessThan(300);
});

test("a link answers with the roles that it was made with", async () => {
  const runtime = await start();
  links.length = 0;
  await askToPay(runtime, "payer", "mail");
  await expect.poll(() => links.length).toBe(2);
  const [none = "", finance = ""] = links.map((link) => link.split("/").at(-1) ?? "");
  expect(await runtime.answerLinks.open(none)).toMatchObject({ state: "open", approvers: ["finance"] });
  expect(await codeOf(runtime.answerLinks.answer(none, { approved: true }))).toBe("not_an_approver");
  const app = createApp(runtime);
  const page = await app.request(`/answer-links/${none}`);
  expect(page.status).toBe(403);
  const html = await page.text();
  expect(html).toContain("Pay 250 EUR?");
  expect(html).toContain("Only finance may answer");
  expect(html).not.toContain("<form");
  await runtime.answerLinks.answer(finance, { approved: true });
  const events = await eventsOf(runtime.as(ANN), "pay-1");
  expect(events.find(({ type }) => type === "ResumeWithInput")).toMatchObject({
    by: { id: "link", name: "Fay" },
  });
});

test("approvers that are no roles fail the turn instead of letting everyone answer", async () => {
  const runtime = await start();
  for (const wrong of [[], [""], ["two words"], Array.from({ length: 21 }, (_, at) => `r${at}`)]) {
    await expect(runtime.ask(payer, "ask", wrong)).rejects.toThrow(/approvers must be 1 to 20 roles/);
  }
});
