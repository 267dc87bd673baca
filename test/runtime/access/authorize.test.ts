import { AgentError, createRuntime, defineAgent } from "troupe";
import type { Action, Authorize, Principal, ActionResource, Runtime } from "troupe";
import { createApp } from "troupe/http";
import { agUi } from "troupe/adapters/ag-ui";
import { agentic } from "troupe/adapters/agentic";
import { agentscope } from "troupe/adapters/agentscope";
import { ui } from "troupe/adapters/ui";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"] };
const EVE: Principal = { id: "eve", owner: "acme", roles: ["user", "hr"] };
const ROOT: Principal = { id: "root", owner: "default", roles: ["admin"] };

const notes = defineAgent({
  name: "notes",
  purpose: "Keeps notes.",
  messages: { note: z.string() },
  operations: (own) => ({
    add: own({ input: z.string(), run: (text) => text }),
    ask: own({
      input: z.null(),
      run: async (_, turn) => (await turn.waitForInput(z.object({ yes: z.boolean() }))).yes,
    }),
  }),
});

const salaries = defineAgent({
  name: "salaries",
  purpose: "Knows what people earn.",
  operations: (own) => ({ add: own({ input: z.string(), run: (text) => text }) }),
});

/** People without the role `hr` see neither the agent for it nor runs that say they are for it. */
const hides: Authorize = ({ roles }, _, { agent, metadata }) =>
  roles.includes("hr") || (agent !== "salaries" && metadata["for"] !== "hr");

async function start(authorize: Authorize): Promise<Runtime> {
  const runtime = createRuntime({ agents: [notes, salaries], authorize });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

async function refusalOf(call: Promise<unknown> | (() => unknown)): Promise<string> {
  try {
    await (typeof call === "function" ? call() : call);
  } catch (error) {
    if (error instanceof AgentError) return `${error.code}: ${error.message}; ${error.details.hint ?? ""}`;
    throw error;
  }
  return "no refusal";
}

test("an agent that a principal may not see is for it like one that does not exist", async () => {
  const runtime = await start(hides);
  const [ann, eve] = [runtime.as(ANN), runtime.as(EVE)];
  expect(eve.agents).toEqual(["notes", "salaries"]);
  expect(ann.agents).toEqual(["notes"]);
  const calls: readonly ((agent: string) => Promise<unknown> | (() => unknown))[] = [
    (agent) => () => ann.describe(agent),
    (agent) => ann.process(agent, { type: "OperationRequest", operation: "add", input: "x" }),
    (agent) => ann.createRun(agent, {}),
    (agent) => ann.find(agent, "k"),
    (agent) => () => ann.actor({ ...salaries, name: agent }, "k"),
    (agent) => ann.ask({ ...salaries, name: agent }, "add", "x"),
  ];
  await eve.ask(salaries, "add", "x", { key: "k" });
  for (const call of calls) {
    const hidden = await refusalOf(call("salaries"));
    expect(hidden).toBe((await refusalOf(call("nothing"))).replaceAll("nothing", "salaries"));
    expect(hidden).toBe("not_found: there is no agent salaries; the agents here: notes");
  }
});

test("every wire lists and describes only the agents that a principal sees", async () => {
  const runtime = await start(hides);
  const people: Readonly<Record<string, Principal>> = { ann: ANN, eve: EVE };
  const app = createApp(runtime, {
    adapters: [agentic(), agentscope(), ui(), agUi()],
    authenticate: (request) => people[request.headers.get("authorization")?.slice("Bearer ".length) ?? ""],
  });
  const read = async (path: string, who: string): Promise<string> => {
    const answer = await app.request(path, { headers: { authorization: `Bearer ${who}` } });
    return `${answer.status} ${await answer.text()}`;
  };
  for (const path of ["/", "/openapi.json", "/agentic/_discovery", "/agentscope", "/ui", "/ag-ui"]) {
    expect(await read(path, "eve")).toContain("salaries");
    expect(await read(path, "ann")).toContain("notes");
    expect(await read(path, "ann")).not.toContain("salaries");
  }
  for (const path of ["/NAME/describe", "/NAME/nowhere"]) {
    const hidden = await read(path.replace("NAME", "salaries"), "ann");
    expect(hidden).toMatch(/^404 /);
    expect(hidden).toBe(
      (await read(path.replace("NAME", "nothing"), "ann")).replaceAll("nothing", "salaries"),
    );
  }
  expect(await read("/agentic/salaries/describe", "ann")).toMatch(/^404 /);
});

test("a run that a principal may not read is in no list, search, count or stream, and refused like none", async () => {
  const runtime = await start(hides);
  const [ann, eve] = [runtime.as(ANN), runtime.as(EVE)];
  const ask = {
    type: "OperationRequest",
    operation: "ask",
    input: null,
    request_metadata: { for: "hr" },
  } as const;
  const receipt = await eve.process("notes", { ...ask, key: "secret", request_id: "hr-1" });
  await eve.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
  await ann.ask(notes, "add", "open", { key: "open" });
  const runId = receipt.runId ?? "";

  const list = { limit: 10 } as const;
  expect((await eve.runs(list)).runs).toHaveLength(2);
  expect((await ann.runs(list)).runs.map(({ key }) => key)).toEqual(["open"]);
  expect((await ann.runs({ ...list, order: "created", total: true })).total).toBe(1);
  expect((await ann.runs({ ...list, order: "created" })).runs).toHaveLength(1);
  expect((await ann.runs({ ...list, text: "secret" })).runs).toHaveLength(0);
  expect((await eve.waits(list)).events).toHaveLength(1);
  expect((await ann.waits(list)).events).toHaveLength(0);
  const rows = await first(ann, 1);
  expect(rows.map((row) => (JSON.parse(row) as { key: string }).key)).toEqual(["open"]);

  const { file, calls } = {
    file: await eve.upload({
      runId,
      name: "a.txt",
      mimeType: "text/plain",
      limitBytes: 1_000,
      body: bytes("salary"),
    }),
    calls: [
      (run) => ann.run(run),
      (run) => ann.requests(run),
      (run) => ann.resolve(run),
      (run) => ann.fork(run, { after: 0 }),
      (run) => ann.removeRun(run),
      (run) => ann.endHeld(run),
      (run) => ann.read({ kind: "run", runId: run, agent: "notes" }, { after: 0 }),
      (run) => ann.process("notes", { ...ask, run_id: run }),
      (run) => ann.process("notes", { type: "Message", name: "note", body: "x", run_id: run }),
      (run) => ann.process("notes", { type: "ResumeWithInput", run_id: run, request_keys: { yes: true } }),
    ] satisfies ((run: string) => Promise<unknown>)[],
  };
  for (const call of calls)
    expect(await refusalOf(call(runId))).toBe(
      (await refusalOf(call("run_nothing"))).replaceAll("run_nothing", runId),
    );
  for (const call of [
    (id: string) => ann.resolve(id),
    (id: string) => ann.status(id),
    (id: string) => ann.answerLinks.create(id),
    (id: string) => ann.process("notes", { type: "CancelRequest", request_id: id }),
  ])
    expect(await refusalOf(call("hr-1"))).toBe(
      (await refusalOf(call("none-1"))).replaceAll("none-1", "hr-1"),
    );
  expect(await refusalOf(ann.artifact(file.artifactId))).toContain("not_found");
  expect(await ann.find("notes", "secret")).toBeUndefined();
  expect(await ann.actor(notes, "secret").get()).toBeUndefined();
  expect(await refusalOf(ann.ask(notes, "add", "x", { key: "secret" }))).toContain("not_found");
  // The same request again does not show what it did.
  expect(await refusalOf(ann.process("notes", { ...ask, key: "secret", request_id: "hr-1" }))).toContain(
    "not_found",
  );
});

test("each request is asked about with its action, its run and the metadata, and a refusal is in the audit trail", async () => {
  const asked: [Action, ActionResource][] = [];
  const denied = new Set<Action>();
  const runtime = await start((_, action, resource) => {
    asked.push([action, resource]);
    return !denied.has(action);
  });
  const ann = runtime.as(ANN);
  const metadata = { case: "7" };
  const ask = { type: "OperationRequest", operation: "ask", input: null, key: "k" } as const;
  const receipt = await ann.process("notes", { ...ask, request_id: "a-1", request_metadata: metadata });
  await ann.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
  expect(asked.filter(([action]) => action === "process")).toEqual([
    ["process", { owner: "acme", agent: "notes", metadata }],
  ]);

  const runId = receipt.runId ?? "";
  const resource = { owner: "acme", agent: "notes", run: runId, metadata };
  const calls: readonly (readonly [Action, () => Promise<unknown>])[] = [
    ["process", () => ann.process("notes", ask)],
    ["process", () => ann.createRun("notes", { key: "k" })],
    ["process", () => ann.resume(runId)],
    ["message", () => ann.process("notes", { type: "Message", name: "note", body: "x", key: "k" })],
    [
      "answer",
      () => ann.process("notes", { type: "ResumeWithInput", request_id: "a-1", request_keys: { yes: true } }),
    ],
    ["answer", () => ann.answerLinks.create("a-1")],
    ["cancel", () => ann.process("notes", { type: "CancelRequest", request_id: "a-1" })],
    ["cancel", () => ann.endHeld(runId)],
    ["configure", () => ann.process("notes", { type: "ConfigureRequest", args: {}, key: "k" })],
    ["fork", () => ann.fork(runId, { after: 0 })],
    ["remove", () => ann.removeRun(runId)],
    [
      "upload",
      () => ann.upload({ runId, name: "a.txt", mimeType: "text/plain", limitBytes: 1_000, body: bytes("x") }),
    ],
  ];
  const head = (await ann.run(runId)).last_event_id;
  for (const [action, call] of calls) {
    asked.length = 0;
    denied.add(action);
    const where = `the run ${runId} of the agent notes`;
    expect(await refusalOf(call())).toBe(
      `forbidden: ann may not ${action} with ${where}; the rules of this server do not allow it`,
    );
    expect(asked.filter(([name]) => name === action)).toEqual([[action, resource]]);
    denied.delete(action);
  }
  expect((await ann.run(runId)).last_event_id).toBe(head);

  const root = runtime.as(ROOT);
  denied.add("inspect").add("admin");
  expect(await refusalOf(root.deadLetters())).toContain("forbidden: root may not see the dead letters");
  expect(await refusalOf(() => root.inspection)).toContain("forbidden");
  expect(await refusalOf(root.erase({ owner: "acme" }))).toContain("forbidden: root may not erase");
  denied.clear();
  const { entries } = await root.audit.list({ action: "refuse", limit: 50 });
  expect(entries.filter(({ by }) => by.id === "ann")).toHaveLength(
    new Set(calls.map(([action]) => action)).size,
  );
});

test("a rule that fails or gives no boolean allows nothing, and the program itself is not asked", async () => {
  for (const rule of [
    () => Promise.resolve(true) as never,
    () => undefined as never,
    () => {
      throw new Error("the database is away");
    },
  ] satisfies Authorize[]) {
    const runtime = await start(rule);
    const refusal = await refusalOf(
      runtime.as(ANN).process("notes", { type: "OperationRequest", operation: "add", input: "x" }),
    );
    expect(refusal).toBe("internal: the server cannot tell whether this is allowed; ");
    expect(await runtime.ask(notes, "add", "x")).toBe("x");
  }
});

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

/** The first rows of the followed list of runs. */
async function first(runtime: Runtime, count: number): Promise<readonly string[]> {
  const rows: string[] = [];
  const abort = new AbortController();
  for await (const { events } of runtime.watchRuns({ limit: 10, signal: abort.signal }).pages) {
    rows.push(...events);
    if (rows.length >= count) break;
  }
  abort.abort();
  return rows;
}
