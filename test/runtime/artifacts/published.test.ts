import { createRuntime, defineAgent } from "troupe";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";

test.each([
  ["nothing", undefined],
  ["an object", { text: "content" }],
  ["a buffer", new ArrayBuffer(8)],
])("an artifact with %s as data is refused by name, and the turn can continue", async (_, data) => {
  const agent = defineAgent({
    name: "publisher",
    purpose: "Publishes.",
    async chat(_input, turn) {
      const artifact = { name: "file.txt", mimeType: "text/plain", data: data as unknown as string };
      await turn.artifact(artifact).catch((error: Error) => turn.text(error.message));
    },
  });
  const runtime = createRuntime({ agents: [agent] });
  const events = await collect(runtime, "publisher", { type: "ChatRequest", input: "" });
  await runtime.close();
  expect(events.map(({ type }) => type)).toEqual(["RequestStarted", "TextOutput", "RequestCompleted"]);
  expect(events.at(-1)).toMatchObject({
    finish_reason: "success",
    result: "the data of artifact file.txt is neither a string nor a Uint8Array",
  });
});
