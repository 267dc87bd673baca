import { createRuntime, defineAgent, defineTool, fromMachine } from "troupe";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { assign, raise, setup } from "xstate";
import { z } from "zod";

test("an agent's memory changes only when it is set", async () => {
  const runtime = createRuntime({
    agents: [
      defineAgent({
        name: "keeper",
        purpose: "Keeps a list and spoils it.",
        chat(input, turn) {
          const list = (turn.memory.get() ?? []) as string[];
          if (input === "set") turn.memory.set(["kept"]);
          else list.push("never set");
          return JSON.stringify(turn.memory.get());
        },
      }),
    ],
  });
  const [first] = await collect(runtime, "keeper", { type: "ChatRequest", input: "set" });
  const again = { type: "ChatRequest", input: "spoil", ...(first && { run_id: first.run_id }) } as const;
  await collect(runtime, "keeper", again);
  const end = (await collect(runtime, "keeper", again)).at(-1);
  expect(end).toMatchObject({ result: '["kept"]' });
  await runtime.close();
});

test.each(["always", "raise", "send"])(
  "a machine with an endless loop by %s ends only its own turn",
  async (how) => {
    const chart = setup({
      types: { context: {} as { readonly rounds: number }, events: {} as { readonly type: "chat" } },
      actions: {
        count: assign({ rounds: ({ context }) => context.rounds + 1 }),
        send: ({ self }) => self.send({ type: "chat" }),
        raise: raise({ type: "chat" }),
      },
    });
    const machine = chart.createMachine({
      context: { rounds: 0 },
      initial: "here",
      states: {
        here: {
          after: { 60_000: "there" },
          on: {
            chat:
              how === "always"
                ? { target: "there" }
                : { target: "here", reenter: true, actions: how === "send" ? "send" : "raise" },
          },
        },
        there: { always: { target: "there", reenter: true, actions: "count" } },
      },
    });
    const round = fromMachine({ name: "round", purpose: "Goes round.", machine });
    const echo = defineAgent({ name: "echo", purpose: "Answers.", chat: (input) => input });
    const runtime = createRuntime({ agents: [round, echo] });
    const end = (await collect(runtime, "round", { type: "ChatRequest", input: "go" })).at(-1);
    expect(end).toMatchObject({ finish_reason: "error", error: { code: "agent_error" } });
    const other = (await collect(runtime, "echo", { type: "ChatRequest", input: "still here" })).at(-1);
    expect(other).toMatchObject({ result: "still here" });
    await runtime.close();
  },
);

test("a turn with too many uncommitted texts is ended; one that awaits its texts is not", async () => {
  const talker = defineAgent({
    name: "talker",
    purpose: "Says a lot.",
    async chat(input, turn) {
      for (let said = 0; said < 3_000; said += 1) {
        const text = turn.text("x");
        if (input === "await") await text;
      }
    },
  });
  const runtime = createRuntime({ agents: [talker] });
  const flood = (await collect(runtime, "talker", { type: "ChatRequest", input: "flood" })).at(-1);
  expect(flood).toMatchObject({ finish_reason: "error", error: { code: "overloaded" } });
  const paced = await collect(runtime, "talker", { type: "ChatRequest", input: "await" });
  expect(paced.at(-1)).toMatchObject({ finish_reason: "success" });
  await runtime.close();
});

test(
  "a thousand branches and a thousand children can each send a text at once",
  { tags: "long" },
  async () => {
    const child = defineTool({
      name: "speak",
      description: "Speaks.",
      effect: "idempotent",
      input: z.object({ n: z.number() }),
      async run({ n }, turn) {
        await turn.text("one");
        await turn.text("two");
        return n;
      },
    });
    const parent = defineAgent({
      name: "parent",
      purpose: "Has many speak.",
      async chat(_input, turn) {
        await turn.all(Array.from({ length: 1_000 }, () => (branch: typeof turn) => branch.text("b")));
        const all = await Promise.all(Array.from({ length: 1_000 }, (_, n) => turn.tool(child, { n })));
        return String(all.length);
      },
    });
    const runtime = createRuntime({ agents: [parent] });
    const events = await collect(runtime, "parent", { type: "ChatRequest", input: "" });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "1000" });
    expect(events.filter(({ type }) => type === "ToolTextOutput")).toHaveLength(2_000);
    await runtime.close();
  },
);

test("a turn with too many concurrent calls is ended", async () => {
  const dicer = defineAgent({
    name: "dicer",
    purpose: "Throws dice without an end.",
    chat(_input, turn) {
      for (let thrown = 0; thrown < 100_000; thrown += 1) turn.random();
      return "done";
    },
  });
  const runtime = createRuntime({ agents: [dicer] });
  const end = (await collect(runtime, "dicer", { type: "ChatRequest", input: "" })).at(-1);
  expect(end).toMatchObject({ finish_reason: "error", error: { code: "overloaded" } });
  await runtime.close();
});

test("a late request of a long run is read without reading earlier events", async () => {
  const runtime = createRuntime({
    agents: [
      defineAgent({
        name: "talker",
        purpose: "Sends as many texts as its input says.",
        async chat(input, turn) {
          for (let said = 0; said < Number(input); said += 1) await turn.text("x");
        },
      }),
    ],
  });
  const [first] = await collect(runtime, "talker", { type: "ChatRequest", input: "2500" });
  const late = await collect(runtime, "talker", {
    type: "ChatRequest",
    input: "2",
    ...(first && { run_id: first.run_id }),
  });
  const address = await runtime.resolve(late[0]?.request_id ?? "");
  const page = await runtime.read(address, { after: 0 });
  expect(page.events).toHaveLength(late.length);
  expect(page.more).toBe(false);
  const early = await runtime.read(await runtime.resolve(first?.request_id ?? ""), { after: 2_400 });
  expect(early.more).toBe(false);
  await runtime.close();
});
