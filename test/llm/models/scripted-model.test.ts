import type { Model, ModelError } from "troupe";
import { scriptedModel } from "troupe/llm";
import { expect, test } from "vitest";

const context = {
  callId: "c1.1",
  attempt: 1,
  signal: new AbortController().signal,
  readArtifact: async () => new Uint8Array(),
};

/** Asks a model in a conversation with a number of earlier answers, and collects its stream. */
async function generate(model: Model, answers = 0): Promise<readonly unknown[]> {
  const messages = [
    { role: "user", content: "hello" },
    ...Array.from({ length: answers }, () => ({ role: "assistant", content: "yes" })),
  ];
  const parts: unknown[] = [];
  for await (const part of model.generate({ instructions: "", messages, tools: [] }, context))
    parts.push(part);
  return parts;
}

test("a text is streamed word by word, and a list part by part", async () => {
  const text = async (step: string | { readonly text: readonly string[] }): Promise<readonly unknown[]> =>
    (await generate(scriptedModel([step]))).slice(0, -1);
  expect(await text(" to  be\nor ")).toEqual([
    { type: "text", text: " to  " },
    { type: "text", text: "be\n" },
    { type: "text", text: "or " },
  ]);
  expect(await text({ text: ["to be ", "or not"] })).toEqual([
    { type: "text", text: "to be " },
    { type: "text", text: "or not" },
  ]);
});

test("the answer depends only on the conversation, so a restart changes nothing", async () => {
  const said = async (answers: number): Promise<unknown> =>
    (await generate(scriptedModel(["one", "two"]), answers))[0];
  expect(await said(1)).toEqual({ type: "text", text: "two" });
  expect(await said(0)).toEqual({ type: "text", text: "one" });
});

test("calls have ids that are unique in the conversation", async () => {
  const step = { toolCalls: [1, 2].map((page) => ({ name: "read", input: { page } })) };
  expect((await generate(scriptedModel([step, step]), 1)).at(-1)).toMatchObject({
    type: "result",
    result: {
      text: "",
      toolCalls: [
        { id: "call-1-0", name: "read", input: { page: 1 } },
        { id: "call-1-1", name: "read", input: { page: 2 } },
      ],
      finishReason: "tool-calls",
    },
  });
});

test("the end of a script is an error", async () => {
  await expect(generate(scriptedModel(["one"]), 1)).rejects.toMatchObject({
    message: "the script ends after 1 answers",
    code: undefined,
  } satisfies Partial<ModelError>);
});
