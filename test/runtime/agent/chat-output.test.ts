import { defineAgent } from "troupe";
import type { RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { TestHost } from "../test-host.ts";

test.each([
  [42, "42"],
  [true, "true"],
  [[1, 2], "[1,2]"],
  [{ sum: 3 }, '{"sum":3}'],
])("a chat that returns %j answers with that, as text and as output", async (output, result) => {
  const agent = defineAgent({ name: "counter", purpose: "Counts.", chat: () => output as never });
  const host = new TestHost({ agents: [agent] });
  const request_id = "asked" as RequestId;
  await host.ask("counter", { type: "ChatRequest", input: "", request_id });
  const events = await host.events(request_id);
  expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success", result, output });
});
