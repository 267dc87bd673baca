import { defineAgent, defineTool } from "troupe";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

/** Asks two questions in parallel and sends a text after each answer. */
const twofold = defineAgent({
  name: "twofold",
  purpose: "Asks two things at once.",
  async chat(_input, turn) {
    await turn.all(
      ["first", "second"].map((key) => async (own) => {
        const values = await own.waitForInput({ [key]: `${key}?` });
        await own.text(`${key}: ${values[key] as string}.`);
        await own.text(`Thanks for the ${key}.`);
      }),
    );
    await turn.text("Done.");
  },
});

/** Asks for one word after the other. */
const sequence = defineAgent({
  name: "sequence",
  purpose: "Asks twice.",
  async chat(_input, turn) {
    const one = await turn.waitForInput({ word: "A word?" });
    const two = await turn.waitForInput({ word: "Another word?" });
    await turn.text(`${one["word"] as string} ${two["word"] as string}`);
  },
});

function waitsOf(events: readonly Event[]) {
  return ofType(events, "WaitForInput");
}

function answer(waitId: number, values: Record<string, unknown>, more: Record<string, unknown> = {}) {
  return {
    type: "ResumeWithInput",
    request_id: asked,
    wait_id: waitId,
    request_keys: values,
    ...more,
  } as never;
}

test("two waits are answered in any order", async () => {
  const host = new TestHost({ agents: [twofold] });
  await host.ask("twofold", chat);
  const [first, second] = waitsOf(await host.events(asked));

  await host.ask("twofold", answer(second?.id ?? 0, { second: 2 }));
  await host.ask("twofold", answer(first?.id ?? 0, { first: 1 }));

  expect(textsOf(await host.events(asked))).toEqual([
    "second: 2.",
    "Thanks for the second.",
    "first: 1.",
    "Thanks for the first.",
    "Done.",
  ]);
});

test("the code after one of two answers runs even if the process dies right after the answer", async () => {
  const host = new TestHost({ agents: [twofold] });
  await host.ask("twofold", chat);
  const [first] = waitsOf(await host.events(asked));

  host.planFault({ kind: "crash", written: true });
  void host.runtime.process("twofold", answer(first?.id ?? 0, { first: 1 })).catch(() => {});
  await host.environment.idle();
  expect(host.crashed).toBe(true);
  await host.restart();

  expect(textsOf(await host.events(asked))).toEqual(["first: 1.", "Thanks for the first."]);
  expect((await host.runtime.status(asked)).status).toBe("waiting");
});

test("two concurrent answers right after a restart both count", async () => {
  const host = new TestHost({ agents: [twofold] });
  await host.ask("twofold", chat);
  const [first, second] = waitsOf(await host.events(asked));
  await host.restart();

  await Promise.all([
    host.runtime.process("twofold", answer(first?.id ?? 0, { first: 1 })),
    host.runtime.process("twofold", answer(second?.id ?? 0, { second: 2 })),
    host.environment.idle(),
  ]);
  await host.environment.idle();

  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});

test("an answer that does not fit leaves the wait open, also when the turn is loaded for it", async () => {
  const host = new TestHost({ agents: [sequence], limits: { turnMs: 1_000 } });
  await host.ask("sequence", chat);
  const [wait] = waitsOf(await host.events(asked));
  await host.restart();

  const wrong = host.ask("sequence", answer(wait?.id ?? 0, { letter: "a" }));
  await expect(wrong).rejects.toMatchObject({ code: "unprocessable" });
  expect((await host.runtime.status(asked)).status).toBe("waiting");

  await host.environment.advance(10_000);
  expect((await host.runtime.status(asked)).status).toBe("waiting");
});

test.each([
  ["larger than an event as UTF-8", "a".repeat(300_000), "too_large"],
  ["larger than an event as JSON", "\u0001".repeat(60_000), "too_large"],
  ["nested too deep to be encoded", JSON.parse("[".repeat(9_000) + "]".repeat(9_000)), "unprocessable"],
])("an answer that is %s is refused and leaves the wait open", async (_, word, code) => {
  const host = new TestHost({ agents: [sequence] });
  await host.ask("sequence", chat);
  const [wait] = waitsOf(await host.events(asked));

  await expect(host.ask("sequence", answer(wait?.id ?? 0, { word }))).rejects.toMatchObject({ code });
  expect((await host.runtime.status(asked)).status).toBe("waiting");

  await host.ask("sequence", answer(wait?.id ?? 0, { word: "one" }));
  const [, second] = waitsOf(await host.events(asked));
  await host.ask("sequence", answer(second?.id ?? 0, { word: "two" }));
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
  expect(host.faults).toEqual([]);
});

test("waiting and sleeping do not count as running time, also after a restart", async () => {
  const sleeper = defineAgent({
    name: "sleeper",
    purpose: "Sleeps long.",
    async chat(_input, turn) {
      await turn.sleep(5_000);
      await turn.text("Good morning.");
    },
  });
  const host = new TestHost({ agents: [sleeper], limits: { turnMs: 1_000 } });
  await host.ask("sleeper", chat);
  await host.environment.advance(2_000);
  await host.restart();
  await host.environment.advance(3_000);

  expect(textsOf(await host.events(asked))).toEqual(["Good morning."]);
  expect(host.environment.timers).toBe(0);
});

test("of two different answers to a wait the first one counts, and the other is refused", async () => {
  const host = new TestHost({ agents: [sequence] });
  await host.ask("sequence", chat);
  const [wait] = waitsOf(await host.events(asked));

  const answers = await Promise.allSettled([
    host.runtime.process("sequence", answer(wait?.id ?? 0, { word: "one" })),
    host.runtime.process("sequence", answer(wait?.id ?? 0, { word: "two" })),
    host.environment.idle(),
  ]);

  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(answers[1]).toMatchObject({ reason: { code: "conflict" } });
});

test("a wait of a grandchild reaches the caller, and its answer the grandchild, also after a restart", async () => {
  const grandchild = defineTool({
    name: "grandchild",
    description: "Asks for a word.",
    input: z.object({}),
    async run(_input, turn) {
      const { word } = await turn.waitForInput(z.object({ word: z.string() }));
      return word;
    },
  });
  const child = defineTool({
    name: "child",
    description: "Has the grandchild ask.",
    input: z.object({}),
    run: (_input, turn) => turn.tool(grandchild, {}),
  });
  const parent = defineAgent({
    name: "parent",
    purpose: "Has a child.",
    async chat(_input, turn) {
      await turn.text(`It said ${await turn.tool(child, {})}.`);
    },
  });
  const host = new TestHost({ agents: [parent] });
  await host.ask("parent", chat);
  const [wait] = waitsOf(await host.events(asked));
  expect(wait).toMatchObject({ depth: 2, agent: "grandchild" });
  expect((await host.runtime.status(asked)).wait_id).toBe(wait?.id);

  await host.restart();
  await host.ask("parent", answer(wait?.id ?? 0, { word: "hello" }));
  expect(textsOf(await host.events(asked))).toEqual(["It said hello."]);
});

test("a stream without a cursor starts at the newest answer, or at an earlier open wait", async () => {
  const host = new TestHost({ agents: [twofold] });
  await host.ask("twofold", chat);
  const [first, second] = waitsOf(await host.events(asked));
  const startOf = async (): Promise<number | undefined> => {
    const feed = await host.runtime.follow(await host.runtime.resolve(asked), {});
    for await (const { events } of feed.pages) return (JSON.parse(events[0] ?? "{}") as Event).id;
    return undefined;
  };

  await host.ask("twofold", answer(second?.id ?? 0, { second: 2 }));
  expect(await startOf()).toBe(first?.id);

  await host.restart();
  expect(await startOf()).toBe(first?.id);

  await host.ask("twofold", answer(first?.id ?? 0, { first: 1 }));
  const resumes = ofType(await host.events(asked), "ResumeWithInput");
  expect(await startOf()).toBe(resumes[1]?.id);
});

test("a waiting run refuses a chat without on_busy", async () => {
  const host = new TestHost({ agents: [sequence] });
  const { runId } = await host.ask("sequence", chat);
  const again = { type: "ChatRequest", input: "", run_id: runId ?? undefined } as never;

  await expect(host.ask("sequence", again)).rejects.toMatchObject({
    code: "conflict",
    details: { facts: { request_keys: { word: "A word?" } } },
  });
});
test("a repeated equal answer gets the first reply", async () => {
  const host = new TestHost({ agents: [sequence] });
  await host.ask("sequence", chat);
  const [wait] = waitsOf(await host.events(asked));
  const again = answer(wait?.id ?? 0, { word: "one" });

  const both = await Promise.all([
    host.runtime.process("sequence", again),
    host.runtime.process("sequence", again),
    host.environment.idle(),
  ]);
  const [first, second] = both;

  expect(second).toMatchObject({ replayed: true, event: first.event });
  expect(ofType(await host.events(asked), "ResumeWithInput")).toHaveLength(1);
});

test("a repeated answer with a resume id does not answer the next wait", async () => {
  const host = new TestHost({ agents: [sequence] });
  await host.ask("sequence", chat);
  const named = {
    type: "ResumeWithInput",
    request_id: asked,
    request_keys: { word: "one" },
    resume_id: "r1",
  } as const;
  const first = await host.ask("sequence", named);
  expect(waitsOf(await host.events(asked))).toHaveLength(2);

  expect(await host.ask("sequence", named)).toMatchObject({ replayed: true, event: first.event });
  await host.restart();
  expect(await host.ask("sequence", named)).toMatchObject({ replayed: true, event: first.event });
  expect(ofType(await host.events(asked), "ResumeWithInput")).toHaveLength(1);
});

test("a question whose code continued without an answer is closed", async () => {
  const child = defineTool({
    name: "child",
    description: "Asks, but not for long.",
    input: z.object({}),
    async run(_input, turn) {
      await Promise.race([turn.waitForInput({ never: "Quick?" }), turn.sleep(1_000)]);
    },
  });
  const parent = defineAgent({
    name: "parent",
    purpose: "Asks after its child has asked.",
    async chat(_input, turn) {
      await turn.tool(child, {});
      await turn.waitForInput({ still: "And now?" });
    },
  });
  const host = new TestHost({ agents: [parent] });
  const receipt = await host.ask("parent", chat);
  await host.environment.advance(1_000);
  const [gone, open] = waitsOf(await host.events(asked));

  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting", wait_id: open?.id });
  const acknowledged = await host.runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 1 });
  expect(JSON.parse(acknowledged ?? "{}")).toMatchObject({ wait_id: open?.id });
  await expect(host.ask("parent", answer(gone?.id ?? 0, { never: 1 }))).rejects.toMatchObject({
    code: "conflict",
  });
});

test("the code after one of two answers runs even if a waiting run leaves memory at once", async () => {
  const host = new TestHost({ agents: [twofold], limits: { idleRuns: 0 } });
  await host.ask("twofold", chat);
  const [first, second] = waitsOf(await host.events(asked));

  await host.ask("twofold", answer(first?.id ?? 0, { first: 1 }));
  expect(textsOf(await host.events(asked))).toEqual(["first: 1.", "Thanks for the first."]);
  expect(host.runtime.health().activeRuns).toBe(0);

  await host.ask("twofold", answer(second?.id ?? 0, { second: 2 }));
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});

test("a turn is parked once all work beside the wait has ended", async () => {
  const agent = defineAgent({
    name: "busy",
    purpose: "Does something else beside a wait.",
    async chat(_input, turn) {
      await turn.all([
        (own) => own.waitForInput({ name: "Your name?" }),
        async (own) => {
          await own.text("A moment.");
          for (let turns = 0; turns < 5; turns += 1) {
            await new Promise<void>((resolve) => {
              host.macrotask(resolve);
            });
          }
        },
      ]);
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("busy", chat);
  expect((await host.runtime.status(asked)).status).toBe("waiting");
});

test("a turn that works beside its wait does not count as waiting when it is continued", async () => {
  const work = Promise.withResolvers<void>();
  const agent = defineAgent({
    name: "hasty",
    purpose: "Asks, and does other work before it awaits the answer.",
    async chat(_input, turn) {
      const answer = turn.waitForInput({ name: "Your name?" });
      for (let step = 0; step < 20; step += 1) await Promise.resolve();
      await turn.effect("work", () => work.promise, { effect: "idempotent" });
      await answer;
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("hasty", chat);
  host.holdCommits();
  await host.restart();

  const seen: string[] = [];
  for (let commit = 0; commit < 5; commit += 1) {
    await host.releaseCommit();
    seen.push((await host.runtime.status(asked)).status);
  }

  expect(seen).toEqual(["running", "running", "running", "running", "running"]);
  work.resolve();
  await host.releaseCommits();
  expect((await host.runtime.status(asked)).status).toBe("waiting");
});
