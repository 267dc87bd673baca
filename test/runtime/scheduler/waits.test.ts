import { defineAgent, defineTool } from "troupe";
import type { Event, RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { World } from "../world.ts";

const asked = "asked" as RequestId;
const chat = { type: "ChatRequest", input: "", request_id: asked } as const;

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
  const world = new World({ agents: [twofold] });
  await world.ask("twofold", chat);
  const [first, second] = waitsOf(await world.events(asked));

  await world.ask("twofold", answer(second?.id ?? 0, { second: 2 }));
  await world.ask("twofold", answer(first?.id ?? 0, { first: 1 }));

  expect(textsOf(await world.events(asked))).toEqual([
    "second: 2.",
    "Thanks for the second.",
    "first: 1.",
    "Thanks for the first.",
    "Done.",
  ]);
});

test("the code after one of two answers runs even if the process dies right after the answer", async () => {
  const world = new World({ agents: [twofold] });
  await world.ask("twofold", chat);
  const [first] = waitsOf(await world.events(asked));

  world.plan({ kind: "crash", written: true });
  void world.runtime.process("twofold", answer(first?.id ?? 0, { first: 1 })).catch(() => {});
  await world.environment.idle();
  expect(world.crashed).toBe(true);
  await world.restart();

  expect(textsOf(await world.events(asked))).toEqual(["first: 1.", "Thanks for the first."]);
  expect((await world.runtime.status(asked)).status).toBe("waiting");
});

test("two concurrent answers right after a restart both count", async () => {
  const world = new World({ agents: [twofold] });
  await world.ask("twofold", chat);
  const [first, second] = waitsOf(await world.events(asked));
  await world.restart();

  await Promise.all([
    world.runtime.process("twofold", answer(first?.id ?? 0, { first: 1 })),
    world.runtime.process("twofold", answer(second?.id ?? 0, { second: 2 })),
    world.environment.idle(),
  ]);
  await world.environment.idle();

  expect((await world.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});

test("an answer that does not fit leaves the wait open, also when the turn is loaded for it", async () => {
  const world = new World({ agents: [sequence], limits: { turnMs: 1_000 } });
  await world.ask("sequence", chat);
  const [wait] = waitsOf(await world.events(asked));
  await world.restart();

  const wrong = world.ask("sequence", answer(wait?.id ?? 0, { letter: "a" }));
  await expect(wrong).rejects.toMatchObject({ code: "unprocessable" });
  expect((await world.runtime.status(asked)).status).toBe("waiting");

  await world.environment.advance(10_000);
  expect((await world.runtime.status(asked)).status).toBe("waiting");
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
  const world = new World({ agents: [sleeper], limits: { turnMs: 1_000 } });
  await world.ask("sleeper", chat);
  await world.environment.advance(2_000);
  await world.restart();
  await world.environment.advance(3_000);

  expect(textsOf(await world.events(asked))).toEqual(["Good morning."]);
  expect(world.environment.timers).toBe(0);
});

test("of two different answers to a wait the first one counts, and the other is refused", async () => {
  const world = new World({ agents: [sequence] });
  await world.ask("sequence", chat);
  const [wait] = waitsOf(await world.events(asked));

  const answers = await Promise.allSettled([
    world.runtime.process("sequence", answer(wait?.id ?? 0, { word: "one" })),
    world.runtime.process("sequence", answer(wait?.id ?? 0, { word: "two" })),
    world.environment.idle(),
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
  const world = new World({ agents: [parent] });
  await world.ask("parent", chat);
  const [wait] = waitsOf(await world.events(asked));
  expect(wait).toMatchObject({ depth: 2, agent: "grandchild" });
  expect((await world.runtime.status(asked)).wait_id).toBe(wait?.id);

  await world.restart();
  await world.ask("parent", answer(wait?.id ?? 0, { word: "hello" }));
  expect(textsOf(await world.events(asked))).toEqual(["It said hello."]);
});

test("a stream without a cursor starts at the newest answer, or at an earlier open wait", async () => {
  const world = new World({ agents: [twofold] });
  await world.ask("twofold", chat);
  const [first, second] = waitsOf(await world.events(asked));
  const startOf = async (): Promise<number | undefined> => {
    const feed = await world.runtime.follow(await world.runtime.resolve(asked), {});
    for await (const { events } of feed.pages) return (JSON.parse(events[0] ?? "{}") as Event).id;
    return undefined;
  };

  await world.ask("twofold", answer(second?.id ?? 0, { second: 2 }));
  expect(await startOf()).toBe(first?.id);

  await world.restart();
  expect(await startOf()).toBe(first?.id);

  await world.ask("twofold", answer(first?.id ?? 0, { first: 1 }));
  const resumes = ofType(await world.events(asked), "ResumeWithInput");
  expect(await startOf()).toBe(resumes[1]?.id);
});

test("a waiting run refuses a chat without on_busy", async () => {
  const world = new World({ agents: [sequence] });
  const { runId } = await world.ask("sequence", chat);
  const again = { type: "ChatRequest", input: "", run_id: runId ?? undefined } as never;

  await expect(world.ask("sequence", again)).rejects.toMatchObject({
    code: "conflict",
    details: { facts: { request_keys: { word: "A word?" } } },
  });
});
test("a repeated equal answer gets the first reply", async () => {
  const world = new World({ agents: [sequence] });
  await world.ask("sequence", chat);
  const [wait] = waitsOf(await world.events(asked));
  const again = answer(wait?.id ?? 0, { word: "one" });

  const both = await Promise.all([
    world.runtime.process("sequence", again),
    world.runtime.process("sequence", again),
    world.environment.idle(),
  ]);
  const [first, second] = both;

  expect(second).toMatchObject({ replayed: true, event: first.event });
  expect(ofType(await world.events(asked), "ResumeWithInput")).toHaveLength(1);
});

test("a repeated answer with a resume id does not answer the next wait", async () => {
  const world = new World({ agents: [sequence] });
  await world.ask("sequence", chat);
  const named = {
    type: "ResumeWithInput",
    request_id: asked,
    request_keys: { word: "one" },
    resume_id: "r1",
  } as const;
  const first = await world.ask("sequence", named);
  expect(waitsOf(await world.events(asked))).toHaveLength(2);

  expect(await world.ask("sequence", named)).toMatchObject({ replayed: true, event: first.event });
  await world.restart();
  expect(await world.ask("sequence", named)).toMatchObject({ replayed: true, event: first.event });
  expect(ofType(await world.events(asked), "ResumeWithInput")).toHaveLength(1);
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
  const world = new World({ agents: [parent] });
  const receipt = await world.ask("parent", chat);
  await world.environment.advance(1_000);
  const [gone, open] = waitsOf(await world.events(asked));

  expect(await world.runtime.status(asked)).toMatchObject({ status: "waiting", wait_id: open?.id });
  const acknowledged = await world.runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 1 });
  expect(JSON.parse(acknowledged ?? "{}")).toMatchObject({ wait_id: open?.id });
  await expect(world.ask("parent", answer(gone?.id ?? 0, { never: 1 }))).rejects.toMatchObject({
    code: "conflict",
  });
});

test("the code after one of two answers runs even if a waiting run leaves memory at once", async () => {
  const world = new World({ agents: [twofold], limits: { idleRuns: 0 } });
  await world.ask("twofold", chat);
  const [first, second] = waitsOf(await world.events(asked));

  await world.ask("twofold", answer(first?.id ?? 0, { first: 1 }));
  expect(textsOf(await world.events(asked))).toEqual(["first: 1.", "Thanks for the first."]);
  expect(world.runtime.health().activeRuns).toBe(0);

  await world.ask("twofold", answer(second?.id ?? 0, { second: 2 }));
  expect((await world.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
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
              world.macrotask(resolve);
            });
          }
        },
      ]);
    },
  });
  const world = new World({ agents: [agent] });
  await world.ask("busy", chat);
  expect((await world.runtime.status(asked)).status).toBe("waiting");
});

test("a turn that works beside its wait does not count as waiting when it is continued", async () => {
  const agent = defineAgent({
    name: "hasty",
    purpose: "Asks, and goes on with something else before it listens to the answer.",
    async chat(_input, turn) {
      const answer = turn.waitForInput({ name: "Your name?" });
      for (let step = 0; step < 20; step += 1) await Promise.resolve();
      await turn.sleep(1_000);
      await answer;
    },
  });
  const world = new World({ agents: [agent] });
  await world.ask("hasty", chat);
  world.hold();
  await world.restart();

  const seen: string[] = [];
  for (let commit = 0; commit < 5; commit += 1) {
    await world.letOneGo();
    seen.push((await world.runtime.status(asked)).status);
  }

  expect(seen).toEqual(["running", "running", "running", "running", "running"]);
  await world.environment.advance(1_000);
  await world.letGo();
  expect((await world.runtime.status(asked)).status).toBe("waiting");
});
