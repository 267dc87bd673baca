import { defineAgent, defineTool } from "troupe";
import type { Turn } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

/** How the turn of a chat ends. */
async function endOf(handler: (turn: Turn) => unknown): Promise<unknown> {
  const agent = defineAgent({
    name: "asker",
    purpose: "Asks.",
    chat: async (_input, turn) => String(await handler(turn)),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("asker", chat);
  await host.environment.advance(1_000);
  return (await host.events(asked)).at(-1);
}

test.each([
  {
    about: "questions",
    handler: (turn: Turn): string => {
      void turn.waitForInput({ name: "Your name?", town: "Your town?" });
      return "done";
    },
    asks: "name, town",
  },
  {
    about: "a schema, in a branch",
    handler: (turn: Turn): Promise<unknown> =>
      turn.all([
        async (branch) => {
          void branch.waitForInput(z.object({ amount: z.number() }));
        },
      ]),
    asks: "amount",
  },
])("a turn that ends without awaiting its wait fails with an error that names it: $about", async (given) => {
  expect(await endOf(given.handler)).toMatchObject({
    finish_reason: "error",
    error: {
      code: "agent_error",
      message: `agent asker ended without awaiting turn.waitForInput for ${given.asks}; await it`,
    },
  });
});

test("a tool that ends without awaiting its wait fails, and its caller is told", async () => {
  const tool = defineTool({
    name: "forgetful",
    description: "Forgets its question.",
    input: z.object({}),
    run(_input, turn) {
      void turn.waitForInput({ go: "Go on?" });
    },
  });
  const agent = defineAgent({
    name: "caller",
    purpose: "Calls the tool.",
    tools: [tool],
    chat: (_input, turn) => turn.tool(tool, {}).catch((error: Error) => error.message),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("caller", chat);
  const events = await host.events(asked);
  expect(ofType(events, "ToolError")[0]?.content).toContain(
    "ended without awaiting turn.waitForInput for go",
  );
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
});

test.each([
  {
    about: "lost a race",
    handler: (turn: Turn): Promise<unknown> =>
      Promise.race([turn.sleep(10).then(() => "late"), turn.waitForInput({ go: "Go on?" })]),
    result: "late",
  },
  {
    about: "has a follow-up",
    handler: (turn: Turn): string => {
      void turn.waitForInput({ go: "Go on?" }).then(
        () => turn.text("gone"),
        // The end of the turn cancels the wait.
        () => {},
      );
      return "done";
    },
    result: "done",
  },
  {
    about: "expired while the code did something else",
    handler: async (turn: Turn): Promise<string> => {
      void turn.waitForInput({ go: "Go on?" }, { timeoutMs: 5 });
      await turn.sleep(10);
      return "done";
    },
    result: "done",
  },
])(
  "a turn may end while a wait is open or over that its code knows of: it $about",
  async ({ handler, result }) => {
    expect(await endOf(handler)).toMatchObject({ finish_reason: "success", result });
  },
);

test("a refused wait that nobody awaits does not end the process", async () => {
  const end = await endOf((turn) => {
    void turn.waitForInput({ go: 5 as never });
    return "done";
  });
  expect(end).toMatchObject({ finish_reason: "success" });
});
