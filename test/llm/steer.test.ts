import { createRuntime, defineTool } from "troupe";
import type { Model } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { Prompt, Script } from "troupe/llm";
import { serve } from "troupe/node";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";

/** Stops code at a point until the test lets it continue. */
class Gate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #open = Promise.withResolvers<void>();

  async pass(): Promise<void> {
    this.#reached.resolve();
    await this.#open.promise;
  }

  /** Resolves when the code is at the gate. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  open(): void {
    this.#open.resolve();
  }
}

interface Steered {
  readonly script: Script;
  /** Called at the end of the completion with this number. */
  readonly atEnd?: (completion: number) => Promise<void>;
  readonly lookUp?: () => Promise<void>;
  readonly maxSteps?: number;
}

/** A server with an agent whose model and tool can be stopped, and what the model was asked. */
async function startSteered({ script, atEnd, lookUp, maxSteps }: Steered) {
  const prompts: Prompt[] = [];
  const scripted = scriptedModel(script);
  const model: Model = {
    name: "stopping",
    async *generate(input, context) {
      prompts.push(input as unknown as Prompt);
      const completion = prompts.length;
      for await (const part of scripted.generate(input, context)) {
        if (part.type === "result") await atEnd?.(completion);
        yield part;
      }
    },
  };
  const lookup = defineTool({
    name: "lookup",
    description: "Looks something up.",
    input: z.object({}),
    run: async () => {
      await lookUp?.();
      return "found";
    },
  });
  const agent = llmAgent({
    name: "guide",
    purpose: "Guides.",
    instructions: "Guide.",
    model,
    tools: [lookup],
    ...(maxSteps !== undefined && { maxSteps }),
  });
  const runtime = createRuntime({ agents: [agent] });
  const server = await serve(runtime, { port: 0 });
  const post = async (body: object, wait: string): Promise<Event> => {
    const answer = await fetch(`${server.url}/guide/process?wait=${wait}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Event;
  };
  return {
    prompts,
    ask: (input: string): Promise<Event> => post({ type: "ChatRequest", input, key: "trip" }, "completed"),
    steer: (body: string): Promise<Event> =>
      post({ type: "Message", name: "steer", body, key: "trip" }, "true"),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

const rolesOf = ({ messages }: Prompt): readonly string[] => messages.map(({ role }) => role);

test("a hint that comes during a tool call reaches the next completion, after the result of the tool", async () => {
  const gate = new Gate();
  await using guide = await startSteered({
    script: ({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? `I heard: ${messages.at(-1)?.content}`
        : {
            toolCalls: [
              { name: "lookup", input: {} },
              { name: "lookup", input: {} },
            ],
          },
    lookUp: () => gate.pass(),
  });
  const answer = guide.ask("where to?");
  await gate.reached;
  expect(await guide.steer("by train")).toMatchObject({ type: "MessageReceived", name: "steer" });
  gate.open();
  expect(await answer).toMatchObject({ finish_reason: "success", result: "I heard: by train" });
  expect(guide.prompts.map(rolesOf)).toEqual([["user"], ["user", "assistant", "tool", "tool", "user"]]);
});

test("a hint that comes during the last completion makes the model answer again", async () => {
  const gate = new Gate();
  await using guide = await startSteered({
    script: ({ messages }) => `To ${messages.at(-1)?.content}.`,
    atEnd: async (completion) => {
      if (completion === 1) await gate.pass();
    },
  });
  const answer = guide.ask("Rome");
  await gate.reached;
  await guide.steer("Oslo");
  await guide.steer("Bergen");
  gate.open();
  expect(await answer).toMatchObject({ finish_reason: "success", result: "To Rome.\n\nTo Bergen." });
  expect(guide.prompts.map(rolesOf)).toEqual([["user"], ["user", "assistant", "user", "user"]]);
  // The conversation of the next turn has the hints.
  await guide.ask("and back?");
  expect(guide.prompts.at(-1)?.messages.map(({ content }) => content)).toEqual([
    "Rome",
    "To Rome.",
    "Oslo",
    "Bergen",
    "To Bergen.",
    "and back?",
  ]);
});

test("a hint that comes at the last completion that maxSteps allows is for the next turn", async () => {
  const gate = new Gate();
  await using guide = await startSteered({
    script: ({ messages }) => `To ${messages.at(-1)?.content}.`,
    atEnd: async (completion) => {
      if (completion === 1) await gate.pass();
    },
    maxSteps: 1,
  });
  const answer = guide.ask("Rome");
  await gate.reached;
  await guide.steer("Oslo");
  gate.open();
  expect(await answer).toMatchObject({ result: "To Rome." });
  expect(await guide.ask("now?")).toMatchObject({ result: "To Oslo." });
});

test("the description of every agent that is made from a model lists steer", () => {
  const agent = llmAgent({ name: "guide", purpose: "", instructions: "", model: scriptedModel([]) });
  const runtime = createRuntime({ agents: [agent] });
  expect(runtime.describe("guide").messages).toEqual([
    { name: "steer", body_schema: expect.anything() as object },
  ]);
});
