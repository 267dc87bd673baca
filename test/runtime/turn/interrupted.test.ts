import { defineAgent, defineTool, fromMachine } from "troupe";
import type { Agent } from "troupe";
import { expect, test } from "vitest";
import { fromPromise, setup } from "xstate";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";

const never = (): Promise<void> => new Promise(() => {});

const inEffect = defineAgent({
  name: "direct",
  purpose: "Does something that must not be repeated.",
  chat: (_input, turn) => turn.effect("pay", never),
});

const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), run: never });

const inTool = defineAgent({
  name: "with-tool",
  purpose: "Calls a tool that must not be repeated.",
  chat: (_input, turn) => turn.tool(pay, {}),
});

const inChild = defineAgent({
  name: "with-child",
  purpose: "Calls an agent that does something that must not be repeated.",
  chat: async (_input, turn) => void (await turn.call(inEffect, "chat", { input: "" })),
});

const inMachine = fromMachine({
  name: "machine",
  purpose: "Invokes something that must not be repeated.",
  machine: setup({ actors: { pay: fromPromise(never) } }).createMachine({
    initial: "paying",
    states: { paying: { invoke: { src: "pay", onDone: "paid" } }, paid: { type: "final" } },
  }),
});

test.each([
  { about: "an effect", agents: [inEffect] },
  { about: "a tool", agents: [inTool] },
  { about: "an agent's effect", agents: [inChild, inEffect] },
  { about: "a machine's promise", agents: [inMachine] },
] satisfies readonly { readonly about: string; readonly agents: readonly Agent[] }[])(
  "a turn whose code does not catch that a crash interrupted its call ends with that code: $about",
  async ({ agents }) => {
    const host = new TestHost({ agents });
    await host.ask(agents[0]?.name ?? "", { type: "ChatRequest", input: "", request_id: asked });
    await host.restart();
    await host.environment.advance(0);
    const events = await host.events(asked);
    expect(ofType(events, "ToolError").map(({ code }) => code)).toEqual(
      ofType(events, "ToolCall").map(() => "interrupted"),
    );
    expect(events.at(-1)).toMatchObject({
      finish_reason: "error",
      error: { code: "interrupted", message: "pay was interrupted; whether it took effect is unknown" },
    });
  },
);

test("an error of its own ends a turn with its own code, though a call was interrupted", async () => {
  const agent = defineAgent({
    name: "handling",
    purpose: "Catches it.",
    async chat(_input, turn) {
      await turn.effect("pay", never).catch(() => {});
      throw new Error("no money");
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("handling", { type: "ChatRequest", input: "", request_id: asked });
  await host.restart();
  expect((await host.events(asked)).at(-1)).toMatchObject({
    error: { code: "agent_error", message: "no money" },
  });
});
