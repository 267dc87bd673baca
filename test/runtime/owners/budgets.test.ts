import { createRuntime, defineAgent } from "troupe";
import type { Event, EventOf, Model, OwnerLimits, Principal, Runtime, Telemetry, Turn } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { manualEnvironment } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../storage/directories.ts";
import { eventsOf } from "../access/events-of.ts";

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"] };
const FAY: Principal = { id: "fay", owner: "acme", roles: ["user", "finance"], name: "Fay" };
const BOB: Principal = { id: "bob", owner: "bolt", roles: ["user"] };

let asked = 0;

/** Each completion costs 60 tokens and 3. */
const model: Model = {
  name: "meter",
  async *generate() {
    asked += 1;
    yield { type: "result", result: "ok", usage: { input_tokens: 40, output_tokens: 20, cost: 3 } };
  },
};

/** Makes as many completions as it is asked for, one after another. */
const writer = defineAgent({
  name: "writer",
  purpose: "Asks a model.",
  async chat(input, turn) {
    for (let left = Number(input); left > 0; left -= 1)
      await turn.complete({ model, input: { messages: [] } });
    return "done";
  },
});

async function open(limits: OwnerLimits, directory: string): Promise<Runtime> {
  const owners = (owner: string): OwnerLimits => (owner === "acme" ? limits : {});
  const runtime = createRuntime({ agents: [writer], log: sqliteLog(directory), owners });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

async function start(limits: OwnerLimits): Promise<Runtime> {
  asked = 0;
  return open(limits, temporaryDirectory());
}

/** Makes a request, and reads how it ends or what it asks. */
async function run(runtime: Runtime, input: string, requestId: string): Promise<Event> {
  const receipt = await runtime.process("writer", { type: "ChatRequest", input, request_id: requestId });
  return answerTo(runtime, receipt);
}

async function answerTo(runtime: Runtime, receipt: Awaited<ReturnType<Runtime["process"]>>): Promise<Event> {
  const feed = await runtime.answers(receipt);
  let last: string | undefined;
  for await (const { events } of feed.pages) last = events.at(-1) ?? last;
  return JSON.parse(last ?? "") as Event;
}

/** Raises the budget that a request asks for, and reads how the request goes on. */
async function raise(runtime: Runtime, requestId: string, by: number): Promise<Event> {
  const receipt = await runtime.process("writer", {
    type: "ResumeWithInput",
    request_id: requestId,
    request_keys: { raise: by },
  });
  return answerTo(runtime, receipt);
}

test("a completion over the budget of the day waits, is raised by its approver, goes on, and ends", async () => {
  const runtime = await start({ tokensPerDay: 100, budgetApprovers: ["finance"] });
  const [ann, fay] = [runtime.as(ANN), runtime.as(FAY)];
  const wait = (await run(ann, "4", "a-1")) as EventOf<"WaitForInput">;
  expect(wait).toMatchObject({
    type: "WaitForInput",
    approvers: ["finance"],
    budget: { unit: "tokens", limit: 100, spent: 120 },
  });
  expect(wait.question).toContain("acme has used 120 of 100 tokens");
  expect(asked).toBe(2);
  expect(await runtime.as(BOB).ask(writer, "chat", { input: "3" })).toEqual({ output: "done" });

  await expect(raise(ann, "a-1", 1_000)).rejects.toMatchObject({ code: "not_an_approver" });
  await expect(raise(fay, "a-1", -1)).rejects.toMatchObject({ code: "unprocessable" });
  await expect(raise(fay, "a-1", 0.5)).rejects.toMatchObject({ code: "unprocessable" });
  // 130 is reached again after one completion.
  expect(await raise(fay, "a-1", 30)).toMatchObject({
    type: "WaitForInput",
    budget: { limit: 130, spent: 180 },
  });
  expect(await raise(fay, "a-1", 1_000)).toMatchObject({
    type: "RequestCompleted",
    finish_reason: "success",
  });

  const events = await eventsOf(ann, "a-1");
  const results = events.filter(({ type }) => type === "CompletionResult");
  expect(results).toHaveLength(4);
  const answers = events.filter(({ type }) => type === "ResumeWithInput");
  expect(answers.map((event) => (event as EventOf<"ResumeWithInput">).by)).toEqual([
    { id: "fay", name: "Fay" },
    { id: "fay", name: "Fay" },
  ]);
  // The others of the owner have the raised budget, too.
  expect(await run(ann, "1", "a-2")).toMatchObject({ finish_reason: "success" });
});

test("a budget that is not raised ends the completion, and a cost counts like tokens", async () => {
  const runtime = await start({ costPerDay: 2, budgetApprovers: ["finance"] });
  const wait = await run(runtime.as(ANN), "2", "a-1");
  expect(wait).toMatchObject({ budget: { unit: "cost", limit: 2, spent: 3 } });
  const end = (await raise(runtime.as(FAY), "a-1", 0)) as EventOf<"RequestCompleted">;
  expect(end).toMatchObject({ finish_reason: "error" });
  expect(end.error?.message).toContain("was not raised");
  expect(asked).toBe(1);
});

test("a wait for a budget survives restarts, before and after it is raised; nothing is asked or counted twice", async () => {
  const directory = temporaryDirectory();
  asked = 0;
  const limits = { tokensPerDay: 50, budgetApprovers: ["finance"] };
  const first = await open(limits, directory);
  expect(await run(first.as(ANN), "3", "a-1")).toMatchObject({ budget: { limit: 50, spent: 60 } });
  await first.close();

  const second = await open(limits, directory);
  expect((await second.as(ANN).waits({ limit: 10 })).events).toHaveLength(1);
  expect(await raise(second.as(FAY), "a-1", 20)).toMatchObject({ budget: { limit: 70, spent: 120 } });
  await second.close();

  const third = await open(limits, directory);
  expect(await raise(third.as(FAY), "a-1", 100)).toMatchObject({ finish_reason: "success" });
  expect(asked).toBe(3);
  const events = await eventsOf(third.as(ANN), "a-1");
  expect(events.filter(({ type }) => type === "CompletionCall")).toHaveLength(3);
  expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 120, output_tokens: 60, cost: 9 } });
});

test("a canceled request does not wait any longer", async () => {
  const runtime = await start({ tokensPerDay: 0 });
  const ann = runtime.as(ANN);
  expect(await run(ann, "1", "a-1")).toMatchObject({
    approvers: ["operator"],
    budget: { limit: 0, spent: 0 },
  });
  const receipt = await ann.process("writer", { type: "CancelRequest", request_id: "a-1" });
  expect(await answerTo(ann, receipt)).toMatchObject({ type: "RequestCompleted", finish_reason: "canceled" });
  expect((await ann.waits({ limit: 10 })).events).toHaveLength(0);
  expect(asked).toBe(0);
});

test("a run that is forked at the question asks it anew, and goes on when it is raised", async () => {
  const runtime = await start({ tokensPerDay: 50, budgetApprovers: ["finance"] });
  const [ann, fay] = [runtime.as(ANN), runtime.as(FAY)];
  const asks = (await run(ann, "2", "a-1")) as EventOf<"WaitForInput">;
  const forked = await ann.fork(asks.run_id, { waitId: asks.id });
  const address = { kind: "run", runId: forked, agent: "writer" } as const;
  const seen: Event[] = [];
  for await (const { events } of (await ann.follow(address, { after: 0 })).pages)
    seen.push(...events.map((text) => JSON.parse(text) as Event));
  const again = seen.at(-1) as EventOf<"WaitForInput">;
  expect(again).toMatchObject({
    type: "WaitForInput",
    approvers: ["finance"],
    budget: { limit: 50, spent: 60 },
  });
  const ended = ends(ann, "a-1");
  expect(await raise(fay, again.request_id ?? "", 1_000)).toMatchObject({ finish_reason: "success" });
  // The other question needs no answer any more.
  expect(await ended).toMatchObject({ finish_reason: "success" });
  expect(asked).toBe(3);
});

/** Resolves with the end of a request, also behind questions. */
async function ends(runtime: Runtime, requestId: string): Promise<Event> {
  const address = await runtime.resolve(requestId);
  const feed = await runtime.follow(address, { after: 0, forever: true });
  for await (const { events } of feed.pages)
    for (const text of events) {
      const event = JSON.parse(text) as Event;
      if (event.type === "RequestCompleted" && event.request_id === requestId) return event;
    }
  throw new Error(`request ${requestId} has no end`);
}

test("the end of the day ends the wait, with the budget of the next day", async () => {
  asked = 0;
  const environment = manualEnvironment({ seed: 1 });
  const owners = (): OwnerLimits => ({ tokensPerDay: 60 });
  const runtime = createRuntime({ agents: [writer], environment, owners });
  onTestFinished(async () => {
    const closed = runtime.close();
    await environment.idle();
    await closed;
  });
  await environment.idle();
  const made = runtime.process("writer", { type: "ChatRequest", input: "2", request_id: "a-1" });
  await environment.idle();
  await made;
  expect(asked).toBe(1);
  const day = 86_400_000;
  await environment.advance(day - (environment.now() % day));
  await environment.idle();
  expect(asked).toBe(2);
  const status = runtime.status("a-1");
  await environment.idle();
  expect(await status).toMatchObject({ status: "completed" });
});

test(
  "100 parallel runs of one owner exceed the budget of the day by at most one completion each",
  { tags: "long" },
  async () => {
    const runtime = await start({ tokensPerDay: 60 * 150 });
    const ann = runtime.as(ANN);
    const ends = await Promise.all(Array.from({ length: 100 }, (_, index) => run(ann, "5", `a-${index}`)));
    expect(ends.every(({ type }) => type === "WaitForInput")).toBe(true);
    expect(asked).toBeGreaterThanOrEqual(150);
    expect(asked).toBeLessThanOrEqual(250);
  },
);

test("a run over its own budget waits until it is raised; other runs have theirs", async () => {
  const runtime = await start({ tokensPerRun: 100, budgetApprovers: ["finance"] });
  const [ann, fay] = [runtime.as(ANN), runtime.as(FAY)];
  const wait = (await run(ann, "4", "a-1")) as EventOf<"WaitForInput">;
  expect(wait.budget).toEqual({ unit: "tokens", limit: 100, spent: 120 });
  expect(wait.expires_at).toBeUndefined();
  expect(wait.question).toContain("This run has used 120 of 100 tokens. By how much more?");
  expect(await run(ann, "2", "a-2")).toMatchObject({ finish_reason: "success" });
  // 180 of 190: one more begins, and is the last one.
  expect(await raise(fay, "a-1", 90)).toMatchObject({ finish_reason: "success" });
  const { run_id: runId } = wait;
  const next = { type: "ChatRequest", input: "1", request_id: "a-3", run_id: runId } as const;
  expect(await answerTo(ann, await ann.process("writer", next))).toMatchObject({
    budget: { limit: 190, spent: 240 },
  });
});

test("the budget of a run, and by how much it was raised, survive a restart", { tags: "long" }, async () => {
  const directory = temporaryDirectory();
  asked = 0;
  const limits = { agents: { writer: { costPerRun: 5 } }, costPerRun: 1, budgetApprovers: ["finance"] };
  const first = await open(limits, directory);
  expect(await run(first.as(ANN), "4", "a-1")).toMatchObject({
    budget: { unit: "cost", limit: 5, spent: 6 },
  });
  expect(await raise(first.as(FAY), "a-1", 2.5)).toMatchObject({ budget: { limit: 7.5, spent: 9 } });
  await first.close();
  const second = await open(limits, directory);
  expect(await raise(second.as(FAY), "a-1", 100)).toMatchObject({ finish_reason: "success" });
  const { run_id: runId } = (await eventsOf(second.as(ANN), "a-1"))[0] as Event;
  await second.close();
  const third = await open(limits, directory);
  const next = { type: "ChatRequest", input: "99", request_id: "a-2", run_id: runId } as const;
  const receipt = await third.as(ANN).process("writer", next);
  // 12 before, and 107.5 allowed: 32 more completions begin.
  expect(await answerTo(third.as(ANN), receipt)).toMatchObject({ budget: { limit: 107.5, spent: 108 } });
});

test("an agent has a budget of its own in all runs of its owner, also when others call it", async () => {
  asked = 0;
  const chief = defineAgent({
    name: "chief",
    purpose: "Has a writer.",
    uses: { writer },
    async chat(input, turn) {
      await turn.complete({ model, input: { messages: [] } });
      return (await turn.call(turn.uses.writer, "chat", { input })).output;
    },
  });
  const agents = { writer: { tokensPerDay: 100 }, chief: { costPerDay: 100 } };
  const limits = { agents, budgetApprovers: ["finance"] };
  const log = sqliteLog(temporaryDirectory());
  const owners = (owner: string): OwnerLimits => (owner === "acme" ? limits : {});
  const runtime = createRuntime({ agents: [writer, chief], log, owners });
  onTestFinished(() => runtime.close());
  const [ann, fay] = [runtime.as(ANN), runtime.as(FAY)];
  expect(await run(ann, "1", "a-1")).toMatchObject({ finish_reason: "success" });
  const called = { type: "ChatRequest", input: "2", request_id: "a-2" } as const;
  const wait = (await answerTo(ann, await ann.process("chief", called))) as EventOf<"WaitForInput">;
  expect(wait).toMatchObject({
    agent: "writer",
    budget: { unit: "tokens", agent: "writer", limit: 100, spent: 120 },
  });
  expect(wait.question).toContain("Agent writer of acme has used 120 of 100 tokens");
  expect(asked).toBe(3);
  // Of another owner, the same agent has no budget.
  expect(await run(runtime.as(BOB), "3", "b-1")).toMatchObject({ finish_reason: "success" });
  const answer = { type: "ResumeWithInput", request_id: "a-2", request_keys: { raise: 50 } } as const;
  expect(await answerTo(fay, await fay.process("chief", answer))).toMatchObject({ finish_reason: "success" });
});

test("a raise has the other runs go on that wait for the same budget, on disk too, and those of another one wait", async () => {
  const directory = temporaryDirectory();
  const limits = { tokensPerDay: 60, tokensPerRun: 500, budgetApprovers: ["finance"] };
  asked = 0;
  const first = await open(limits, directory);
  expect(await run(first.as(ANN), "1", "a-0")).toMatchObject({ finish_reason: "success" });
  for (const id of ["a-1", "a-2", "a-3"])
    expect(await run(first.as(ANN), "1", id)).toMatchObject({ budget: { limit: 60, spent: 60 } });
  await first.close();
  const runtime = await open(limits, directory);
  const [ann, fay] = [runtime.as(ANN), runtime.as(FAY)];
  expect(await run(ann, "1", "a-4")).toMatchObject({ budget: { spent: 60 } });
  const others = Promise.all(["a-2", "a-3", "a-4"].map((id) => ends(ann, id)));
  expect(await raise(fay, "a-1", 1_000)).toMatchObject({ finish_reason: "success" });
  for (const end of await others) expect(end).toMatchObject({ finish_reason: "success" });
  expect((await ann.waits({ limit: 10 })).events).toEqual([]);
  expect(await run(ann, "20", "a-5")).toMatchObject({ budget: { limit: 500, spent: 540 } });
  const [asksAgain] = (await eventsOf(ann, "a-2")).filter(({ type }) => type === "WaitExpired");
  expect(asksAgain).toBeDefined();
});

test("a run that waits for one budget waits for the next one when the first is raised, and hears of its raise", async () => {
  const runtime = await start({
    tokensPerDay: 60,
    agents: { writer: { tokensPerDay: 60 } },
    budgetApprovers: ["finance"],
  });
  const [ann, fay] = [runtime.as(ANN), runtime.as(FAY)];
  const asks = [await run(ann, "2", "a-1"), await run(ann, "1", "a-2")];
  const budgets = asks.map((event) => (event as EventOf<"WaitForInput">).budget);
  expect(budgets[0]?.agent).toBe(budgets[1]?.agent);
  // The other run's question is about the other budget by now; the answer to one of them is heard by both.
  const next = (await raise(fay, "a-1", 1_000)) as EventOf<"WaitForInput">;
  expect(next).toMatchObject({ type: "WaitForInput" });
  expect(next.budget?.agent).not.toBe(budgets[0]?.agent);
  expect(await raise(fay, "a-1", 1_000)).toMatchObject({ finish_reason: "success" });
  await expect
    .poll(async () => (await eventsOf(ann, "a-2")).at(-1))
    .toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
});

test("branches of one turn go on with one raise of the budget of their run", async () => {
  const fan = defineAgent({
    name: "writer",
    purpose: "Asks a model in branches.",
    async chat(_input, turn) {
      await turn.complete({ model, input: { messages: [] } });
      const one = (branch: Turn): Promise<unknown> => branch.complete({ model, input: { messages: [] } });
      await turn.all([one, one, one]);
      return "done";
    },
  });
  const owners = (): OwnerLimits => ({ tokensPerRun: 60 });
  const runtime = createRuntime({ agents: [fan], log: sqliteLog(temporaryDirectory()), owners });
  onTestFinished(() => runtime.close());
  const wait = (await run(runtime, "go", "r-1")) as EventOf<"WaitForInput">;
  const ended = ends(runtime, "r-1");
  await runtime.process("writer", {
    type: "ResumeWithInput",
    request_id: "r-1",
    wait_id: wait.id,
    request_keys: { raise: 500 },
  });
  expect(await ended).toMatchObject({ finish_reason: "success" });
});

test("the time limit of a completion begins when its budget has room", async () => {
  const slow: Model = {
    name: "slow",
    async *generate(_input, { signal }) {
      const aborted = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => aborted.resolve());
      await aborted.promise;
      yield { type: "result", result: "never", usage: {} };
    },
  };
  const limited = defineAgent({
    name: "writer",
    purpose: "Asks two models.",
    async chat(_input, turn) {
      await turn.complete({ model, input: { messages: [] } });
      await turn.complete({ model: slow, input: { messages: [] }, timeoutMs: 5_000 });
      return "done";
    },
  });
  const environment = manualEnvironment({ seed: 1 });
  const owners = (): OwnerLimits => ({ tokensPerRun: 60 });
  const runtime = createRuntime({ agents: [limited], environment, owners });
  onTestFinished(async () => {
    const closed = runtime.close();
    await environment.idle();
    await closed;
  });
  const settled = async <Value>(work: Promise<Value>): Promise<Value> => {
    await environment.idle();
    return work;
  };
  await settled(runtime.process("writer", { type: "ChatRequest", input: "go", request_id: "r-1" }));
  await environment.advance(3_600_000);
  expect(await settled(runtime.status("r-1"))).toMatchObject({ status: "waiting" });
  const answer = { type: "ResumeWithInput", request_id: "r-1", request_keys: { raise: 100 } } as const;
  await settled(runtime.process("writer", answer));
  await environment.advance(4_999);
  expect(await settled(runtime.status("r-1"))).toMatchObject({ status: "running" });
  await environment.advance(1);
  const status = await settled(runtime.status("r-1"));
  expect(status).toMatchObject({ status: "completed", finish_reason: "error" });
  expect(JSON.stringify(status)).toContain("did not end within 5000 ms");
});

test("limits that are wrong are named", async () => {
  const faults: unknown[] = [];
  for (const agents of [5, { writer: 5 }, { writer: { tokensPerday: 1 } }, { writer: { costPerRun: -1 } }]) {
    const owners = (): OwnerLimits => ({ agents }) as unknown as OwnerLimits;
    const runtime = createRuntime({
      agents: [writer],
      owners,
      telemetry: { ...noTelemetry, fault: (_what, error) => faults.push((error as Error).message) },
    });
    await expect(runtime.process("writer", { type: "ChatRequest", input: "1" })).rejects.toMatchObject({
      code: "unavailable",
    });
    await runtime.close();
  }
  expect(faults).toEqual([
    "agents is no object with the budgets of agents by their names",
    "the budget of agent writer is no object",
    "there is no limit tokensPerday of agent writer; there are tokensPerDay, costPerDay, tokensPerRun, costPerRun",
    "the limit costPerRun of agent writer is not a number of 0 or more",
  ]);
});

const noTelemetry: Telemetry = {
  accepted() {},
  completed() {},
  committed() {},
  dropped() {},
  failed() {},
  fault() {},
};
