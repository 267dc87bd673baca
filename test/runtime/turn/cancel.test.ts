import { defineAgent, defineTool } from "troupe";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

const cancel = { type: "CancelRequest", request_id: asked } as const;

/** Never settles and ignores its cancel. */
const deaf = defineTool({
  name: "deaf",
  description: "Does not listen.",
  input: z.object({}),
  run: () => new Promise<void>(() => {}),
});

const middle = defineTool({
  name: "middle",
  description: "Has two others work for it.",
  input: z.object({}),
  async run(_input, turn) {
    await Promise.all([turn.tool(deaf, {}), turn.effect("forever", () => new Promise<void>(() => {}))]);
  },
});

const stubborn = defineAgent({
  name: "stubborn",
  purpose: "Continues when it is canceled.",
  async chat(_input, turn) {
    await turn.text("I begin.");
    try {
      await turn.tool(middle, {});
    } catch {
      await turn.text("I do not care.");
    }
    return "I end.";
  },
});

function typesOf(events: readonly Event[]): readonly string[] {
  return events.map((event) =>
    "function_name" in event ? `${event.type} ${event.function_name}` : event.type,
  );
}

test("a cancel ends the open calls, the deepest first, then the turn, and nothing follows", async () => {
  const host = new TestHost({ agents: [stubborn] });
  await host.ask("stubborn", chat);
  const receipt = await host.ask("stubborn", cancel);

  const events = await host.events(asked);
  expect(typesOf(events)).toEqual([
    "RequestStarted",
    "TextOutput",
    "ToolCall middle",
    "ToolCall deaf",
    "ToolCall forever",
    "CancelRequest",
    "ToolError forever",
    "ToolError deaf",
    "ToolError middle",
    "RequestCompleted",
  ]);
  expect(ofType(events, "ToolError").map(({ code }) => code)).toEqual(["canceled", "canceled", "canceled"]);
  expect(JSON.parse(receipt.event ?? "{}")).toMatchObject({
    type: "RequestCompleted",
    finish_reason: "canceled",
    result: null,
  });
  expect(host.environment.timers).toBe(0);
});

test("a waiting turn is canceled, whether or not it is in memory", async () => {
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks.",
    async chat(_input, turn) {
      await turn.tool(
        defineTool({
          name: "ask",
          description: "Asks.",
          input: z.object({}),
          run: (_nothing, own) => own.waitForInput({ name: "Your name?" }),
        }),
        {},
      );
    },
  });
  for (const isRestarted of [false, true]) {
    const host = new TestHost({ agents: [asker] });
    await host.ask("asker", chat);
    if (isRestarted) await host.restart();
    await host.ask("asker", cancel);
    expect(typesOf(await host.events(asked))).toEqual([
      "RequestStarted",
      "ToolCall ask",
      "WaitForInput",
      "CancelRequest",
      "ToolError ask",
      "RequestCompleted",
    ]);
    const late = { type: "ResumeWithInput", request_id: asked, request_keys: { name: "Ann" } } as const;
    await expect(host.ask("asker", late)).rejects.toMatchObject({ code: "conflict" });
  }
});

test("a request canceled in the queue never runs; its end is between the other turn's events", async () => {
  let runs = 0;
  const agent = defineAgent({
    name: "sleeper",
    purpose: "Sleeps between two texts.",
    async chat(input, turn) {
      runs += 1;
      await turn.text(`${input} begins.`);
      await turn.sleep(1_000);
      await turn.text(`${input} ends.`);
    },
  });
  const host = new TestHost({ agents: [agent] });
  const { runId } = await host.ask("sleeper", { type: "ChatRequest", input: "one" });
  await host.ask("sleeper", { ...chat, input: "two", run_id: runId } as never);
  expect((await host.runtime.status(asked)).status).toBe("queued");

  await host.ask("sleeper", cancel);
  await host.environment.advance(1_000);
  const events = await host.events(runId ?? "");
  expect(typesOf(events)).toEqual([
    "RequestStarted",
    "TextOutput",
    "Sleeping",
    "RequestStarted",
    "CancelRequest",
    "RequestCompleted",
    "TextOutput",
    "RequestCompleted",
  ]);
  expect(events.slice(3, 6).every(({ request_id: requestId }) => requestId === asked)).toBe(true);
  expect(runs).toBe(1);
});

test("a cancel of an ended turn is answered with its end and adds nothing", async () => {
  const echo = defineAgent({ name: "echo", purpose: "Echoes.", chat: (input) => input });
  const host = new TestHost({ agents: [echo] });
  await host.ask("echo", { ...chat, input: "hi" });
  const before = await host.events(asked);

  const receipt = await host.ask("echo", cancel);
  expect(JSON.parse(receipt.event ?? "{}")).toEqual(before.at(-1));
  expect(await host.events(asked)).toEqual(before);
});

test("a cancel that races with the end of its turn is answered by the first of the two, always with one end", async () => {
  const echo = defineAgent({
    name: "echo",
    purpose: "Takes a few turns of the event loop.",
    async chat(input, turn) {
      for (const word of input.split(" ")) await turn.text(word);
    },
  });
  const ends = new Set<string>();
  for (let seed = 1; seed <= 60; seed += 1) {
    const host = new TestHost({ agents: [echo], seed });
    const asking = host.runtime.process("echo", { ...chat, input: "a b c" });
    for (let turns = 0; turns < seed; turns += 1) {
      await new Promise<void>((resolve) => {
        host.environment.macrotask(resolve);
      });
    }
    await asking;
    const canceling = host.runtime.process("echo", cancel);
    await host.environment.idle();
    const { event } = await canceling;

    const events = await host.events(asked);
    const end = events.at(-1);
    expect(ofType(events, "RequestCompleted")).toHaveLength(1);
    expect(JSON.parse(event ?? "{}")).toEqual(end);
    if (end?.type === "RequestCompleted") ends.add(end.finish_reason);
  }
  expect([...ends].sort()).toEqual(["canceled", "success"]);
});

test("a cancel survives a crash right after it, and no code runs again for it", async () => {
  let runs = 0;
  const agent = defineAgent({
    name: "stuck",
    purpose: "Never ends.",
    async chat(_input, turn) {
      runs += 1;
      await turn.effect("forever", () => new Promise<void>(() => {}));
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("stuck", chat);
  host.planFault({ kind: "crash", written: true });
  void host.runtime.process("stuck", cancel).catch(() => {});
  await host.environment.idle();
  await host.restart();

  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "canceled" });
  expect(runs).toBe(1);
});

test("the next request of a run starts after a cancel", async () => {
  const agent = defineAgent({
    name: "moody",
    purpose: "Sometimes does not answer.",
    async chat(input, turn) {
      if (input === "wait") await turn.effect("forever", () => new Promise<void>(() => {}));
      return input;
    },
  });
  const host = new TestHost({ agents: [agent] });
  const { runId } = await host.ask("moody", { ...chat, input: "wait" });
  await host.ask("moody", cancel);
  await host.ask("moody", { type: "ChatRequest", input: "hello", run_id: runId } as never);
  expect((await host.events(runId ?? "")).at(-1)).toMatchObject({ result: "hello" });
  expect(textsOf(await host.events(asked))).toEqual([]);
});

test("an unknown request cannot be canceled", async () => {
  const host = new TestHost({ agents: [stubborn] });
  await expect(host.ask("stubborn", cancel)).rejects.toMatchObject({ code: "not_found" });
});
