import { createRuntime, defineAgent, defineTool, fromMachine, operation } from "troupe";
import type { Agent, AgentError, ChatInput, ChatOutput, Operation } from "troupe";
import type { JsonObject, RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { createMachine } from "xstate";
import { z } from "zod";
import { memorySecrets } from "../../src/storage/memory/secrets.ts";
import { ofType, textsOf } from "../agents/events.ts";
import { TestHost, asked, chat } from "./test-host.ts";

type Link = Agent<{ readonly chat: Operation<ChatInput, ChatOutput> }>;

/** The first of a chain of agents, each of which calls the next one. */
function chainOf(length: number, place = 1): Link {
  return linkOf(place, place < length ? () => chainOf(length, place + 1) : undefined);
}

function linkOf(place: number, next: (() => Link) | undefined): Link {
  return defineAgent({
    name: `link-${place}`,
    purpose: "Calls the next one.",
    async chat(_input, turn) {
      if (next === undefined) return "the end of the chain";
      try {
        return (await turn.call(next(), "chat", { input: "" })).output;
      } catch (error) {
        const { code, message } = error as AgentError;
        return `${code}: ${message}`;
      }
    },
  });
}

test("agent calls are nested up to eight deep, and no deeper", async () => {
  const host = new TestHost({ agents: [chainOf(9)] });
  await host.ask("link-1", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "the end of the chain" });

  const deeper = new TestHost({ agents: [chainOf(10)] });
  await deeper.ask("link-1", chat);
  expect((await deeper.events(asked)).at(-1)).toMatchObject({
    result: "too_deep: agent calls are nested more than 8 deep",
  });
});

test("a turn makes agent calls up to its budget and ends with the next one; tools and effects do not count", async () => {
  const child = defineAgent({ name: "child", purpose: "Does nothing.", chat: () => "done" });
  const tool = defineTool({ name: "tool", description: "Does nothing.", input: z.object({}), run() {} });
  const agent = defineAgent({
    name: "caller",
    purpose: "Calls a lot.",
    async chat(_input, turn) {
      for (let time = 0; time < 5; time += 1) {
        await turn.tool(tool, {});
        await turn.effect("nothing", () => {});
      }
      for (let called = 1; called < 10; called += 1) {
        await turn.call(child, "chat", { input: "" }).catch(() => {});
        void turn.text(`${called} `).catch(() => {});
      }
    },
  });
  const host = new TestHost({ agents: [agent], limits: { agentCalls: 3 } });
  await host.ask("caller", chat);
  const events = await host.events(asked);
  expect(textsOf(events)).toEqual(["1 ", "2 ", "3 "]);
  expect(events.at(-1)).toMatchObject({
    finish_reason: "error",
    error: { code: "budget", message: "the turn made more than 3 agent calls" },
  });
});

test("a turn that works for too long is ended; waiting and sleeping do not count", async () => {
  const agent = defineAgent({
    name: "worker",
    purpose: "Works, sleeps and waits.",
    async chat(input, turn) {
      await turn.sleep(10_000);
      await turn.waitForInput({ on: "Shall I go on?" });
      await turn.effect(
        "work",
        () =>
          new Promise<void>((resolve) => {
            host.environment.timer(Number(input), resolve);
          }),
      );
      return "done";
    },
  });
  const host = new TestHost({ agents: [agent], limits: { turnMs: 1_000 } });
  for (const [input, end] of [
    ["900", { finish_reason: "success", result: "done" }],
    ["1100", { finish_reason: "error", error: { code: "timeout" } }],
  ] as const) {
    const { requestId } = await host.ask("worker", { type: "ChatRequest", input });
    await host.environment.advance(10_000);
    await host.environment.advance(50_000);
    await host.ask("worker", { type: "ResumeWithInput", request_id: requestId, request_keys: { on: true } });
    await host.environment.advance(2_000);
    expect((await host.events(requestId)).at(-1)).toMatchObject(end);
  }
  expect(host.environment.timers).toBe(0);
});

test("a turn that awaits its texts runs at the speed of the log", async () => {
  let said = 0;
  const agent = defineAgent({
    name: "talker",
    purpose: "Talks.",
    async chat(_input, turn) {
      for (; said < 5_000; said += 1) await turn.text("word ");
    },
  });
  const host = new TestHost({ agents: [agent] });
  void host.runtime.process("talker", chat);
  host.holdCommits();
  await host.environment.idle();
  for (let commit = 0; commit < 4; commit += 1) await host.releaseCommit();
  expect(said).toBe(3);

  await host.releaseCommits();
  expect(said).toBe(5_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});

test("a turn that does not await its texts is ended when the log is too slow, and others continue", async () => {
  const talker = defineAgent({
    name: "talker",
    purpose: "Talks without listening.",
    async chat(_input, turn) {
      for (let said = 0; said < 3_000; said += 1) void turn.text("word ");
      await turn.sleep(1_000);
    },
  });
  const echo = defineAgent({ name: "echo", purpose: "Echoes.", chat: (input) => input });
  const host = new TestHost({ agents: [talker, echo] });
  await host.ask("talker", chat);
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ finish_reason: "error", error: { code: "overloaded" } });
  expect(ofType(events, "TextOutput")).toHaveLength(1_000);

  const { requestId } = await host.ask("echo", { type: "ChatRequest", input: "still here" });
  expect((await host.events(requestId)).at(-1)).toMatchObject({ result: "still here" });
});

test("a run with its maximum of events accepts no more turns, and can still be read", async () => {
  const echo = defineAgent({ name: "echo", purpose: "Echoes.", chat: (input) => input });
  const host = new TestHost({ agents: [echo], limits: { runEvents: 4 } });
  const { runId } = await host.ask("echo", { type: "ChatRequest", input: "1" });
  await host.ask("echo", { type: "ChatRequest", input: "2", run_id: runId } as never);
  const full = host.ask("echo", { type: "ChatRequest", input: "3", run_id: runId } as never);
  await expect(full).rejects.toMatchObject({ code: "run_full" });
  expect(await host.events(runId ?? "")).toHaveLength(4);
});

test("a result that is too long is cut and marked; the texts are complete", async () => {
  const agent = defineAgent({
    name: "novelist",
    purpose: "Writes a lot.",
    async chat(_input, turn) {
      for (let page = 0; page < 10; page += 1) await turn.text("é".repeat(10_000));
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("novelist", chat);
  const events = await host.events(asked);
  const end = events.at(-1);
  expect(end).toMatchObject({ finish_reason: "success", result_truncated: true });
  const result = end?.type === "RequestCompleted" ? (end.result ?? "") : "";
  expect(Buffer.byteLength(result)).toBeLessThanOrEqual(128 * 1024);
  expect(result.startsWith("é".repeat(1_000))).toBe(true);
  expect(result).toContain("[cut");
  expect(textsOf(events).join("")).toHaveLength(100_000);
});

test("input that does not fit into an event is refused before anything happens", async () => {
  const agent = defineAgent({
    name: "taker",
    purpose: "Takes anything.",
    chat: (input) => input,
    operations: { take: operation({ input: z.unknown(), run: () => null }) },
  });
  const host = new TestHost({ agents: [agent] });
  const large = "x".repeat(256 * 1024);
  for (const request of [
    { type: "ChatRequest", input: large, request_id: asked },
    { type: "OperationRequest", operation: "take", input: { large }, request_id: asked },
  ] as const) {
    await expect(host.ask("taker", request)).rejects.toMatchObject({ code: "too_large" });
  }
  await expect(host.runtime.status(asked)).rejects.toMatchObject({ code: "not_found" });
  expect((await host.runtime.runs({ limit: 10 })).runs).toEqual([]);
});

test("an artifact that is too large ends its turn with an error", async () => {
  const agent = defineAgent({
    name: "painter",
    purpose: "Paints something big.",
    async chat(_input, turn) {
      await turn.artifact({ name: "wall", mimeType: "image/png", data: new Uint8Array(2_000) });
    },
  });
  const host = new TestHost({ agents: [agent], limits: { artifactBytes: 1_000 } });
  await host.ask("painter", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    finish_reason: "error",
    error: { code: "agent_error", message: "artifact wall is larger than 1000 bytes" },
  });
});

test("the JSON size of a text counts: one that does not fit into an event is refused and not sent", async () => {
  const agent = defineAgent({
    name: "ringer",
    purpose: "Says characters that JSON writes in six.",
    async chat(_input, turn) {
      let refused = "nothing";
      try {
        await turn.text("\u0007".repeat(44_000));
      } catch (error) {
        refused = (error as Error).message;
      }
      await turn.text("\u0007".repeat(43_000));
      return refused;
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("ringer", chat);
  const events = await host.events(asked);
  expect(textsOf(events)).toEqual(["\u0007".repeat(43_000)]);
  expect(events.at(-1)).toMatchObject({ result: "a text is larger than 262144 bytes" });
});

test("a wait asks at most 256 questions, and no more than fit into one event", async () => {
  const refused: string[] = [];
  const agent = defineAgent({
    name: "curious",
    purpose: "Asks a lot.",
    async chat(_input, turn) {
      const many = Object.fromEntries(Array.from({ length: 257 }, (_, n) => [`q${n}`, "?"]));
      const long = z.object({ name: z.string().describe("?".repeat(300_000)) });
      await turn.waitForInput(many).catch((error: Error) => void refused.push(error.message));
      await turn.waitForInput(long).catch((error: Error) => void refused.push(error.message));
      const { q256: _over, ...most } = many;
      await turn.waitForInput(most);
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("curious", chat);
  await host.restart();

  expect(refused).toEqual([
    "a wait asks 257 questions; at most 256 are allowed",
    "what a wait asks, with its schema, is larger than 258048 bytes",
  ]);
  const waits = ofType(await host.events(asked), "WaitForInput");
  expect(waits.map(({ request_keys: keys }) => Object.keys(keys).length)).toEqual([256]);
});

test("a machine that asks too many questions in one wait ends its turn with a clear error", async () => {
  const questions = Object.fromEntries(Array.from({ length: 257 }, (_, n) => [`q${n}`, "?"]));
  const machine = createMachine({
    initial: "idle",
    states: {
      idle: { on: { chat: "asking" } },
      asking: { tags: ["wait"], meta: { request_keys: questions } },
    },
  });
  const host = new TestHost({ agents: [fromMachine({ name: "form", purpose: "Asks a lot.", machine })] });
  await host.ask("form", chat);

  const error = { code: "agent_error", message: "a wait asks 257 questions; at most 256 are allowed" };
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "error", error });
});

test("a turn with too many open questions ends", async () => {
  const agent = defineAgent({
    name: "inquisitive",
    purpose: "Asks many at once.",
    chat: (input, turn) =>
      turn
        .all(Array.from({ length: Number(input) }, () => (own) => own.waitForInput({ it: "?" })))
        .then(() => {}),
  });
  const host = new TestHost({ agents: [agent], limits: { openWaits: 3 } });
  await host.ask("inquisitive", { ...chat, input: "3" });
  expect((await host.runtime.status(asked)).status).toBe("waiting");

  const tooMany = "too-many" as RequestId;
  await host.ask("inquisitive", { ...chat, input: "4", request_id: tooMany });
  expect((await host.events(tooMany)).at(-1)).toMatchObject({
    error: { code: "overloaded", message: "agent inquisitive has more than 3 open questions" },
  });
});

test("a turn with more sleeps open than it may have ends, and leaves no timer behind", async () => {
  const agent = defineAgent({
    name: "sleepy",
    purpose: "Sleeps many times at once.",
    async chat(input, turn) {
      await Promise.all(Array.from({ length: Number(input) }, () => turn.sleep(1_000)));
    },
  });
  const host = new TestHost({ agents: [agent], limits: { openSleeps: 3 } });
  await host.ask("sleepy", { ...chat, input: "3" });
  await host.environment.advance(1_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });

  const tooMany = "too-many" as RequestId;
  await host.ask("sleepy", { ...chat, input: "4", request_id: tooMany });
  expect((await host.events(tooMany)).at(-1)).toMatchObject({
    error: { code: "overloaded", message: "agent sleepy has more than 3 open sleeps" },
  });
  const dropped = host.dropped.length;
  await host.environment.advance(1_000);
  expect(host.dropped).toHaveLength(dropped);
});

test(
  "a turn that opens a hundred thousand sleeps, few at a time, ends and costs no other turn",
  { tags: "long" },
  async () => {
    const agent = defineAgent({
      name: "sleepy",
      purpose: "Opens more and more sleeps.",
      async chat(_input, turn) {
        for (let round = 0; round < 130; round += 1) {
          for (let at = 0; at < 1_000; at += 1) void turn.sleep(60_000);
          await turn.text(".");
        }
        await turn.sleep(60_000);
      },
    });
    const host = new TestHost({ agents: [agent] });
    await host.ask("sleepy", chat);
    expect((await host.events(asked)).at(-1)).toMatchObject({
      error: { code: "overloaded", message: "agent sleepy has more than 10000 open sleeps" },
    });
  },
);

test("a configuration is kept up to a size, all that was set together, and what is refused leaves nothing", async () => {
  const put: string[] = [];
  const secrets = memorySecrets();
  const agent = defineAgent({ name: "open", purpose: "Takes any configuration.", chat: () => "" });
  const runtime = createRuntime({
    agents: [agent],
    limits: { configBytes: 100 },
    secrets: {
      ...secrets,
      put: (values) => {
        put.push(...Object.keys(values));
        return secrets.put(values);
      },
    },
  });
  const configure = (args: JsonObject) => runtime.process("open", { type: "ConfigureRequest", args });

  await configure({ one: "x".repeat(60) });
  await expect(configure({ two: "x".repeat(60) })).rejects.toMatchObject({
    code: "too_large",
    message: "the configuration is larger than 100 bytes",
  });
  await expect(configure({ password: "x".repeat(60) })).rejects.toMatchObject({ code: "too_large" });
  await configure({ one: "y".repeat(80) });

  expect(put).toEqual([]);
});
