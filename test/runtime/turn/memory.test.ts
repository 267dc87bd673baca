import { defineAgent, operation } from "troupe";
import type { Agent, AgentError, Operation, Turn } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

const anything = z.object({ word: z.string() });

/** An agent that stores a word when told to continue, and reports its words. */
function notesOf(memory: "own" | "run", pause: (turn: Turn, word: string) => Promise<unknown>) {
  return defineAgent({
    name: "notes",
    purpose: "Notes words.",
    memory,
    operations: {
      note: operation({
        input: anything,
        async run({ word }, turn) {
          const before = z.array(z.string()).parse(turn.memory.get() ?? []);
          await pause(turn, word);
          turn.memory.set([...before, word]);
          return [...before, word].join(" ");
        },
      }),
    },
  });
}

function parentOf(chat: (input: string, turn: Turn) => Promise<void>): Agent {
  return defineAgent({ name: "parent", purpose: "Asks others.", chat });
}

test("an agent finds the memory of its successful turns, and nothing of failed ones", async () => {
  const agent = defineAgent({
    name: "notebook",
    purpose: "Notes.",
    async chat(input, turn) {
      const notes = (turn.memory.get() ?? []) as string[];
      // `get` returns a copy, so this alone changes nothing.
      notes.push(input);
      if (input !== "ignored") turn.memory.set(notes);
      await turn.text(notes.join(" "));
      if (input === "fails") throw new Error("no");
    },
  });
  const host = new TestHost({ agents: [agent] });
  const { runId } = await host.ask("notebook", { type: "ChatRequest", input: "one" });
  const say = (input: string) => host.ask("notebook", { type: "ChatRequest", input, run_id: runId } as never);

  await say("fails");
  await say("ignored");
  await say("two");
  await host.restart();
  await say("three");

  const texts = textsOf(await host.events(runId ?? ""));
  expect(texts).toEqual(["one", "one fails", "one ignored", "one two", "one two three"]);
});

test("a continued turn reads the memory as it was at the start of the turn", async () => {
  const agent = defineAgent({
    name: "counter",
    purpose: "Counts its turns.",
    async chat(_input, turn) {
      const count = (turn.memory.get() as number | undefined) ?? 0;
      turn.memory.set(count + 1);
      await turn.sleep(1_000);
      await turn.text(`turn ${count + 1}`);
    },
  });
  const host = new TestHost({ agents: [agent] });
  const { runId } = await host.ask("counter", { type: "ChatRequest", input: "" });
  await host.environment.advance(1_000);
  await host.ask("counter", { type: "ChatRequest", input: "", run_id: runId } as never);

  await host.restart();
  await host.environment.advance(1_000);
  expect(textsOf(await host.events(runId ?? ""))).toEqual(["turn 1", "turn 2"]);
});

test("a child starts with an empty memory and keeps nothing", async () => {
  const notes = notesOf("own", async () => {});
  const parent = parentOf(async (_input, turn) => {
    await turn.call(notes, "note", { word: "one" });
    await turn.text(await turn.call(notes, "note", { word: "two" }));
  });
  const host = new TestHost({ agents: [parent, notes] });
  await host.ask("parent", chat);
  expect(textsOf(await host.events(asked))).toEqual(["two"]);
});

test("a child with shared run memory finds what it kept, in this turn and the next", async () => {
  const notes = notesOf("run", async () => {});
  const parent = parentOf(async (input, turn) => {
    await turn.call(notes, "note", { word: `${input}1` });
    await turn.text(await turn.call(notes, "note", { word: `${input}2` }));
  });
  const host = new TestHost({ agents: [parent] });
  const { runId } = await host.ask("parent", { type: "ChatRequest", input: "a" });
  await host.restart();
  await host.ask("parent", { type: "ChatRequest", input: "b", run_id: runId } as never);
  expect(textsOf(await host.events(runId ?? ""))).toEqual(["a1 a2", "a1 a2 b1 b2"]);
});

test("calls of an agent with shared run memory run one after the other, also across a crash", async () => {
  const notes = notesOf("run", (turn) => turn.sleep(1_000));
  const parent = parentOf(async (_input, turn) => {
    const all = await turn.all(
      ["one", "two", "three"].map((word) => (own: Turn) => own.call(notes, "note", { word })),
    );
    await turn.text(all.at(-1) ?? "");
  });
  const host = new TestHost({ agents: [parent] });
  await host.ask("parent", chat);
  await host.environment.advance(1_500);
  await host.restart();
  await host.environment.advance(1_000);
  await host.restart();
  await host.environment.advance(1_000);

  expect(textsOf(await host.events(asked))).toEqual(["one two three"]);
});

test("parallel calls of an agent with shared run memory lose no change", { tags: "long" }, async () => {
  const kept = new Set<string>();
  const notes = notesOf("run", async (turn, word) => {
    await turn.effect("think", () => {});
    if (word.endsWith("3")) throw new Error("no");
  });
  const words = Array.from({ length: 30 }, (_, n) => `w${n}`);
  const parent = parentOf(async (_input, turn) => {
    await Promise.allSettled(words.map((word) => turn.call(notes, "note", { word })));
    kept.add(await turn.call(notes, "note", { word: "end" }));
  });
  for (let seed = 1; seed <= 10; seed += 1) {
    const host = new TestHost({ agents: [parent], seed });
    await host.ask("parent", chat);
  }

  expect([...kept]).toEqual([[...words.filter((word) => !word.endsWith("3")), "end"].join(" ")]);
});

test("the run memory kept by a grandchild survives a crash of the turn", async () => {
  const notes = notesOf("run", async () => {});
  const between = defineAgent({
    name: "between",
    purpose: "Stands between.",
    operations: {
      pass: operation({ input: anything, run: ({ word }, turn) => turn.call(notes, "note", { word }) }),
    },
  });
  const parent = parentOf(async (input, turn) => {
    await turn.text(await turn.call(between, "pass", { word: input }));
    await turn.sleep(1_000);
  });
  const host = new TestHost({ agents: [parent] });
  const { runId } = await host.ask("parent", { type: "ChatRequest", input: "one" });
  await host.restart();
  await host.environment.advance(1_000);
  await host.ask("parent", { type: "ChatRequest", input: "two", run_id: runId } as never);
  expect(textsOf(await host.events(runId ?? ""))).toEqual(["one", "one two"]);
});

test("a turn can be parked while a call waits for the run memory of its agent", async () => {
  const notes = notesOf("run", (turn, word) => turn.waitForInput({ [word]: `${word}?` }));
  const parent = parentOf(async (_input, turn) => {
    await Promise.all(["one", "two"].map((word) => turn.call(notes, "note", { word })));
    await turn.text("done");
  });
  const host = new TestHost({ agents: [parent] });
  await host.ask("parent", chat);
  for (const word of ["one", "two"]) {
    expect(await host.runtime.status(asked)).toMatchObject({
      status: "waiting",
      request_keys: { [word]: `${word}?` },
    });
    await host.restart();
    await host.ask("parent", {
      type: "ResumeWithInput",
      request_id: asked,
      request_keys: { [word]: true },
    });
  }
  expect(textsOf(await host.events(asked))).toEqual(["done"]);
});

test("an agent whose call would wait for its own run memory is refused", async () => {
  const ouroboros: Agent<{ readonly bite: Operation<{ depth: number }, string> }> = defineAgent({
    name: "ouroboros",
    purpose: "Calls itself.",
    memory: "run",
    operations: {
      bite: operation({
        input: z.object({ depth: z.number() }),
        async run({ depth }, turn): Promise<string> {
          try {
            return await turn.call(ouroboros, "bite", { depth: depth + 1 });
          } catch (error) {
            const { code, message } = error as AgentError;
            return `${code}: ${message}`;
          }
        },
      }),
    },
  });
  const parent = parentOf(async (_input, turn) => {
    await turn.text(await turn.call(ouroboros, "bite", { depth: 0 }));
  });
  const host = new TestHost({ agents: [parent] });
  await host.ask("parent", chat);
  expect(textsOf(await host.events(asked))).toEqual([
    "would_deadlock: ouroboros shares its memory of the run, and this call would wait for itself",
  ]);
});

test("two agents with shared run memory that wait for each other do not wait forever", async () => {
  const agentOf = (name: string, other: () => Agent): Agent =>
    defineAgent({
      name,
      purpose: "Calls the other.",
      memory: "run",
      operations: {
        work: operation({
          input: z.object({ call: z.boolean() }),
          async run({ call }, turn) {
            await turn.sleep(10);
            if (call) await turn.call(other() as never, "work" as never, { call: false });
          },
        }),
      },
    });
  const left = agentOf("left", () => right);
  const right = agentOf("right", () => left);
  const parent = parentOf(async (_input, turn) => {
    const ends = await Promise.allSettled(
      [left, right].map((agent) => turn.call(agent as never, "work" as never, { call: true })),
    );
    await turn.text(ends.map(({ status }) => status).join(" "));
  });
  const host = new TestHost({ agents: [parent] });
  await host.ask("parent", chat);
  await host.environment.advance(100);

  const events = await host.events(asked);
  expect(ofType(events, "ToolError")[0]).toMatchObject({ depth: 1 });
  expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
});

test("a memory that is too large or not JSON is refused where it is set", async () => {
  const agent = defineAgent({
    name: "hoarder",
    purpose: "Keeps too much.",
    async chat(input, turn) {
      const loop: Record<string, unknown> = {};
      loop["self"] = loop;
      turn.memory.set(input === "large" ? "x".repeat(2_000_000) : (loop as never));
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("hoarder", { ...chat, input: "large" });
  expect((await host.events(asked)).at(-1)).toMatchObject({
    finish_reason: "error",
    error: { code: "agent_error", message: expect.stringContaining("larger than 1048576 bytes") as string },
  });
});
