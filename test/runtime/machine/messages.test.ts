import { defineAgent, fromMachine, operation } from "troupe";
import type { MessageRequest, Request } from "troupe/protocol";
import { expect, test } from "vitest";
import { assign, createMachine, setup } from "xstate";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";

/** Reads its mail only in some states; a guard refuses spam, and a letter is answered while it waits for a person. */
const machine = setup({
  types: {
    context: {} as { readonly read: readonly string[] },
    events: {} as
      | { readonly type: "open" }
      | { readonly type: "letter"; readonly text: string }
      | { readonly type: "close" }
      | { readonly type: "resume" },
  },
  guards: { isNoSpam: ({ event }) => event.type === "letter" && event.text !== "spam" },
  actions: {
    read: assign({
      read: ({ context, event }) => [...context.read, event.type === "letter" ? event.text : event.type],
    }),
  },
}).createMachine({
  context: { read: [] },
  initial: "shut",
  states: {
    shut: { on: { open: "resting" } },
    resting: { after: { 60_000: "reading" } },
    reading: {
      tags: "wait",
      meta: { request_keys: { ok: "Enough?" } },
      on: { letter: { guard: "isNoSpam", actions: "read" }, close: "end", resume: "end" },
    },
    end: { type: "final" },
  },
  output: ({ context }) => context.read,
});

const clerk = fromMachine({
  name: "clerk",
  purpose: "Reads letters.",
  machine,
  operations: { open: operation({}) },
  messages: { letter: z.object({ text: z.string() }), close: z.null() },
});

const open: Request = { type: "OperationRequest", operation: "open", input: {}, key: "k", request_id: asked };
const letter = (text: string): MessageRequest => ({
  type: "Message",
  name: "letter",
  body: { text },
  key: "k",
  request_id: `letter-${text}`,
});
const close: MessageRequest = { type: "Message", name: "close", body: null, key: "k", request_id: "close" };

/** What the machine has noted when it was closed. */
async function endOf(host: TestHost): Promise<unknown> {
  await host.ask("clerk", close);
  await host.environment.idle();
  return (await host.events(asked)).at(-1);
}

test("a message is an event of the machine once a state takes it, in order", async () => {
  const host = new TestHost({ agents: [clerk] });
  // Before its turn, and in a state that does not read.
  await host.ask("clerk", letter("a"));
  await host.ask("clerk", open);
  await host.ask("clerk", letter("b"));
  await host.environment.advance(60_000);
  await host.ask("clerk", letter("c"));
  const events = await host.events(asked);
  const changes = ofType(events, "StateChanged").map(
    ({ value, cause }) => `${cause} → ${JSON.stringify(value)}`,
  );
  expect(changes.slice(-3)).toEqual(Array.from({ length: 3 }, () => `letter → "reading"`));
  expect(await endOf(host)).toMatchObject({ finish_reason: "success", output: ["a", "b", "c"] });
  expect(host.faults).toEqual([]);
});

test("a message that a guard refuses stays unread, and others overtake it", async () => {
  const host = new TestHost({ agents: [clerk] });
  const { runId } = await host.ask("clerk", open);
  await host.ask("clerk", letter("spam"));
  await host.ask("clerk", letter("a"));
  await host.environment.advance(60_000);
  const unread = async (): Promise<unknown> => (await host.runtime.inspection.run(runId ?? "")).unread;
  expect(await unread()).toMatchObject([{ name: "letter" }]);
  expect(await endOf(host)).toMatchObject({ output: ["a"] });
  // The next turn takes it neither, and does not lose it.
  await host.ask("clerk", { ...open, request_id: "again" });
  await host.environment.advance(60_000);
  expect(await unread()).toMatchObject([{ name: "letter" }]);
});

test("a machine that has left memory is loaded for a message that it takes", async () => {
  const host = new TestHost({ agents: [clerk], limits: { idleRuns: 0 } });
  await host.ask("clerk", open);
  await host.ask("clerk", letter("a"));
  expect(host.runtime.health()).toMatchObject({ activeRuns: 0 });
  await host.environment.advance(60_000);
  await host.restart();
  await host.ask("clerk", letter("b"));
  await host.ask("clerk", letter("spam"));
  expect(host.runtime.health()).toMatchObject({ activeRuns: 0 });
  expect(await endOf(host)).toMatchObject({ output: ["a", "b"] });
});

test("a full mailbox takes a message that the machine takes at once", async () => {
  const host = new TestHost({ agents: [clerk], limits: { unreadMessages: 2 } });
  await host.ask("clerk", open);
  await host.environment.advance(60_000);
  await host.ask("clerk", { ...letter("spam"), request_id: "1" });
  await host.ask("clerk", { ...letter("spam"), request_id: "2" });
  await expect(host.ask("clerk", { ...letter("spam"), request_id: "3" })).rejects.toMatchObject({
    code: "overloaded",
  });
  await host.ask("clerk", letter("a"));
  expect(await endOf(host)).toMatchObject({ output: ["a"] });
});

test("a machine reads all its messages at once, however many there are", { tags: "long" }, async () => {
  const counter = fromMachine({
    name: "counter",
    purpose: "Counts.",
    machine: createMachine({
      context: { count: 0 },
      initial: "shut",
      states: {
        shut: { on: { open: "counting" } },
        counting: {
          after: { 60_000: "end" },
          on: { one: { actions: assign({ count: ({ context }) => context.count + 1 }) } },
        },
        end: { type: "final" },
      },
      output: ({ context }) => context.count,
    }),
    operations: { open: operation({}) },
    messages: { one: z.null() },
  });
  const host = new TestHost({ agents: [counter], limits: { unreadMessages: 2_000 } });
  for (let sent = 0; sent < 1_200; sent += 1)
    await host.ask("counter", { type: "Message", name: "one", body: null, key: "k" });
  await host.ask("counter", open);
  await host.environment.advance(60_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ output: 1_200 });
});

test("its messages are checked and described, and other actors tell them", async () => {
  const sender = defineAgent({
    name: "sender",
    purpose: "Sends a letter.",
    chat: async (text, turn) => {
      await turn.tell(turn.actor(clerk, "k"), "letter", { text });
    },
  });
  const host = new TestHost({ agents: [clerk, sender] });
  await host.ask("clerk", open);
  await host.environment.advance(60_000);
  await expect(host.ask("clerk", { ...letter("a"), body: { text: 1 } })).rejects.toMatchObject({
    code: "unprocessable",
  });
  await expect(host.ask("clerk", { ...letter("a"), name: "parcel" })).rejects.toMatchObject({
    code: "unprocessable",
    message: expect.stringContaining("parcel") as unknown,
  });
  expect(host.runtime.describe("clerk").messages?.map(({ name }) => name)).toEqual(["letter", "close"]);
  await host.ask("sender", { type: "ChatRequest", input: "a" });
  await host.environment.idle();
  expect(await endOf(host)).toMatchObject({ output: ["a"] });
});

test("a message cannot have the name of an operation", () => {
  expect(() =>
    fromMachine({
      name: "clerk",
      purpose: "Reads letters.",
      machine,
      operations: { open: operation({}) },
      messages: { open: z.null() },
    }),
  ).toThrow("an operation and a message with the name open");
});
