import { defineAgent, defineTool } from "troupe";
import type { RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

/** Sends a text in every activation, and then never ends. */
const endless = defineAgent({
  name: "endless",
  purpose: "Never ends.",
  async chat(_input, turn) {
    await new Promise<void>(() => {});
    await turn.text("never");
  },
});

test.each([
  { about: "a log of one process", node: {} },
  { about: "a log that several nodes can share", node: { node: "one" } },
])(
  "a turn is ended when the process has died three times while it was on trial, on $about",
  async ({ node }) => {
    const host = new TestHost({ agents: [endless], ...node });
    await host.ask("endless", chat);
    for (let death = 1; death <= 4; death += 1) {
      await host.restartUntilContinued(asked);
      expect((await host.runtime.status(asked)).status).toBe("running");
    }
    await host.restartUntilContinued(asked);
    expect((await host.events(asked)).at(-1)).toMatchObject({
      finish_reason: "error",
      error: { code: "poisoned" },
    });
  },
);

test.each([
  { about: "also while the turn is held back", livesMs: [100, 900, 200, 1_500, 400, 700] },
  { about: "always at the same age", livesMs: [1_100] },
  { about: "long after the turn was tried", livesMs: [40_000, 50_000, 60_000] },
])("a process that somebody else kills poisons no turn: $about", async ({ livesMs }) => {
  const host = new TestHost({ agents: [endless] });
  await host.ask("endless", chat);
  for (let death = 0; death < 45; death += 1) {
    await host.environment.advance(livesMs[death % livesMs.length] as number);
    host.crash();
    await host.restart();
  }
  expect((await host.runtime.status(asked)).status).toBe("running");
});

/** An actor that reads nothing, and turns that only wait for it, or for a time. */
const busy = defineAgent({
  name: "busy",
  purpose: "Never ends.",
  messages: { note: z.string() },
  operations: (own) => ({
    work: own({ input: z.object({}), run: () => new Promise<null>(() => {}) }),
  }),
});
const teller = defineAgent({
  name: "teller",
  purpose: "Tells a busy actor something.",
  async chat(_input, turn) {
    await turn.tell(turn.actor(busy, "one"), "note", "more");
  },
});
const asker = defineAgent({
  name: "asker",
  purpose: "Asks a busy actor.",
  async chat(_input, turn) {
    await turn.ask(turn.actor(busy, "one"), "work", {});
  },
});
const napper = defineAgent({
  name: "napper",
  purpose: "Sleeps for a few seconds.",
  async chat(_input, turn) {
    await turn.sleep(4_000);
  },
});

test.each([
  { about: "tells an actor with a full mailbox", agent: teller },
  { about: "asks an actor with a full mailbox", agent: asker },
  { about: "sleeps for a few seconds", agent: napper },
])("a turn that only waits is never held back: it $about", async ({ agent }) => {
  const host = new TestHost({ agents: [busy, agent], limits: { unreadMessages: 1, queuedActorRequests: 0 } });
  await host.ask("busy", { type: "OperationRequest", operation: "work", input: {}, key: "one" });
  await host.ask("busy", { type: "Message", name: "note", body: "first", key: "one" });
  await host.ask(agent.name, chat);
  for (let death = 1; death <= 8; death += 1) {
    host.crash();
    await host.restart();
    await host.environment.advance(0);
  }
  const { runId } = (await host.log.lookup(asked)) ?? {};
  const { records } = await host.log.read(runId as RunId, { after: 0, records: true });
  expect(records.filter(({ type }) => type === "Held")).toEqual([]);
  expect((await host.runtime.status(asked)).status).toBe("running");
});

test("a proper end of the process does not count against the turn", async () => {
  const host = new TestHost({ agents: [endless] });
  await host.ask("endless", chat);
  for (let close = 1; close <= 6; close += 1) {
    const closing = host.runtime.close();
    await host.environment.advance(0);
    await closing;
    await host.restart();
  }
  expect((await host.runtime.status(asked)).status).toBe("running");
});

test("a turn that makes progress between crashes is continued as often as needed", async () => {
  const agent = defineAgent({
    name: "stepping",
    purpose: "Takes one step in each process.",
    async chat(_input, turn) {
      for (let step = 1; step <= 8; step += 1) {
        await turn.sleep(10);
        await turn.text(`${step} `);
      }
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("stepping", chat);
  for (let step = 1; step <= 8; step += 1) {
    await host.environment.advance(10);
    await host.restart();
  }
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "1 2 3 4 5 6 7 8 " });
});

test("an unsafe effect whose outcome is unknown after a crash is not repeated, and the caller is informed", async () => {
  let done = 0;
  const agent = defineAgent({
    name: "payer",
    purpose: "Pays once.",
    async chat(_input, turn) {
      try {
        await turn.effect("pay", () => {
          done += 1;
        });
        await turn.text("paid");
      } catch (error) {
        await turn.text((error as Error).message);
      }
    },
  });
  const host = new TestHost({ agents: [agent] });
  // Its start and its call are written, its result is not.
  host.planFault({ kind: "crash", written: false, after: 2 });
  await host.ask("payer", chat).catch(() => {});
  await host.restart();

  expect(done).toBe(1);
  expect(textsOf(await host.events(asked))).toEqual([
    "pay was interrupted; whether it took effect is unknown",
  ]);
  expect(ofType(await host.events(asked), "ToolError")).toMatchObject([{ code: "interrupted" }]);
});

test("an idempotent effect is repeated with the same id until the process has died in two of its trials", async () => {
  const tries: string[] = [];
  const agent = defineAgent({
    name: "retrying",
    purpose: "Tries again.",
    async chat(_input, turn) {
      try {
        await turn.effect(
          "fetch",
          ({ callId, attempt }) => {
            tries.push(`${callId} ${attempt}`);
            return new Promise<void>(() => {});
          },
          { effect: "idempotent" },
        );
      } catch (error) {
        return (error as Error).message;
      }
      return "fetched";
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("retrying", chat);
  for (let death = 1; death <= 4; death += 1) await host.restartUntilContinued(asked);

  // The first attempt counts, and the second one does not: nothing shows yet that the turn has ended the process.
  expect(tries).toEqual([1, 2, 3, 4].map((attempt) => `run_000000000000000000001.c1.1 ${attempt}`));
  const events = await host.events(asked);
  expect(ofType(events, "ToolCall").map(({ attempt = 1 }) => attempt)).toEqual([1, 2, 3, 4]);
  expect(ofType(events, "ToolError")).toMatchObject([{ tool_call_id: "c1.1", code: "interrupted" }]);
});

test("an unsafe tool that has used its turn continues after that", async () => {
  let begun = 0;
  const tool = defineTool({
    name: "careful",
    description: "Says what it does.",
    input: z.object({}),
    async run(_input, turn) {
      begun += 1;
      await turn.text("first ");
      await turn.sleep(1_000);
      await turn.text("second");
      return "done";
    },
  });
  const agent = defineAgent({
    name: "caller",
    purpose: "Calls the careful tool.",
    chat: (_input, turn) => turn.tool(tool, {}),
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("caller", chat);
  await host.restart();
  await host.environment.advance(1_000);

  const events = await host.events(asked);
  expect(begun).toBe(2);
  expect(ofType(events, "ToolTextOutput").map(({ content }) => content)).toEqual(["first ", "second"]);
  expect(ofType(events, "ToolCall")).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "done" });
});

test("a turn whose agent is no longer served is held", async () => {
  const other = defineAgent({ name: "other", purpose: "Is there.", chat: (input) => input });
  const host = new TestHost({ agents: [endless] });
  await host.ask("endless", chat);
  await host.restart([other]);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    type: "RequestHeld",
    code: "agent_missing",
    message: "agent endless is no longer served",
  });
});
