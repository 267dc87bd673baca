import { defineAgent, defineTool } from "troupe";
import type { Effect } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { TestHost } from "../test-host.ts";

/** One agent calls a tool that reports progress from outside; the first call never ends. */
function diggers(effect: Effect): ConstructorParameters<typeof TestHost>[0]["agents"] {
  let calls = 0;
  const dig = defineTool({
    name: "dig",
    description: "Digs, and tells how deep.",
    input: z.object({}),
    effect,
    async run(_input, turn) {
      calls += 1;
      turn.progress(`call ${calls} of ${turn.callId}`);
      if (calls === 1) await new Promise<never>(() => {});
      return "a coin";
    },
  });
  const digger = defineAgent({
    name: "digger",
    purpose: "Has a hole dug.",
    async chat(_input, turn) {
      await turn.text(await turn.tool(dig, {}).catch(() => "nothing"));
    },
  });
  return [digger];
}

async function digTwice(effect: Effect): Promise<readonly unknown[]> {
  const host = new TestHost({ agents: diggers(effect) });
  const { requestId } = await host.ask("digger", { type: "ChatRequest", input: "" });
  host.crash();
  await host.restart();
  const events = await host.events(requestId);
  return events.map(({ type, ...event }) => [type, "content" in event ? event.content : undefined]);
}

test("a tool that is called again after a crash can report different progress", async () => {
  expect(await digTwice("idempotent")).toEqual([
    ["RequestStarted", undefined],
    ["ToolCall", undefined],
    ["ToolTextOutput", "call 1 of run_000000000000000000002.c1.1"],
    ["ToolCall", undefined],
    ["ToolTextOutput", "call 2 of run_000000000000000000002.c1.1"],
    ["ToolResult", undefined],
    ["TextOutput", "a coin"],
    ["RequestCompleted", undefined],
  ]);
});

test("an unsafe tool that reported progress is not called again", async () => {
  expect(await digTwice("unsafe")).toEqual([
    ["RequestStarted", undefined],
    ["ToolCall", undefined],
    ["ToolTextOutput", "call 1 of run_000000000000000000002.c1.1"],
    ["ToolError", "dig was interrupted; whether it took effect is unknown"],
    ["TextOutput", "nothing"],
    ["RequestCompleted", undefined],
  ]);
});
