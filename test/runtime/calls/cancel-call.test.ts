import { defineAgent, defineTool } from "troupe";
import type { AgentError, Turn } from "troupe";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { asked, chat, TestHost } from "../test-host.ts";
import { asker } from "./asker.ts";
import { atEveryCrash } from "./crashes.ts";
import { outcomeOf } from "./outcome.ts";

/** Never settles. */
const endless = defineTool({
  name: "endless",
  description: "Never ends.",
  input: z.object({}),
  effect: "idempotent",
  run: (_input, turn) => turn.effect("forever", () => new Promise<null>(() => {}), { effect: "idempotent" }),
});

const worker = defineAgent({
  name: "worker",
  purpose: "Works without end.",
  async chat(input, turn) {
    await turn.text(`working on ${input}`);
    await turn.tool(endless, {});
  },
});

/** Cancels a call of the worker after a while, twice, and says what came of it. */
const boss = defineAgent({
  name: "boss",
  purpose: "Cancels.",
  async chat(_input, turn) {
    const call = turn.call(worker, "chat", { input: "it" });
    await turn.sleep(100);
    call.cancel();
    call.cancel();
    await turn.text(await outcomeOf(call));
    call.cancel();
    await turn.text("and on");
  },
});

function typesOf(events: readonly Event[]): readonly string[] {
  return events.map((event) =>
    "function_name" in event ? `${event.type} ${event.function_name}` : event.type,
  );
}

const ended = [
  "RequestStarted",
  "ToolCall worker",
  "TextOutput",
  "ToolCall endless",
  "ToolCall forever",
  "ToolError forever",
  "ToolError endless",
  "ToolError worker",
  "TextOutput",
  "TextOutput",
  "RequestCompleted",
];

const said = JSON.stringify({
  code: "canceled",
  agent: "worker",
  operation: "chat",
  callId: "c1.1",
  message: "worker was canceled",
});

test("call.cancel ends the call and everything under it, the deepest first, and its code continues", async () => {
  const host = new TestHost({ agents: [boss] });
  await host.ask("boss", chat);
  await host.environment.advance(100);
  const events = await host.events(asked);
  expect(typesOf(events)).toEqual(ended);
  expect(ofType(events, "ToolError").map(({ code }) => code)).toEqual(["canceled", "canceled", "canceled"]);
  expect(textsOf(events)).toEqual([said, "and on"]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
  expect(host.environment.timers).toBe(0);
});

test("a canceled call is the same after a crash at any commit", async () => {
  for (const { place, events } of await atEveryCrash({ agents: [boss], to: "boss", stepMs: 50, steps: 6 })) {
    expect({ place, texts: textsOf(events) }).toEqual({ place, texts: [said, "and on"] });
    expect({ place, end: events.at(-1) }).toMatchObject({ place, end: { finish_reason: "success" } });
  }
});

test("a cancel leaves a call alone that has ended, and the outcomes keep the order of the log", async () => {
  const quick = defineAgent({ name: "quick", purpose: "Answers.", chat: (input) => input });
  const agent = defineAgent({
    name: "racer",
    purpose: "Cancels what may have ended.",
    async chat(_input, turn: Turn) {
      const order: string[] = [];
      const note = async (name: string, call: Promise<unknown>): Promise<void> => {
        order.push(`${name} ${(await outcomeOf(call)).slice(0, 17)}`);
      };
      const first = turn.call(quick, "chat", { input: "1" });
      const second = turn.call(worker, "chat", { input: "2" });
      const all = [note("first", first), note("second", second)];
      await first;
      second.cancel();
      first.cancel();
      await Promise.all(all);
      return order.join("; ");
    },
  });
  const expected = 'first result {"output":; second {"code":"canceled';
  for (const { place, events } of await atEveryCrash({ agents: [agent], to: "racer", stepMs: 1, steps: 2 })) {
    expect({ place, end: events.at(-1) }).toMatchObject({ place, end: { result: expected } });
  }
});

test("a call that waits for a person is canceled, and an answer to it comes too late", async () => {
  const agent = defineAgent({
    name: "impatient",
    purpose: "Does not wait for long.",
    async chat(_input, turn) {
      const call = turn.call(asker, "chat", { input: "" });
      await turn.sleep(20_000);
      call.cancel();
      return outcomeOf(call);
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("impatient", chat);
  await host.restart();
  await host.environment.advance(20_000);
  const end = (await host.events(asked)).at(-1);
  expect(end).toMatchObject({ finish_reason: "success" });
  expect(end?.type === "RequestCompleted" && end.result).toContain("canceled");
  const late = { type: "ResumeWithInput", request_id: asked, request_keys: { name: "Ann" } } as const;
  await expect(host.ask("impatient", late)).rejects.toMatchObject({ code: "conflict" });
});

test("events of a canceled call that is iterated end with the error", async () => {
  const agent = defineAgent({
    name: "listener",
    purpose: "Listens until a text comes.",
    async chat(_input, turn) {
      const heard: string[] = [];
      const call = turn.call(worker, "chat", { input: "it" });
      try {
        for await (const event of call) {
          heard.push(event.type);
          if (event.type === "ToolCall" && event.function_name === "forever") call.cancel();
        }
      } catch (error) {
        heard.push((error as AgentError).code);
      }
      return heard.join(" ");
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("listener", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    result: "TextOutput ToolCall ToolCall ToolError ToolError canceled",
  });
});
