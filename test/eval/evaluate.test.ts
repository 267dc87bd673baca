import { createRuntime, defineAgent } from "troupe";
import type { Agent, Model, RunId, Runtime } from "troupe";
import {
  casesFromCsv,
  contains,
  callsTools,
  costsAtMost,
  defineEvaluation,
  evaluate,
  exact,
  formatCases,
  jsonDiff,
  modelJudge,
  named,
  parseCases,
  toCase,
  toReportPage,
  toJUnit,
  belowThresholds,
  compareReports,
  fitsSchema,
  takesAtMost,
} from "troupe/eval";
import type { EvalCase } from "troupe/eval";
import { scriptedModel } from "troupe/llm";
import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { createDesk, recordDesk } from "./desk.ts";
import { runsLong } from "../machine/long.ts";

async function pick(runtime: Runtime, runIds: readonly string[]): Promise<readonly EvalCase[]> {
  return Promise.all(runIds.map(async (id) => toCase(await runtime.inspection.recording(id as RunId))));
}

async function pickDesk(count: number): Promise<readonly EvalCase[]> {
  const { runtime, runIds } = await recordDesk(count);
  const cases = await pick(runtime, runIds);
  await runtime.close();
  // A data set is a file: what a case needs is in its line.
  return parseCases(formatCases(cases));
}

/** How many conversations are recorded. */
const CONVERSATIONS = runsLong ? 100 : 20;

test(`${CONVERSATIONS} conversations with approvals and errors of tools end as recorded, and no model is asked`, async () => {
  const cases = await pickDesk(CONVERSATIONS);
  let asked = 0;
  const agents = [createDesk({ asked: () => (asked += 1) })];

  const report = await evaluate({ name: "refunds", cases, agents, models: false });

  expect(report).toMatchObject({ equal: CONVERSATIONS, incomplete: 0, asked: 0, spent: 0 });
  expect(report.scores["exact"]).toEqual({ mean: 1, low: 1, high: 1, count: CONVERSATIONS });
  expect(report.cases.map(({ tools }) => tools)).toContainEqual(["order", "refund"]);
  expect(report.cases[0]?.usage.cost).toBeGreaterThan(0);
  expect(asked).toBe(0);
});

test("a changed word in the prompt is named, and the model is asked from there on", async () => {
  const cases = await pickDesk(4);
  let asked = 0;
  const agents = [
    createDesk({ instructions: "You are the helpful desk of a shop.", asked: () => (asked += 1) }),
  ];

  const offline = await evaluate({ name: "refunds", cases, agents, models: false });
  expect(asked).toBe(0);
  expect(offline.equal).toBe(0);
  expect(offline.cases[0]?.error?.message).toContain("the evaluation asks no model");

  const report = await evaluate({ name: "refunds", cases, agents });
  expect(report.equal).toBe(4);
  expect(report.asked).toBe(asked);
  expect(report.spent).toBeGreaterThan(0);
  expect(report.cases[0]?.difference).toEqual({
    turn: 1,
    completion: 1,
    agent: "desk",
    parts: ["instructions"],
  });
});

test("what a model has answered once is not asked again", async () => {
  const cases = await pickDesk(4);
  let asked = 0;
  const agents = [createDesk({ instructions: "Another one.", asked: () => (asked += 1) })];
  const kept = new Map<string, string>();
  const cache = {
    get: async (key: string) => kept.get(key),
    set: async (key: string, answer: string) => void kept.set(key, answer),
  };

  const first = await evaluate({ name: "refunds", cases, agents, cache });
  const before = asked;
  const second = await evaluate({ name: "refunds", cases, agents, cache });

  expect(before).toBeGreaterThan(0);
  expect(asked).toBe(before);
  expect(second.spent).toBe(0);
  expect(second.cases.map(({ output }) => output)).toEqual(first.cases.map(({ output }) => output));
});

test("a broken description of a tool is found by a threshold", async () => {
  const cases = await pickDesk(8);
  const good = await evaluate({ name: "refunds", cases, agents: [createDesk()] });
  const agents = [createDesk({ refundDescription: "Does something with an order." })];
  const broken = await evaluate({ name: "refunds", cases, agents });

  expect(belowThresholds(good, { exact: 1 })).toEqual([]);
  expect(belowThresholds(broken, { exact: 1 })).toEqual(["exact: 0.500 is below 1"]);
  expect(broken.cases[0]?.difference?.parts).toEqual(["tools"]);
  const { worse } = compareReports(broken, good);
  // A scorer that is new makes nothing better.
  const judged = await evaluate({
    name: "refunds",
    cases,
    agents: [createDesk()],
    scorers: [exact(), takesAtMost(60_000)],
  });
  expect(compareReports(judged, good)).toMatchObject({ worse: [], better: [], changed: [] });
  expect(worse).toEqual([cases[0]?.id, cases[2]?.id, cases[4]?.id, cases[6]?.id]);
});

test("models are compared side by side, and a budget ends what they may cost", async () => {
  const cases = await pickDesk(4);
  const price = { input: 1_000, output: 1_000 };
  const models = [
    scriptedModel(() => "We never refund.", { name: "strict", price }),
    scriptedModel(() => "Your order is refunded.", { name: "mild", price }),
  ];
  const scorers = [contains("refunded")];
  const reports = [];
  for (const model of models)
    reports.push(await evaluate({ name: "refunds", cases, agents: [createDesk()], model, scorers }));

  expect(reports.map(({ variant, scores }) => [variant, scores["contains"]?.mean])).toEqual([
    ["strict", 0],
    ["mild", 1],
  ]);
  const page = toReportPage(reports);
  expect(page).toContain("strict");
  expect(page).not.toMatch(/<script|https?:/);

  const [model = models[0]] = models;
  const cut = await evaluate({
    name: "refunds",
    cases,
    agents: [createDesk()],
    ...(model && { model }),
    budget: 0.1,
    concurrency: 1,
  });
  expect(cut.spent).toBeLessThan(0.4);
  expect(cut.cases.at(-1)?.error?.message).toContain("the budget of the evaluation is used up");
});

test("a budget is not kept with a model whose cost is unknown, and own prices make it known", async () => {
  const cases = await pickDesk(3);
  const given = { cases, agents: [createDesk()], name: "refunds", budget: 100, concurrency: 1 };
  const free = await evaluate({ ...given, model: scriptedModel(() => "No.", { name: "free" }) });
  expect(free.asked).toBe(3);
  expect(free.cases.map(({ error }) => error?.message)).toEqual([
    undefined,
    "what free costs is not known, so the evaluation cannot keep its budget",
    "what free costs is not known, so the evaluation cannot keep its budget",
  ]);

  // As those of a provider do, it looks its price up.
  const model: Model = {
    name: "looked-up",
    async *generate(_input, { prices = {} }) {
      const { "looked-up": price } = prices;
      const result = { text: "Yes.", toolCalls: [], finishReason: "stop" };
      yield { type: "result", result, usage: { input_tokens: 1, ...(price && { cost: price.input }) } };
    },
  };
  const prices = { "looked-up": { input: 2, output: 0 } };
  expect((await evaluate({ ...given, model, prices })).spent).toBe(6);
});

test("a call and a question that the recording does not have end the case, with the reason", async () => {
  const [first] = await pickDesk(1);
  if (first === undefined) throw new Error("no case");
  const turns = first.turns.map((turn) => ({ ...turn, calls: [] }));
  const without = first.turns.map((turn) => ({ ...turn, answers: [] }));
  const agents = [createDesk()];
  const cases = [
    { ...first, id: "no calls", turns },
    { ...first, id: "no answers", turns: without },
  ];

  const report = await evaluate({ name: "refunds", cases, agents });
  expect(report.cases.map(({ incomplete }) => incomplete)).toEqual([
    'the recording has no outcome of order({"id":"A0"})',
    "the recording has no answer to the question for an approval of refund",
  ]);
  expect(report.scores["exact"]?.mean).toBe(0);

  const live = await evaluate({
    name: "refunds",
    cases: cases.slice(0, 1),
    agents,
    live: ["order", "refund"],
  });
  expect(live.equal).toBe(1);
});

test("sleeps and time limits are skipped; messages, actors and effects come from the recording", async () => {
  let effects = 0;
  const clerk: Agent = defineAgent({
    name: "clerk",
    purpose: "Waits.",
    messages: { note: z.string() },
    uses: {},
    operations: (own) => ({
      work: own({
        input: z.object({}),
        async run(_input, turn) {
          const number = await turn.effect("draw", () => (effects += 1));
          await turn.sleep(20);
          await turn.sleep(3_600_000);
          const answer = await turn.waitForInput({ ok: "Ok?" }, { timeoutMs: 3_000 }).catch(() => "late");
          const told = await turn.ask(turn.actor(other, "one"), "count", {});
          await turn.tell(turn.actor(other, "one"), "count", {});
          const failed = await turn.effect("fail", () => Promise.reject(new Error("no paper"))).catch(String);
          return { number, answer: answer ?? null, told, failed, notes: turn.received("note").length };
        },
      }),
    }),
  });
  let counted = 0;
  const other = defineAgent({
    name: "other",
    purpose: "Counts.",
    operations: (own) => ({
      count: own({ input: z.object({}), output: z.number(), run: () => (counted += 1) }),
    }),
  });
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [clerk, other], environment });
  const runId = await runtime.createRun("clerk", { metadata: { customer: "acme" } });
  await runtime.process("clerk", { type: "Message", run_id: runId, name: "note", body: "hello" });
  const worked = runtime.ask(clerk, "work", {}, { runId });
  await environment.advance(7_200_000);
  await worked;
  const cases = await pick(runtime, [runId]);
  await runtime.close();
  expect(cases[0]?.turns[0]).toMatchObject({
    messages: [{ name: "note", body: "hello", after: 0 }],
    answers: [{ keys: ["ok"], expired: true }],
  });
  const before = [effects, counted];

  const report = await evaluate({
    name: "waits",
    cases,
    agents: [clerk, other],
    models: false,
    timeoutMs: 30_000,
  });

  expect(report.cases[0]?.incomplete).toBeUndefined();
  expect(report.equal).toBe(1);
  expect([effects, counted]).toEqual(before);
});

test("scorers judge the answer; one that throws gives 0 with its error, and those of autoevals fit", async () => {
  const [first] = await pickDesk(1);
  const cases = first ? [first] : [];
  const judge = scriptedModel(({ messages }) => {
    const { content = "" } = messages[0] ?? {};
    return `{"reason": "it is polite", "score": ${content.includes("Order A0 is refunded.") ? 0.75 : 0}}`;
  });
  const scorers = [
    exact(),
    jsonDiff(),
    contains("refunded", "money"),
    callsTools("order", "refund"),
    callsTools("refund", "order"),
    costsAtMost(1),
    takesAtMost(0),
    fitsSchema(z.string().max(3)),
    modelJudge({ model: judge, criteria: "It is polite." }),
    named("broken", () => {
      throw new Error("oops");
    }),
    function Levenshtein({ output, expected }: { output: unknown; expected?: unknown }) {
      return { name: "Levenshtein", score: output === expected ? 1 : 0, metadata: { rationale: "the same" } };
    },
  ];
  const report = await evaluate({ name: "refunds", cases, agents: [createDesk()], scorers });
  const scores = report.cases[0]?.scores.map(({ name, score }) => [name, score]);
  expect(scores).toEqual([
    ["exact", 1],
    ["json_diff", 1],
    ["contains", 0.5],
    ["calls_tools", 1],
    ["calls_tools", 0.5],
    ["cost", 1],
    ["latency", expect.any(Number)],
    ["schema", 0],
    ["judge", 0.75],
    ["broken", 0],
    ["Levenshtein", 1],
  ]);
  expect(report.cases[0]?.scores.at(-1)?.reason).toBe("the same");
  expect(report.cases[0]?.scores.at(-2)?.reason).toBe("the scorer failed: oops");
});

test("a table becomes cases, with commas, quotes and line breaks in its fields", () => {
  const cases = casesFromCsv(
    'input,expected,id\n"Say ""hi"", twice","line 1\nline 2",a\nplain,"{""n"":1}",\r\n',
    "desk",
  );
  expect(cases).toEqual([
    {
      id: "a",
      agent: "desk",
      turns: [{ operation: "chat", input: 'Say "hi", twice', expected: { output: "line 1\nline 2" } }],
    },
    {
      id: "row-3",
      agent: "desk",
      turns: [{ operation: "chat", input: "plain", expected: { output: { n: 1 } } }],
    },
  ]);
  expect(() => casesFromCsv("question\nx\n", "desk")).toThrow("no column input");
  expect(() => casesFromCsv('input\n"a"b\n', "desk")).toThrow("a quote in the wrong place");
});

test("a faulty line of a data set and a faulty definition are named", () => {
  expect(() => parseCases('{"id":"a","agent":"x","turns":[{"input":1}]}\nnonsense')).toThrow(
    "line 2 is not a case",
  );
  expect(() => parseCases('{"id":"a","agent":"x","turns":[]}')).toThrow("line 1 is not a case");
  expect(() => defineEvaluation({ thresholds: { exact: 2 } })).toThrow("the threshold of exact");
});

test("what an answer says is text in the page and in the XML", async () => {
  const agents = [defineAgent({ name: "echo", purpose: "Echoes.", chat: (input) => input })];
  const input = '<script>alert("x")</script> & \u0007';
  const cases: readonly EvalCase[] = [
    { id: '"><b>', agent: "echo", turns: [{ operation: "chat", input, expected: { result: "no" } }] },
  ];
  const report = await evaluate({ name: "hostile", cases, agents });
  expect(toReportPage([report])).not.toMatch(/<script|<b>/);
  expect(toJUnit(report)).not.toMatch(/<script|<b>/);
  expect(toJUnit(report)).not.toContain("\u0007");
  expect(toJUnit(report)).toContain('failures="1"');
});
