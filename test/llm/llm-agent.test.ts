import { createRuntime, defineAgent, defineTool, memoryLog, ModelError, operation } from "troupe";
import type { Agent, Model } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { LlmAgentOptions, Prompt } from "troupe/llm";
import type { Event, RequestId } from "troupe/protocol";
import { collect } from "troupe/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { calculator } from "../../agents/calculator.ts";
import { payments } from "../../agents/payments.ts";
import { pdfWriter } from "../../agents/pdf-writer.ts";
import { markAgent } from "../../src/runtime/agent/definition/check-definition.ts";
import { ofType, requestOf, textsOf, theOne } from "../agents/events.ts";
import { chat } from "./chat.ts";

const lookup = defineTool({
  name: "lookup",
  description: "Finds out how warm it is in a city.",
  input: z.object({ city: z.string() }),
  effect: "idempotent",
  run: ({ city }) => {
    if (city === "Atlantis") throw new Error("there is no such city");
    return { city, degrees: city.length };
  },
});

const plain = { name: "clerk", purpose: "Answers.", instructions: "Be brief." };

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode(text);
}

/** The results of its calls in the model's last prompt. */
function resultsIn({ messages }: Prompt): readonly (readonly [name: string, content: string])[] {
  return messages.flatMap((message) => (message.role === "tool" ? [[message.name, message.content]] : []));
}

describe("an agent made from a model", () => {
  test("streams the model's text and sums the usage of its completions", async () => {
    const model = scriptedModel([{ text: ["Good ", "day."], reasoning: "Somebody greets me." }]);
    const events = await chat(llmAgent({ ...plain, model }));

    expect(events.map(({ type }) => type)).toEqual([
      "RequestStarted",
      "CompletionCall",
      "ReasoningOutput",
      "TextOutput",
      "TextOutput",
      "CompletionResult",
      "RequestCompleted",
    ]);
    const completion = ofType(events, "CompletionResult")[0];
    expect(completion?.usage.input_tokens).toBeGreaterThan(10);
    expect(completion?.usage.output_tokens).toBeGreaterThan(10);
    expect(events.at(-1)).toMatchObject({ result: "Good day.", usage: completion?.usage });
  });

  test("sends the model its instructions, the request, and its tools", async () => {
    let asked: Prompt | undefined;
    const model = scriptedModel((prompt) => {
      asked = prompt;
      return "Yes.";
    });
    await chat(llmAgent({ ...plain, model, tools: [lookup] }), "Is it warm?");
    expect(asked).toMatchObject({
      instructions: "Be brief.",
      messages: [{ role: "user", content: "Is it warm?" }],
      tools: [
        {
          name: "lookup",
          description: "Finds out how warm it is in a city.",
          input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
      ],
    });
  });

  test("makes the calls of one completion in parallel and returns the results in the order of the calls", async () => {
    const started: string[] = [];
    let letGo = (): void => {};
    const together = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const meet = defineTool({
      name: "meet",
      description: "Waits for the other.",
      input: z.object({ who: z.string() }),
      async run({ who }) {
        started.push(who);
        if (started.length === 2) letGo();
        await together;
        return `${who} was there`;
      },
    });
    let results: unknown;
    const model = scriptedModel((prompt) => {
      results = resultsIn(prompt);
      if (prompt.messages.length > 1) return "Both came.";
      return { toolCalls: ["Ada", "Bob"].map((who) => ({ name: "meet", input: { who } })) };
    });
    const events = await chat(llmAgent({ ...plain, model, tools: [meet] }));

    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Both came." });
    expect(results).toEqual([
      ["meet", "Ada was there"],
      ["meet", "Bob was there"],
    ]);
  });

  test("lets the model read the error of a call, and continue", async () => {
    let results: unknown;
    const model = scriptedModel((prompt) => {
      results = resultsIn(prompt);
      if (prompt.messages.length > 1) return "I do not know.";
      return {
        toolCalls: [
          { name: "lookup", input: { city: "Atlantis" } },
          { name: "lookup", input: { town: "Oslo" } },
          { name: "search", input: {} },
        ],
      };
    });
    const events = await chat(llmAgent({ ...plain, model, tools: [lookup] }));

    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "I do not know." });
    expect(results).toEqual([
      ["lookup", "there is no such city"],
      ["lookup", expect.stringMatching(/^the input of lookup does not fit: city/)],
      ["search", "there is no tool search"],
    ]);
  });

  test.each([
    { about: "32 by default", options: {}, calls: 100, most: 32 },
    { about: "as many as the option says", options: { parallelCalls: 3 }, calls: 8, most: 3 },
    { about: "those with approval too", options: { parallelCalls: 2, approve: ["slow"] }, calls: 5, most: 2 },
  ])("makes at most so many calls of one completion at the same time: $about", async (given) => {
    let running = 0;
    let most = 0;
    const slow = defineTool({
      name: "slow",
      description: "Takes a while.",
      input: z.object({ n: z.number() }),
      async run({ n }, turn) {
        running += 1;
        most = Math.max(most, running);
        await turn.sleep(1);
        running -= 1;
        return n;
      },
    });
    const toolCalls = Array.from({ length: given.calls }, (_, n) => ({ name: "slow", input: { n } }));
    const results: string[] = [];
    const model = scriptedModel((prompt) => {
      results.push(...resultsIn(prompt).map(([, content]) => content));
      return results.length === 0 ? { toolCalls } : "done";
    });
    const { approve = [], ...options }: Partial<LlmAgentOptions> = given.options;
    const agent = llmAgent({ ...plain, model, tools: [slow], approve, ...options });
    const runtime = createRuntime({ agents: [agent] });
    const asked = await runtime.process(agent.name, { type: "ChatRequest", input: "go" });
    for (let left = approve.length * given.calls; left > 0; left -= 1) {
      const open = async (): Promise<readonly string[]> => (await runtime.waits({ limit: 1 })).events;
      await expect.poll(open).toHaveLength(1);
      const wait = JSON.parse((await open())[0] ?? "") as Event;
      await runtime.process(agent.name, {
        type: "ResumeWithInput",
        request_id: wait.request_id as RequestId,
        wait_id: wait.id,
        request_keys: { approved: true },
      });
    }
    await expect
      .poll(() => runtime.status(asked.requestId ?? ""))
      .toMatchObject({ finish_reason: "success" });
    expect(results).toEqual(toolCalls.map(({ input }) => String(input.n)));
    expect(most).toBe(given.most);
    await runtime.close();
  });

  test("ends with a clear error if the model never stops calling", async () => {
    const model = scriptedModel(() => ({ toolCalls: [{ name: "lookup", input: { city: "Oslo" } }] }));
    const events = await chat(llmAgent({ ...plain, model, tools: [lookup], maxSteps: 3 }));
    expect(ofType(events, "CompletionCall")).toHaveLength(3);
    expect(events.at(-1)).toMatchObject({
      finish_reason: "error",
      error: {
        code: "agent_error",
        message: "agent clerk has no answer after 3 completions (maxSteps)",
      },
    });
  });

  test("ends with the message of a provider that refuses", async () => {
    const model = scriptedModel([{ error: new ModelError("the key is wrong") }]);
    const events = await chat(llmAgent({ ...plain, model }));
    expect(events.at(-1)).toMatchObject({
      finish_reason: "error",
      error: { code: "agent_error", message: "the key is wrong" },
    });
  });

  test("can be canceled while its model streams", async () => {
    const runtime = createRuntime({
      agents: [
        llmAgent({
          ...plain,
          model: {
            name: "endless",
            async *generate(_input, { signal }) {
              for (;;) {
                yield { type: "text", text: "and " };
                if (signal.aborted) throw new ModelError("stopped");
              }
            },
          },
        }),
      ],
    });
    const { requestId } = await runtime.process("clerk", { type: "ChatRequest", input: "" });
    const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
    let end: Event | undefined;
    let isCanceled = false;
    for await (const page of feed.pages) {
      const events = page.events.map((text) => JSON.parse(text) as Event);
      if (!isCanceled && events.some(({ type }) => type === "TextOutput")) {
        isCanceled = true;
        await runtime.process("clerk", { type: "CancelRequest", request_id: requestId });
      }
      end = events.at(-1);
    }
    expect(end).toMatchObject({ type: "RequestCompleted", finish_reason: "canceled" });
    await runtime.close();
  });

  test("tells the model the attached files, and the content of text files", async () => {
    const told: unknown[] = [];
    const model = scriptedModel(({ messages }) => {
      told.push(...messages.map(({ content }) => content));
      return "Thank you.";
    });
    const runtime = createRuntime({ agents: [llmAgent({ ...plain, model })] });
    const files = [
      ["list.csv", "text/csv", "a,b"],
      ["long.txt", "text/plain", "x".repeat(40_000)],
      ["more.json", "application/json", "[1]"],
      ["moon.png", "image/png", "PNG"],
    ] as const;
    const uploaded = await Promise.all(
      files.map(([name, mimeType, text]) =>
        runtime.upload({ name, mimeType, body: bytesOf(text), limitBytes: 1e6 }),
      ),
    );
    const attachments = uploaded.map(({ artifactId }) => artifactId);
    await collect(runtime, "clerk", { type: "ChatRequest", input: "See these.", attachments });
    const [csv, long, json, png] = uploaded.map(({ url }) => url);
    expect(told).toHaveLength(1);
    const parts = (told[0] as string).split("\n\n");
    expect(parts).toEqual([
      "See these.",
      `Attached: list.csv (text/csv) ${csv}\na,b`,
      expect.stringMatching(/^Attached: long.txt .*\nx+… \[cut, 40000 characters in all\]$/) as string,
      `Attached: more.json (application/json) ${json}`,
      `Attached: moon.png (image/png) ${png}`,
    ]);
    expect(parts[2]).toContain(long);
    expect((told[0] as string).length).toBeLessThan(34_000);
    await runtime.close();
  });

  test("can get its instructions from its configuration", async () => {
    let told: string | undefined;
    const runtime = createRuntime({
      agents: [
        llmAgent({
          ...plain,
          instructions: (turn) => `Speak ${JSON.stringify(turn.config["language"])}.`,
          model: scriptedModel(({ instructions }) => {
            told = instructions;
            return "Hei.";
          }),
        }),
      ],
    });
    await runtime.process("clerk", { type: "ConfigureRequest", args: { language: "Norwegian" } });
    await collect(runtime, "clerk", { type: "ChatRequest", input: "hello" });
    expect(told).toBe('Speak "Norwegian".');
    await runtime.close();
  });
});

describe("other agents, called by a model", () => {
  test("are called by chat under their name and by an operation under both names", async () => {
    let names: readonly string[] = [];
    const model = scriptedModel((prompt) => {
      names = prompt.tools.map(({ name }) => name);
      const [result] = resultsIn(prompt);
      if (result) return `It is ${result[1]}`;
      return { toolCalls: [{ name: "calculator__divide", input: { a: 6, b: 3 } }] };
    });
    const events = await chat(llmAgent({ ...plain, model, agents: [calculator] }));

    expect(names).toEqual([
      "calculator",
      "calculator__add",
      "calculator__subtract",
      "calculator__multiply",
      "calculator__divide",
    ]);
    expect(ofType(events, "ToolCall")).toMatchObject([
      { function_name: "calculator.divide", args: { a: 6, b: 3 } },
    ]);
    expect(textsOf(events).join("")).toBe('It is {"value":2}');
  });

  test("can ask the caller of the turn", async () => {
    const model = scriptedModel([
      { toolCalls: [{ name: "payments", input: { input: "pay 3 to bob" } }] },
      "It is done.",
    ]);
    const runtime = createRuntime({ agents: [llmAgent({ ...plain, model, agents: [payments] })] });
    const asked = await collect(runtime, "clerk", { type: "ChatRequest", input: "pay bob" });
    expect(asked.at(-1)).toMatchObject({ agent: "payments", request_keys: { approved: "Pay 3 to bob?" } });

    const rest = await collect(runtime, "clerk", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: true },
    });
    expect(ofType(rest, "ToolResult")[0]?.result).toEqual({ output: "Paid 3 to bob." });
    expect(rest.at(-1)).toMatchObject({ result: "It is done." });
    await runtime.close();
  });

  test("can replace a tool without a change of the agent", async () => {
    const guesser = defineAgent({
      name: "guesser",
      purpose: "Guesses.",
      operations: {
        lookup: operation({
          input: z.object({ city: z.string() }),
          run: ({ city }) => `${city} may be cold`,
        }),
      },
    });
    const model = scriptedModel((prompt) => {
      const [result] = resultsIn(prompt);
      return result?.[1] ?? { toolCalls: [{ name: "lookup", input: { city: "Oslo" } }] };
    });
    const agent = llmAgent({ ...plain, model, tools: [lookup] });
    const runtime = createRuntime({ agents: [agent], bind: { lookup: guesser } });
    const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "" });
    expect(events.at(-1)).toMatchObject({ result: "Oslo may be cold" });
    await runtime.close();
  });

  test("on other servers are called by their operations, known or not", async () => {
    const performed: unknown[] = [];
    const far: Agent = markAgent({
      ...defineAgent({ name: "far", purpose: "Knows much.", chat: (input) => input }),
      remote: {
        known: false,
        ready: async () => {},
        async perform({ operation, input }) {
          performed.push([operation, input]);
          return { ok: true, result: null, output: { hits: 3 }, truncated: false };
        },
        abandon() {},
      },
    });
    const prompts: Prompt[] = [];
    const model = scriptedModel((prompt) => {
      prompts.push(prompt);
      const [result] = resultsIn(prompt);
      return result?.[1] ?? { toolCalls: [{ name: "far__search", input: { for: "moss" } }] };
    });
    const runtime = createRuntime({
      agents: [llmAgent({ ...plain, model, agents: [far], approve: ["far__search"] })],
    });
    const asked = await collect(runtime, "clerk", { type: "ChatRequest", input: "" });
    expect(prompts[0]?.tools.map(({ name }) => name)).toEqual(["far"]);
    expect(asked.at(-1)).toMatchObject({
      request_keys: { approved: 'Call far__search with {"for":"moss"}?' },
    });
    const rest = await collect(runtime, "clerk", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: true },
    });
    expect(performed).toEqual([["search", { for: "moss" }]]);
    expect(rest.at(-1)).toMatchObject({ result: '{"hits":3}' });
    await runtime.close();
  });

  test("report their files to the model, also when another process continues the turn", async () => {
    const seen: string[][] = [];
    const model = scriptedModel((prompt) => {
      const results = resultsIn(prompt).map(([, content]) => content);
      seen.push(results);
      if (results.length === 0)
        return { toolCalls: [{ name: "pdf-writer", input: { input: "Moon: It is far away." } }] };
      return results.length === 1
        ? { toolCalls: [{ name: "payments__pay", input: { to: "bob", amount: 1 } }] }
        : "It is written.";
    });
    const agent = llmAgent({ ...plain, model, agents: [pdfWriter, payments] });
    const log = { ...memoryLog(), close: async () => {} };
    const before = createRuntime({ agents: [agent], log });
    const asked = await collect(before, "clerk", { type: "ChatRequest", input: "" });
    await before.close();
    const after = createRuntime({ agents: [agent], log });
    await collect(after, "clerk", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: true },
    });
    await after.close();

    const { url } = theOne(asked, "ArtifactGenerated");
    const told = `Moon.pdf\nMoon.pdf (application/pdf) ${url}`;
    expect(theOne(asked, "ToolResult").text_result).toBe(told);
    expect(seen).toEqual([[], [told], [told, '{"receipt":"bob:1"}']]);
  });

  test("cannot have the name of another tool", () => {
    const twin = defineAgent({ name: "lookup", purpose: "Looks up.", chat: (input) => input });
    expect(() => llmAgent({ ...plain, model: scriptedModel([]), tools: [lookup], agents: [twin] })).toThrow(
      "two tools have the name lookup",
    );
  });
});

describe("a tool that needs approval", () => {
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ to: z.string(), amount: z.number() }),
    run: ({ to, amount }) => `${amount} paid to ${to}`,
  });
  const calls = (...amounts: number[]) => ({
    toolCalls: amounts.map((amount) => ({ name: "pay", input: { to: "bob", amount } })),
  });

  function payer(amounts: readonly number[], seen: string[][] = []): Agent {
    const model = scriptedModel((prompt) => {
      seen.push(resultsIn(prompt).map(([, content]) => content));
      return prompt.messages.length > 1 ? "That is all." : calls(...amounts);
    });
    return llmAgent({ ...plain, model, tools: [pay, lookup], approve: ["pay"] });
  }

  test("is not called before a human has seen its arguments and approved", async () => {
    const seen: string[][] = [];
    const runtime = createRuntime({ agents: [payer([3], seen)] });
    const asked = await collect(runtime, "clerk", { type: "ChatRequest", input: "" });
    expect(ofType(asked, "ToolCall")).toEqual([]);
    expect(asked.at(-1)).toMatchObject({
      type: "WaitForInput",
      request_keys: { approved: 'Call pay with {"to":"bob","amount":3}?' },
    });

    const rest = await collect(runtime, "clerk", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: true },
    });
    expect(rest.at(-1)).toMatchObject({ finish_reason: "success", result: "That is all." });
    expect(seen.at(-1)).toEqual(["3 paid to bob"]);
    await runtime.close();
  });

  test("is not called when the human declines, and the model is informed", async () => {
    const seen: string[][] = [];
    const runtime = createRuntime({ agents: [payer([3], seen)] });
    const asked = await collect(runtime, "clerk", { type: "ChatRequest", input: "" });
    const rest = await collect(runtime, "clerk", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: false },
    });
    expect(ofType(rest, "ToolCall")).toEqual([]);
    expect(seen.at(-1)).toEqual([expect.stringMatching(/^declined/)]);
    await runtime.close();
  });

  test("is called after the approval even if another model is used by then", async () => {
    const log = { ...memoryLog(), close: async () => {} };
    const agentWith = (model: Model): Agent => llmAgent({ ...plain, model, tools: [pay], approve: ["pay"] });
    const before = createRuntime({ agents: [agentWith(scriptedModel([calls(3)], { name: "old" }))], log });
    const asked = await collect(before, "clerk", { type: "ChatRequest", input: "" });
    await before.close();

    const model = scriptedModel((prompt) => `It is done: ${resultsIn(prompt).join()}`, { name: "new" });
    const after = createRuntime({ agents: [agentWith(model)], log });
    const rest = await collect(after, "clerk", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { approved: true },
    });
    await after.close();
    expect(rest.at(-1)).toMatchObject({ finish_reason: "success", result: "It is done: pay,3 paid to bob" });
    expect(ofType([...asked, ...rest], "CompletionCall").map((call) => call.model)).toEqual(["old", "new"]);
  });

  test("shows its call, and the model reads the human's reason", async () => {
    const seen: string[][] = [];
    const runtime = createRuntime({ agents: [payer([3], seen)] });
    const asked = await collect(runtime, "clerk", { type: "ChatRequest", input: "" });
    const [wait] = ofType(asked, "WaitForInput");
    expect(wait).toMatchObject({
      approval: { tool: "pay", args: { to: "bob", amount: 3 } },
      schema: { required: ["approved"], properties: { args: { required: ["to", "amount"] } } },
    });
    expect(Object.keys(wait?.request_keys ?? {})).toEqual(["approved"]);
    const request_keys = { approved: false, reason: "bob is on holiday" };
    await collect(runtime, "clerk", { type: "ResumeWithInput", request_id: requestOf(asked), request_keys });
    expect(seen.at(-1)).toEqual(["declined: the user does not want this call: bob is on holiday"]);
    await runtime.close();
  });

  test("is called with the arguments that a human has changed, which must fit", async () => {
    const seen: string[][] = [];
    const runtime = createRuntime({ agents: [payer([3], seen)] });
    const asked = await collect(runtime, "clerk", { type: "ChatRequest", input: "" });
    const resume = { type: "ResumeWithInput", request_id: requestOf(asked) } as const;
    for (const request_keys of [
      { approved: true, args: { to: "bob", amount: "much" } },
      { approved: "true" },
      { approved: true, reason: 7 },
    ])
      await expect(runtime.process("clerk", { ...resume, request_keys })).rejects.toMatchObject({
        code: "unprocessable",
      });
    expect(await runtime.status(requestOf(asked))).toMatchObject({ status: "waiting" });

    const request_keys = { approved: true, args: { to: "bob", amount: 2 }, reason: "less" };
    const rest = await collect(runtime, "clerk", { ...resume, request_keys });
    expect(ofType(rest, "ToolCall")).toMatchObject([{ args: { to: "bob", amount: 2 } }]);
    expect(seen.at(-1)).toEqual([
      'The user changed the arguments to {"to":"bob","amount":2}.\nThe user says: less\n2 paid to bob',
    ]);
    await runtime.close();
  });

  test("asks only if a rule says so or throws", async () => {
    const rule = ({ amount }: { readonly amount: number }): boolean => {
      if (amount === 7) throw new Error("no idea");
      return amount > 100;
    };
    for (const [amount, isAsked] of [
      [3, false],
      [7, true],
      [101, true],
    ] as const) {
      const model = scriptedModel((prompt) => (prompt.messages.length > 1 ? "Done." : calls(amount)));
      const agent = llmAgent({ ...plain, model, tools: [pay], approve: { pay: rule } });
      const runtime = createRuntime({ agents: [agent] });
      const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "" });
      expect(ofType(events, "WaitForInput")).toHaveLength(isAsked ? 1 : 0);
      await runtime.close();
    }
    expect(() =>
      llmAgent({ ...plain, model: scriptedModel([]), tools: [pay], approve: { pay: 1 as never } }),
    ).toThrow("approve.pay of agent clerk is no rule");
    expect(() =>
      llmAgent({ ...plain, model: scriptedModel([]), tools: [pay], approve: { pai: () => true } }),
    ).toThrow("approve names pai, but there is no such tool");
  });

  test("asks the approvers that its rule names, and no rule without any is taken", async () => {
    const model = scriptedModel((prompt) => (prompt.messages.length > 1 ? "Done." : calls(101)));
    const when = ({ amount }: { readonly amount: number }): boolean => amount > 100;
    const approve = { pay: { approvers: ["finance"], when } };
    const runtime = createRuntime({ agents: [llmAgent({ ...plain, model, tools: [pay], approve })] });
    const events = await collect(runtime, "clerk", { type: "ChatRequest", input: "" });
    expect(ofType(events, "WaitForInput")).toMatchObject([{ approvers: ["finance"] }]);
    await runtime.close();
    for (const wrong of [{ approvers: [] }, { approvers: "finance" }, { when }]) {
      const rules = { pay: wrong as never };
      expect(() => llmAgent({ ...plain, model, tools: [pay], approve: rules })).toThrow("is no rule");
    }
  });

  test("is judged by the arguments that it gets, with the defaults of its schema", async () => {
    const refund = defineTool({
      name: "refund",
      description: "Pays back.",
      input: z.object({ amount: z.coerce.number().default(500) }),
      run: ({ amount }) => `${amount} paid back`,
    });
    const judged: unknown[] = [];
    const rule = (args: { amount: number }): boolean => {
      judged.push({ ...args });
      const isLarge = args.amount > 100;
      // The call must not change by what a rule does.
      args.amount = 0;
      return isLarge;
    };
    for (const [input, isAsked] of [
      [{}, true],
      [{ amount: "7" }, false],
    ] as const) {
      const model = scriptedModel([{ toolCalls: [{ name: "refund", input }] }, "Done."]);
      const agent = llmAgent({ ...plain, model, tools: [refund], approve: { refund: rule } });
      const events = await chat(agent);
      expect(ofType(events, "WaitForInput")).toHaveLength(isAsked ? 1 : 0);
      expect(ofType(events, "ToolResult")).toMatchObject(isAsked ? [] : [{ result: "7 paid back" }]);
    }
    expect(judged).toEqual([{ amount: 500 }, { amount: 7 }]);
  });

  test("needs one approval per call, in any order", async () => {
    const seen: string[][] = [];
    const runtime = createRuntime({ agents: [payer([3, 5], seen)] });
    const asked = await collect(runtime, "clerk", { type: "ChatRequest", input: "" });
    const waits = ofType(asked, "WaitForInput");
    expect(waits.map(({ request_keys }) => request_keys["approved"])).toEqual([
      'Call pay with {"to":"bob","amount":3}?',
      'Call pay with {"to":"bob","amount":5}?',
    ]);
    for (const [index, approved] of [
      [1, true],
      [0, false],
    ] as const) {
      await collect(runtime, "clerk", {
        type: "ResumeWithInput",
        request_id: requestOf(asked),
        wait_id: waits[index]?.id ?? 0,
        request_keys: { approved },
      });
    }
    expect(seen.at(-1)).toEqual([expect.stringMatching(/^declined/), "5 paid to bob"]);
    await runtime.close();
  });

  test("needs no approval if its arguments do not fit", async () => {
    let results: unknown;
    const model = scriptedModel((prompt) => {
      results = resultsIn(prompt);
      return prompt.messages.length > 1 ? "No." : { toolCalls: [{ name: "pay", input: { to: "bob" } }] };
    });
    const events = await chat(llmAgent({ ...plain, model, tools: [pay], approve: ["pay"] }));
    expect(ofType(events, "WaitForInput")).toEqual([]);
    expect(results).toEqual([["pay", expect.stringMatching(/^the input of pay does not fit: amount/)]]);
  });

  test("must be one of the agent's tools", () => {
    expect(() => llmAgent({ ...plain, model: scriptedModel([]), tools: [lookup], approve: ["pay"] })).toThrow(
      "approve names pay, but there is no such tool",
    );
  });
});

describe("structured output", () => {
  const weather = z.object({ city: z.string(), degrees: z.coerce.number() });
  const reporter = (...answers: string[]) =>
    llmAgent({ ...plain, model: scriptedModel(answers), output: weather });

  test("is the value of the operation answer, and JSON in a chat", async () => {
    const runtime = createRuntime({ agents: [reporter('{"city":"Oslo","degrees":"4"}')] });
    const answered = await collect(runtime, "clerk", {
      type: "OperationRequest",
      operation: "answer",
      input: { input: "How warm is Oslo?" },
    });
    expect(answered.at(-1)).toMatchObject({ output: { city: "Oslo", degrees: 4 } });

    const chatted = await collect(runtime, "clerk", { type: "ChatRequest", input: "How warm is Oslo?" });
    expect(chatted.at(-1)).toMatchObject({ result: '{"city":"Oslo","degrees":"4"}' });
    await runtime.close();
  });

  test("is requested again, with the issues, until it fits", async () => {
    const prompts: Prompt[] = [];
    const answers = ["It is cold.", '{"city":"Oslo"}', '```json\n{"city":"Oslo","degrees":4}\n```'];
    const model = scriptedModel((prompt) => {
      prompts.push(prompt);
      return answers[prompts.length - 1] ?? "";
    });
    const events = await chat(llmAgent({ ...plain, model, output: weather }));
    expect(prompts.slice(1).map(({ messages }) => messages.at(-1)?.content)).toEqual([
      "the answer is not JSON. Answer again, only with the JSON.",
      expect.stringMatching(/^the answer does not fit: degrees: .*\. Answer again, only with the JSON\.$/),
    ]);
    expect(prompts[0]?.instructions).toContain('"required":["city"');
    expect(events.at(-1)).toMatchObject({ result: '{"city":"Oslo","degrees":4}' });
  });

  test("is typed for another agent that calls it", async () => {
    const caller = defineAgent({
      name: "caller",
      purpose: "Asks the reporter.",
      operations: {
        ask: operation({
          input: z.object({}),
          output: z.object({ warmer: z.number() }),
          async run(_input, turn) {
            const { degrees } = await turn.call(reporter('{"city":"Oslo","degrees":4}'), "answer", {
              input: "Oslo?",
            });
            return { warmer: degrees + 1 };
          },
        }),
      },
    });
    const runtime = createRuntime({ agents: [caller] });
    const events = await collect(runtime, "caller", {
      type: "OperationRequest",
      operation: "ask",
      input: {},
    });
    expect(events.at(-1)).toMatchObject({ output: { warmer: 5 } });
    await runtime.close();
  });
});
