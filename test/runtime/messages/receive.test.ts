import { defineAgent } from "troupe";
import type { Request } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";
import { listener, message, reader } from "./agents.ts";

/** Sends a message to a process that may die before it answers. */
async function send(host: TestHost, sent: Request): Promise<void> {
  host.runtime.process("listener", sent).catch(() => {});
  await host.environment.idle();
}

const chat = { type: "ChatRequest", input: "", key: "room", request_id: asked } as const;

test("a turn receives messages in their order, those from before its start first", async () => {
  const host = new TestHost({ agents: [listener] });
  for (const body of ["a", "b"]) await host.ask("listener", message("note", body));
  await host.ask("listener", chat);
  for (const body of ["c", "d", "end"]) await host.ask("listener", message("note", body));
  const events = await host.events(asked);
  expect(textsOf(events)).toEqual(["a ", "b ", "c ", "d "]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
});

test("a message that comes while a turn waits for one is in one commit with its reading", async () => {
  const host = new TestHost({ agents: [listener] });
  await host.ask("listener", chat);
  const before = host.commits;
  host.planFault({ kind: "crash", written: true });
  await send(host, message("note", "a", { request_id: "m1" }));
  expect(host.commits).toBe(before + 1);
  await host.restart();
  expect(textsOf(await host.events(asked))).toEqual(["a "]);
});

for (const kind of ["before", "after"] as const)
  test(`a restart loses no message and repeats none, with the crash ${kind} the commit`, async () => {
    const host = new TestHost({ agents: [listener] });
    await host.ask("listener", chat);
    for (let n = 0; n < 30; n += 1) {
      const sent = message("note", String(n), { request_id: `m${n}` });
      host.planFault({ after: n % 3, kind: "crash", written: kind === "after" });
      await send(host, sent);
      if (host.crashed) await host.restart();
      // Sent again, as a client does that got no answer.
      await send(host, sent);
      if (host.crashed) await host.restart();
      await host.ask("listener", sent);
    }
    await host.ask("listener", message("note", "end"));
    const events = await host.events(asked);
    expect(textsOf(events)).toEqual(Array.from({ length: 30 }, (_, n) => `${n} `));
    expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
  });

test("bodies get the defaults of their schema", async () => {
  const host = new TestHost({ agents: [reader] });
  await host.ask("reader", message("count", {}));
  await host.ask("reader", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: JSON.stringify([[], [{ n: 1 }], []]) });
});

test("a receive with a time limit ends with undefined; a restart does not reset the time", async () => {
  const patient = defineAgent({
    name: "patient",
    purpose: "Waits a minute for a note.",
    messages: { note: z.string() },
    async chat(_input, turn) {
      return String(await turn.receive("note", { timeoutMs: 60_000 }));
    },
  });
  const host = new TestHost({ agents: [patient] });
  await host.ask("patient", chat);
  await host.environment.advance(40_000);
  await host.restart();
  expect((await host.runtime.status(asked)).status).toBe("running");
  await host.environment.advance(20_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "undefined" });
  await host.ask("patient", { ...chat, request_id: "second" });
  await host.environment.advance(30_000);
  await host.ask("patient", message("note", "in time"));
  expect((await host.events("second")).at(-1)).toMatchObject({ result: "in time" });
});

test("while a turn only waits for a message, its time stands still", async () => {
  const host = new TestHost({ agents: [listener], limits: { turnMs: 1_000 } });
  await host.ask("listener", chat);
  await host.environment.advance(3_600_000);
  expect((await host.runtime.status(asked)).status).toBe("running");
  await host.ask("listener", message("note", "end"));
  expect((await host.runtime.status(asked)).finish_reason).toBe("success");
});

test("each message goes to one reader, the one that asked first", async () => {
  const pair = defineAgent({
    name: "pair",
    purpose: "Reads in two branches.",
    messages: { note: z.string() },
    async chat(_input, turn) {
      const read = await turn.all([
        async (branch) => [await branch.receive("note"), await branch.receive("note")],
        async (branch) => [await branch.receive("note"), await branch.receive("note")],
      ]);
      return JSON.stringify(read);
    },
  });
  const host = new TestHost({ agents: [pair] });
  await host.ask("pair", chat);
  for (const body of ["1", "2", "3"]) await host.ask("pair", message("note", body));
  await host.restart();
  await host.ask("pair", message("note", "4"));
  const read = JSON.parse(
    String(ofType(await host.events(asked), "RequestCompleted")[0]?.result),
  ) as string[][];
  expect(read.flat().sort()).toEqual(["1", "2", "3", "4"]);
  expect(read).toEqual(read.map((notes) => notes.toSorted()));
});

test("a message stays read when its turn fails, and unread ones stay for the next turn", async () => {
  let fails = true;
  const failing = defineAgent({
    name: "failing",
    purpose: "Fails after its first note.",
    messages: { note: z.string() },
    async chat(_input, turn) {
      const note = await turn.receive("note");
      if (fails) throw new Error("bad note");
      return note;
    },
  });
  const host = new TestHost({ agents: [failing] });
  for (const body of ["bad", "good"]) await host.ask("failing", message("note", body));
  await host.ask("failing", chat);
  expect((await host.runtime.status(asked)).finish_reason).toBe("error");
  fails = false;
  await host.restart();
  await host.ask("failing", { ...chat, request_id: "second" });
  expect((await host.events("second")).at(-1)).toMatchObject({ result: "good" });
});

test("a called agent cannot receive, and has no unread messages", async () => {
  const child = defineAgent({
    name: "child",
    purpose: "Tries to read.",
    messages: { note: z.string() },
    async chat(_input, turn) {
      const unread = turn.received("note");
      await turn.receive("note").catch((error: unknown) => turn.text(String(error)));
      return JSON.stringify(unread);
    },
  });
  const parent = defineAgent({
    name: "parent",
    purpose: "Calls a child.",
    messages: { note: z.string() },
    async chat(_input, turn) {
      const { output } = await turn.call(child, "chat", { input: "" });
      return `${output} ${JSON.stringify(turn.received("note"))}`;
    },
  });
  const host = new TestHost({ agents: [parent] });
  await host.ask("parent", message("note", "mine"));
  await host.ask("parent", chat);
  const events = await host.events(asked);
  expect(ofType(events, "TextOutput")[0]?.content).toContain(
    "agent child was called by another agent, so it has no messages",
  );
  expect(events.at(-1)).toMatchObject({ result: '[] ["mine"]' });
});

test("an undeclared name and a wrong time limit are errors of the handler", async () => {
  const wrong = defineAgent({
    name: "wrong",
    purpose: "Reads wrongly.",
    messages: { note: z.string() },
    async chat(_input, turn) {
      const errors = [
        await turn.receive("other" as "note").catch(String),
        await turn.receive("note", { timeoutMs: -1 }).catch(String),
      ];
      try {
        turn.received("toString" as "note");
      } catch (error) {
        errors.push(String(error));
      }
      return errors.join("; ");
    },
  });
  const host = new TestHost({ agents: [wrong] });
  await host.ask("wrong", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    result:
      "AgentError: agent wrong declares no message other; TypeError: the timeoutMs of turn.receive must be " +
      "milliseconds, 0 or more; AgentError: agent wrong declares no message toString",
  });
});

test("a turn in a long sleep with an open receive is passivated, and a message wakes it", async () => {
  const sleeper = defineAgent({
    name: "sleeper",
    purpose: "Sleeps until a note comes.",
    messages: { note: z.string() },
    async chat(_input, turn) {
      return String(await turn.receive("note", { timeoutMs: 3_600_000 }));
    },
  });
  const host = new TestHost({ agents: [sleeper], limits: { idleRuns: 0 } });
  await host.ask("sleeper", chat);
  await host.environment.advance(1_000);
  expect(host.runtime.health().activeRuns).toBe(0);
  await host.ask("sleeper", message("note", "wake"));
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "wake" });
});

test("a turn that only waits for a message is parked: its status says so, and a message wakes it", async () => {
  const host = new TestHost({ agents: [listener], limits: { idleRuns: 0 } });
  await host.ask("listener", chat);
  for (const body of ["a", "b"]) {
    expect(host.runtime.health().activeRuns).toBe(0);
    expect(await host.runtime.status(asked)).toMatchObject({
      status: "running",
      waiting_for: { kind: "message", name: "note" },
    });
    await host.ask("listener", message("note", body));
    await host.environment.advance(0);
  }
  await host.restart();
  expect(host.runtime.health().activeRuns).toBe(0);
  await host.ask("listener", message("count", {}));
  expect(host.runtime.health().activeRuns).toBe(0);
  await host.ask("listener", message("note", "end"));
  expect(textsOf(await host.events(asked))).toEqual(["a ", "b "]);
  expect((await host.runtime.status(asked)).finish_reason).toBe("success");
});

test("messages that arrive during a recovery keep no poisoned turn alive", async () => {
  const stuck = defineAgent({
    name: "stuck",
    purpose: "Never reads.",
    messages: { note: z.string() },
    async chat() {
      await new Promise<void>(() => {});
    },
  });
  const host = new TestHost({ agents: [stuck] });
  await host.ask("stuck", chat);
  for (let death = 1; death <= 5; death += 1) {
    await host.ask("stuck", message("note", String(death)));
    await host.restartUntilContinued(asked);
  }
  expect((await host.events(asked)).at(-1)).toMatchObject({ error: { code: "poisoned" } });
});

test("10,000 messages reach one turn in order", { tags: "long", timeout: 60_000 }, async () => {
  const counting = defineAgent({
    name: "counting",
    purpose: "Counts notes.",
    messages: { n: z.number() },
    async chat(_input, turn) {
      for (let expected = 0; expected < 10_000; expected += 1)
        if ((await turn.receive("n")) !== expected) return `wrong at ${expected}`;
      return "in order";
    },
  });
  const host = new TestHost({ agents: [counting] });
  await host.ask("counting", chat);
  for (let n = 0; n < 10_000;) {
    const sent = Array.from({ length: 100 }, (_, index) =>
      host.runtime.process("counting", message("n", n + index)),
    );
    n += sent.length;
    await host.environment.idle();
    await Promise.all(sent);
    if (n === 5_000) await host.restart();
  }
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "in order" });
});

test("a turn that waits for a message without a time limit is parked, also over restarts, until one comes", async () => {
  const host = new TestHost({ agents: [listener], limits: { idleRuns: 0 } });
  await host.ask("listener", chat);
  expect(host.runtime.health().activeRuns).toBe(0);
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "running",
    waiting_for: { kind: "message", name: "note" },
  });
  const { commits } = host;
  await host.restart();
  expect(host.runtime.health().activeRuns).toBe(0);
  expect(host.commits).toBe(commits);
  await host.ask("listener", message("note", "a"));
  await host.ask("listener", message("note", "end"));
  expect(textsOf(await host.events(asked))).toEqual(["a "]);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});

test("a message wakes a passivated turn that also waits for input, and it waits again afterwards", async () => {
  const both = defineAgent({
    name: "both",
    purpose: "Waits for an answer, and reads notes meanwhile.",
    messages: { note: z.string() },
    async chat(_input, turn) {
      const answer = turn.waitForInput({ name: "Your name?" });
      await turn.text((await turn.receive("note")) ?? "");
      const { name } = await answer;
      return name as string;
    },
  });
  const host = new TestHost({ agents: [both], limits: { idleRuns: 0 } });
  await host.ask("both", chat);
  expect((await host.runtime.status(asked)).status).toBe("waiting");
  expect(host.runtime.health().activeRuns).toBe(0);
  await host.ask("both", message("note", "read"));
  expect(textsOf(await host.events(asked))).toEqual(["read"]);
  expect((await host.runtime.status(asked)).status).toBe("waiting");
  await host.ask("both", { type: "ResumeWithInput", request_id: asked, request_keys: { name: "Ann" } });
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "Ann" });
});
