import { defineAgent, defineTool } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { textsOf } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";
import { message } from "./agents.ts";

const chat = { type: "ChatRequest", input: "", key: "room", request_id: asked } as const;

const work = defineTool({
  name: "work",
  description: "Works a minute.",
  input: z.object({ fails: z.boolean().default(false) }),
  effect: "idempotent",
  async run({ fails }, turn): Promise<string> {
    await turn.sleep(60_000);
    if (fails) throw new Error("no luck");
    return "made";
  },
});

const worker = defineAgent({
  name: "worker",
  purpose: "Works until it is done, or told to stop, and hears notes meanwhile.",
  messages: { note: z.string(), stop: z.null(), hurry: z.object({ by: z.number() }) },
  async chat(input, turn) {
    const done = turn.tool(work, { fails: input === "fail" });
    for (;;) {
      const first = await turn.select(
        { said: turn.receive.of(["note", "hurry"]), stop: turn.receive.of("stop"), done },
        { timeoutMs: 45_000 },
      );
      switch (first?.name) {
        case undefined:
          await turn.text("still at it ");
          continue;
        case "said":
          await turn.text(
            first.value.name === "note" ? `${first.value.body} ` : `by ${first.value.body.by} `,
          );
          continue;
        case "stop":
          done.cancel();
          return `stopped, ${JSON.stringify(turn.received("note"))} left`;
        case "done":
          return first.value;
        default:
          throw new Error("unknown entry");
      }
    }
  },
});

test("a select gives what comes first, and a restart changes nothing", async () => {
  const host = new TestHost({ agents: [worker] });
  await host.ask("worker", chat);
  await host.ask("worker", message("note", "hello"));
  await host.restart();
  await host.ask("worker", message("hurry", { by: 3 }));
  await host.environment.advance(45_000);
  await host.restart();
  await host.environment.advance(15_000);
  const events = await host.events(asked);
  expect(textsOf(events)).toEqual(["hello ", "by 3 ", "still at it "]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "made" });
});

test("a message that comes after the call has ended stays unread, and one before it is read", async () => {
  const host = new TestHost({ agents: [worker] });
  await host.ask("worker", chat);
  await host.ask("worker", message("note", "early"));
  await host.ask("worker", message("stop", null));
  await host.ask("worker", message("note", "late"));
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "stopped, [] left" });
  await host.ask("worker", { ...chat, request_id: "second" });
  expect(textsOf(await host.events("second"))).toEqual(["late "]);
});

test("the status names all messages that a select waits for", async () => {
  const host = new TestHost({ agents: [worker] });
  const listening = defineAgent({
    name: "listening",
    purpose: "Waits for two messages.",
    messages: { a: z.null(), b: z.null() },
    async chat(_input, turn) {
      const first = await turn.receive(["a", "b"]);
      return first?.name;
    },
  });
  await host.restart([worker, listening]);
  await host.ask("listening", chat);
  expect(await host.runtime.status(asked)).toMatchObject({
    waiting_for: { kind: "message", name: "a", names: ["a", "b"] },
  });
  await host.ask("listening", message("b", null));
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "b" });
});

test("a select throws the error of the promise that comes first", async () => {
  const host = new TestHost({ agents: [worker] });
  await host.ask("worker", { ...chat, input: "fail" });
  await host.environment.advance(60_000);
  await host.environment.advance(60_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    finish_reason: "error",
    error: { message: expect.stringContaining("no luck") as string },
  });
});

test("a canceled receive fails, and leaves the messages to others", async () => {
  const hearer = defineAgent({
    name: "hearer",
    purpose: "Cancels a receive.",
    messages: { note: z.string() },
    async chat(_input, turn) {
      const note = turn.receive("note");
      await turn.sleep(1_000);
      note.cancel();
      const error = await note.catch((thrown: unknown) => (thrown as { code: string }).code);
      return `${error} ${await turn.receive("note")}`;
    },
  });
  const host = new TestHost({ agents: [hearer] });
  await host.ask("hearer", chat);
  await host.environment.advance(1_000);
  await host.restart();
  await host.ask("hearer", message("note", "kept"));
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "canceled kept" });
});

test("a select that would lose messages, or waits for nothing, is refused", async () => {
  const wrong = defineAgent({
    name: "wrong",
    purpose: "Selects wrongly.",
    messages: { note: z.string(), other: z.string() },
    async chat(_input, turn) {
      const started = turn.receive("note");
      const errors = await Promise.all(
        [
          () => turn.select({}),
          () => turn.select({ started }),
          () => turn.select({ a: turn.receive.of("note"), b: turn.receive.of(["note", "other"]) }),
          () => turn.select({ a: 1 as never }),
          () => turn.select({ a: turn.receive.of("none" as "note") }),
          () => turn.select({ a: turn.receive.of("note") }, { timeoutMs: -1 }),
        ].map(async (wronged): Promise<string> => {
          try {
            return JSON.stringify(await wronged());
          } catch (error) {
            return (error as Error).message;
          }
        }),
      );
      started.cancel();
      return errors.join("\n");
    },
  });
  const host = new TestHost({ agents: [wrong] });
  await host.ask("wrong", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    result: [
      "turn.select needs an object with an entry for each thing that may come first",
      "entry started of turn.select waits already: use turn.receive.of",
      "turn.select has two entries for message note",
      "entry a of turn.select must be a promise, or turn.receive.of",
      "agent wrong declares no message none",
      "the timeoutMs of turn.select must be milliseconds, 0 or more",
    ].join("\n"),
  });
});
