import { createRuntime, defineAgent, defineTool, operation } from "troupe";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const scribe = defineAgent({
  name: "scribe",
  purpose: "Writes and counts.",
  operations: {
    count: operation({ input: z.object({ text: z.string() }), run: ({ text }) => ({ length: text.length }) }),
    fail: operation({
      input: z.object({}),
      run() {
        throw new Error("the pen is broken");
      },
    }),
  },
  async chat(text, turn) {
    const { url } = await turn.artifact({ name: "note.txt", mimeType: "text/plain", data: text });
    await turn.text(url === "" ? "" : "It is written.");
  },
});

const shout = defineTool({
  name: "shout",
  description: "Shouts.",
  input: z.object({ text: z.string() }),
  run: ({ text }) => text.toUpperCase(),
});

test("the text of a call has its result and a line for each file", async () => {
  const told: string[] = [];
  const caller = defineAgent({
    name: "caller",
    purpose: "Calls.",
    async chat(_input, turn) {
      told.push(
        await turn.call(scribe, "chat", { input: "hello" }).text(),
        await turn.call(scribe, "count", { text: "four" }).text(),
        await turn.tool(shout, { text: "ho" }).text(),
        await turn
          .call(scribe, "fail", {})
          .text()
          .catch(({ message }: Error) => `Error: ${message}`),
      );
    },
  });
  const runtime = createRuntime({ agents: [caller] });
  const events = await collect(runtime, "caller", { type: "ChatRequest", input: "" });
  await runtime.close();

  const file = events.find((event) => event.type === "ArtifactGenerated");
  expect(told).toEqual([
    `It is written.\nnote.txt (text/plain) ${file?.url}`,
    '{"length":4}',
    "HO",
    "Error: the pen is broken",
  ]);
  expect(file?.url).toMatch(/^\/artifacts\//);
});

// An unhandled rejection fails the test run.
test("a call whose text is not awaited can fail without harm", async () => {
  const hasty = defineAgent({
    name: "hasty",
    purpose: "Asks and does not listen.",
    async chat(_input, turn) {
      const call = turn.call(scribe, "fail", {});
      void call.text();
      await call.catch(() => {});
      await turn.text("never mind");
    },
  });
  const runtime = createRuntime({ agents: [hasty] });
  const events = await collect(runtime, "hasty", { type: "ChatRequest", input: "" });
  await runtime.close();
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "never mind" });
});
