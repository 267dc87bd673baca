import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { ofType } from "../../agents/events.ts";
import { TestHost } from "../test-host.ts";

const CHILDREN = 1_000;

const child = defineAgent({ name: "child", purpose: "Says its number.", chat: (input) => input });

const parent = defineAgent({
  name: "parent",
  purpose: "Calls many children at once.",
  async chat(_input, turn) {
    const calls = Array.from({ length: CHILDREN }, (_, index) =>
      turn.call(child, "chat", { input: String(index) }),
    );
    const answers = await Promise.all(calls);
    return answers.map(({ output }) => output).join(",");
  },
});

const numbers = Array.from({ length: CHILDREN }, (_, index) => String(index)).join(",");

test(
  "a thousand parallel children all answer, even if the process dies in between",
  { tags: "long" },
  async () => {
    const whole = new TestHost({ agents: [parent] });
    const { requestId } = await whole.ask("parent", { type: "ChatRequest", input: "" });
    const events = await whole.events(requestId);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: numbers });
    expect(ofType(events, "ToolCall")).toHaveLength(CHILDREN);

    for (let commit = 3; commit <= whole.commits; commit += 1) {
      const host = new TestHost({
        agents: [parent],
        commitFaults: [{ commit, kind: "crash", written: true }],
      });
      const receipt = await host.ask("parent", { type: "ChatRequest", input: "" });
      await host.restart();
      const again = await host.events(receipt.requestId);
      expect(again.at(-1)).toMatchObject({ finish_reason: "success", result: numbers });
      expect(ofType(again, "ToolResult")).toHaveLength(CHILDREN);
    }
  },
);
