import { createRuntime } from "troupe";
import type { Event } from "troupe";
import { agentMatchers } from "troupe/testing/vitest";
import { expect, test } from "vitest";
import { createDesk } from "./desk.ts";

expect.extend(agentMatchers);

test("what an agent has called, answered and cost is expected of its events", async () => {
  const runtime = createRuntime({ agents: [createDesk()] });
  const receipt = await runtime.process("desk", {
    type: "ChatRequest",
    input: "refund order B1",
    logging_level: "all",
  });
  const feed = await runtime.answers(receipt);
  const events: Event[] = [];
  for await (const page of feed.pages) events.push(...page.events.map((text) => JSON.parse(text) as Event));
  await runtime.close();

  expect(events).toUseTools(["order"]);
  expect(events).not.toUseTools(["order", "refund"]);
  expect(events).toAnswer(/do not know/);
  expect(events).toAnswer("order B1");
  expect(events).not.toAnswer("refunded");
  expect(events).toCost(0.01);
  expect(events).not.toCost(0.000_001);
  expect(() => expect(events).toUseTools(["refund"])).toThrow("called were order");
});
