import { createRuntime, defineTool } from "troupe";
import type { Runtime } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { ModelGuard, Prompt, ScriptStep } from "troupe/llm";
import type { Event, Json } from "troupe/protocol";
import { collect } from "troupe/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf, theOne } from "../agents/events.ts";
import { asked, chat as asking, TestHost } from "../runtime/test-host.ts";
import { chat } from "./chat.ts";
import { calling, saying, specifiedModel } from "./models/specified-model.ts";

const plain = { name: "clerk", purpose: "Answers.", instructions: "Be brief." };

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.object({ amount: z.number() }),
  effect: "idempotent",
  run: ({ amount }) => `paid ${amount} with card 4711`,
});

/** A guard that hides the number of a card wherever it comes from. */
const noCards: ModelGuard = {
  name: "no_cards",
  prompt: (text) => (text.includes("4711") ? { rewrite: text.replaceAll("4711", "****") } : undefined),
  answer: (text) => (text.includes("4711") ? { rewrite: text.replaceAll("4711", "****") } : undefined),
};

const toPay: ScriptStep = { text: "I pay.", toolCalls: [{ name: "pay", input: { amount: 5 } }] };

/** A model that notes its prompts. */
function noting(steps: readonly (string | ScriptStep)[], prompts: Prompt[] = []) {
  return scriptedModel((prompt) => {
    prompts.push(prompt);
    const answers = prompt.messages.filter(({ role }) => role === "assistant").length;
    return steps[answers] ?? "Nothing more.";
  });
}

function toolResults(prompt: Prompt | undefined): readonly string[] {
  return (prompt?.messages ?? []).flatMap((message) => (message.role === "tool" ? [message.content] : []));
}

/** Starts a chat, answers the question that comes, and returns it with all events. */
async function answering(
  runtime: Runtime,
  answer: Json,
): Promise<{ readonly question: unknown; readonly events: readonly Event[] }> {
  const { requestId } = await runtime.process("clerk", { type: "ChatRequest", input: "pay 5" });
  const events: Event[] = [];
  let question: unknown;
  const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
  for await (const page of feed.pages) {
    for (const line of page.events) {
      const event = JSON.parse(line) as Event;
      events.push(event);
      if (event.type !== "WaitForInput") continue;
      question = event;
      await runtime.process("clerk", {
        type: "ResumeWithInput",
        request_id: requestId,
        wait_id: event.wait_id,
        request_keys: answer as never,
      });
    }
  }
  await runtime.close();
  return { question, events };
}

describe("a guard of prompts", () => {
  test("refuses a request, which ends with a clear reason, and the model is not asked", async () => {
    const guard: ModelGuard = {
      name: "polite",
      prompt: (text, { agent, from, request }) =>
        text === "you fool" ? { refuse: `not to ${agent} (${from}, ${request.operation})` } : undefined,
    };
    const prompts: Prompt[] = [];
    const agent = llmAgent({ ...plain, model: noting(["Yes."], prompts), guards: [guard] });
    const events = await chat(agent, "you fool");
    expect(prompts).toEqual([]);
    expect(theOne(events, "ToolResult")).toMatchObject({
      function_name: "guard polite",
      result: { refuse: "not to clerk (user, chat)" },
    });
    expect(theOne(events, "RequestCompleted")).toMatchObject({
      finish_reason: "error",
      error: { code: "model_refused", message: "guard polite refused the prompt: not to clerk (user, chat)" },
    });
    expect((await chat(agent, "hello")).at(-1)).toMatchObject({ result: "Yes." });
  });

  test("rewrites requests and results of tools before the model reads and remembers them", async () => {
    const prompts: Prompt[] = [];
    const model = noting([toPay, "Done.", "Again."], prompts);
    const runtime = createRuntime({
      agents: [llmAgent({ ...plain, model, tools: [pay], guards: [noCards] })],
    });
    const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "my card is 4711" });
    const run_id = events[0]?.run_id ?? "";
    await collect(runtime, "clerk", { type: "ChatRequest", input: "and?", run_id });
    await runtime.close();
    expect(JSON.stringify(prompts)).not.toContain("4711");
    expect(prompts[2]?.messages[0]).toEqual({ role: "user", content: "my card is ****" });
    expect(toolResults(prompts[2])).toEqual(["paid 5 with card ****"]);
  });

  test("refuses the result of a tool, of which the model reads only that", async () => {
    const prompts: Prompt[] = [];
    const guard: ModelGuard = {
      name: "no_injection",
      prompt: (_text, { from, tool }) =>
        from === "tool" && tool === "pay" ? { refuse: "it gives orders" } : undefined,
    };
    await chat(
      llmAgent({ ...plain, model: noting([toPay, "Done."], prompts), tools: [pay], guards: [guard] }),
    );
    expect(toolResults(prompts[1])).toEqual([
      "guard no_injection refused the result of pay: it gives orders",
    ]);
  });
});

describe("a guard of answers", () => {
  test("refuses an answer, which is then in no event", async () => {
    const guard: ModelGuard = { name: "no_secrets", answer: () => ({ refuse: "it has a secret" }) };
    const model = scriptedModel([
      { text: ["The password ", "is swordfish."], reasoning: "It is swordfish." },
    ]);
    const events = await chat(llmAgent({ ...plain, model, guards: [guard] }));
    expect(JSON.stringify(events)).not.toContain("swordfish");
    expect(theOne(events, "CompletionResult")).toMatchObject({
      usage: { output_tokens: expect.any(Number) as number },
      result: { text: "", guarded: { refused: { guard: "no_secrets", reason: "it has a secret" } } },
    });
    expect(theOne(events, "RequestCompleted")).toMatchObject({
      error: { code: "model_refused", message: "guard no_secrets refused the answer: it has a secret" },
    });
  });

  test("rewrites an answer, also where its provider gets it back", async () => {
    const model = specifiedModel(
      "v4",
      [
        ...saying("I pay with 4711.", { providerMetadata: { openai: { itemId: "m" } } }),
        calling("pay", { amount: 5 }, { providerMetadata: { google: { thoughtSignature: "t" } } }),
      ],
      saying("Done."),
    );
    const events = await chat(llmAgent({ ...plain, model, tools: [pay], guards: [noCards] }));
    expect(textsOf(events)).toEqual(["I pay with ****.", "\n\nDone."]);
    expect(ofType(events, "CompletionResult")[0]?.result).toMatchObject({
      guarded: { rewritten: ["no_cards"] },
    });
    expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain("4711");
    expect(model.calls[1]?.prompt[2]?.content).toMatchObject([
      { type: "text", text: "I pay with ****." },
      { type: "tool-call", providerOptions: { google: { thoughtSignature: "t" } } },
    ]);
  });

  test.each([
    [{ approved: true }, { finish_reason: "success", result: "You get 500." }],
    [
      { approved: false, reason: "too much" },
      { error: { code: "model_refused", message: "guard promises refused the answer: too much" } },
    ],
  ])("asks a person, whose answer %j counts", async (answer, end) => {
    const guard: ModelGuard = {
      name: "promises",
      answer: (text) => (text.includes("500") ? { ask: `May I say "${text}"?` } : undefined),
    };
    const runtime = createRuntime({
      agents: [llmAgent({ ...plain, model: scriptedModel(["You get 500."]), guards: [guard] })],
    });
    const { question, events } = await answering(runtime, answer);
    expect(question).toMatchObject({
      schema: { properties: { approved: { description: 'May I say "You get 500."?' } } },
    });
    const types = events.map(({ type }) => type);
    expect(types.indexOf("TextOutput")).toBe(answer.approved ? types.indexOf("ResumeWithInput") + 1 : -1);
    expect(events.at(-1)).toMatchObject(end);
    expect(textsOf(events)).toEqual(answer.approved ? ["You get 500."] : []);
  });
});

test("a summary of the conversation is judged as an answer is, and one that is refused is not kept", async () => {
  const prompts: Prompt[] = [];
  const model = scriptedModel((prompt) => {
    if (prompt.instructions.startsWith("Summarize")) return "The password is swordfish.";
    prompts.push(prompt);
    return "Yes.";
  });
  const guard: ModelGuard = {
    name: "no_secrets",
    answer: (text) => (text.includes("swordfish") ? { refuse: "it has a secret" } : undefined),
  };
  const agent = llmAgent({ ...plain, model, historyTokens: 200, guards: [guard] });
  const runtime = createRuntime({ agents: [agent] });
  const said: Event[] = [];
  let run: object = {};
  for (const name of ["one", "two", "three", "four"]) {
    const input = `${name} ${"-".repeat(400)}`;
    const events = await collect(runtime, "clerk", { type: "ChatRequest", input, ...run });
    said.push(...events);
    run = { run_id: events[0]?.run_id };
  }
  await runtime.close();
  expect(JSON.stringify([said, prompts])).not.toContain("swordfish");
  expect(prompts.at(-1)?.messages[0]?.content).toMatch(
    /^Summary of the earlier conversation:\n.*User: one -/,
  );
  expect(said.at(-1)).toMatchObject({ finish_reason: "success", result: "Yes." });
});

describe("a guard of calls", () => {
  test("refuses and rewrites calls, also several at once", async () => {
    const prompts: Prompt[] = [];
    const steps = [
      { toolCalls: [3, 30, 300].map((amount) => ({ name: "pay", input: { amount } })) },
      "Done.",
    ];
    const guard: ModelGuard = {
      name: "limit",
      call: (args, { tool }) => {
        const { amount } = args as { readonly amount: number };
        if (tool !== "pay" || amount < 10) return undefined;
        return amount < 100 ? { rewrite: { amount: 10 } } : { refuse: "more than 100" };
      },
    };
    const agent = llmAgent({
      ...plain,
      model: noting(steps, prompts),
      tools: [pay],
      guards: [guard, noCards],
    });
    const events = await chat(agent);
    expect(
      ofType(events, "ToolCall")
        .filter(({ function_name }) => function_name === "pay")
        .map(({ args }) => args),
    ).toEqual([{ amount: 3 }, { amount: 10 }]);
    expect(toolResults(prompts[1])).toEqual([
      "paid 3 with card ****",
      "paid 10 with card ****",
      "guard limit refused the call of pay: more than 100",
    ]);
  });

  test("asks a person, who sees the call", async () => {
    const guard: ModelGuard = { name: "money", call: (args) => ({ ask: `Pay ${JSON.stringify(args)}?` }) };
    const agent = llmAgent({ ...plain, model: noting([toPay, "Done."]), tools: [pay], guards: [guard] });
    const { question, events } = await answering(createRuntime({ agents: [agent] }), { approved: true });
    expect(question).toMatchObject({ approval: { tool: "pay", args: { amount: 5 } } });
    expect(events.at(-1)).toMatchObject({ result: "I pay.\n\nDone." });
  });
});

test.each<readonly [string, ModelGuard, string]>([
  ["throws", { name: "broken", answer: () => Promise.reject(new Error("out of order")) }, "out of order"],
  ["says something else", { name: "odd", answer: () => true as never }, "guard odd returned no verdict"],
  [
    "rewrites a text into a number",
    { name: "odd", answer: () => ({ rewrite: 5 as never }) },
    "into something else",
  ],
  ["throws", { name: "broken", prompt: () => Promise.reject(new Error("out of order")) }, "out of order"],
  [
    "says something else",
    { name: "odd", prompt: () => ({ refused: "yes" }) as never },
    "guard odd returned no verdict",
  ],
])("nothing passes a guard that %s", async (_, guard, message) => {
  const events = await chat(llmAgent({ ...plain, model: scriptedModel(["The secret."]), guards: [guard] }));
  expect(textsOf(events)).toEqual([]);
  expect(theOne(events, "RequestCompleted")).toMatchObject({
    finish_reason: "error",
    error: { message: expect.stringContaining(message) as string },
  });
});

test("guards are not asked again for what they have judged before a crash", async () => {
  const judged: string[] = [];
  const guard: ModelGuard = {
    name: "witness",
    prompt: (text) => void judged.push(`reads ${text}`),
    answer: (text) => void judged.push(`says ${text}`),
    call: (args) => void judged.push(`calls ${JSON.stringify(args)}`),
  };
  let payments = 0;
  const mortal = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ amount: z.number() }),
    effect: "idempotent",
    run: async () => {
      payments += 1;
      if (payments > 1) return "paid";
      host.crash();
      return new Promise<string>(() => {});
    },
  });
  const agent = llmAgent({ ...plain, model: noting([toPay, "Done."]), tools: [mortal], guards: [guard] });
  const host: TestHost = new TestHost({ agents: [agent] });
  await host.ask("clerk", { ...asking, input: "pay 5" });
  await host.restartUntilContinued(asked);
  await host.environment.advance(1_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "I pay.\n\nDone." });
  expect(judged).toEqual(["reads pay 5", "says I pay.", 'calls {"amount":5}', "reads paid", "says Done."]);
});

test("what is no guard is refused with the reason", () => {
  const model = scriptedModel([]);
  expect(() => llmAgent({ ...plain, model, guards: [{ name: "empty" }] })).toThrow(
    "guards[0] of agent clerk is no guard",
  );
});
