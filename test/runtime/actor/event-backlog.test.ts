import { setImmediate } from "node:timers/promises";
import { createRuntime, defineAgent, defineTool, memoryLog, operation } from "troupe";
import type { Agent, Model, ToolTurn } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { markAgent } from "../../../src/runtime/agent/definition/check-definition.ts";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";
import { shortened } from "../../machine/long.ts";

const TEXTS = 30_000;

/** How many events were sent and read, and the most that were sent and not read. */
interface Counts {
  sent: number;
  read: number;
  behind: number;
}

function newCounts(): Counts {
  return { sent: 0, read: 0, behind: 0 };
}

function countSent(counts: Counts): void {
  counts.sent += 1;
  counts.behind = Math.max(counts.behind, counts.sent - counts.read);
}

/** Sends many texts, and waits for one in 500 of them. */
function chatterOf(counts: Counts, texts: number = TEXTS): Agent {
  return defineAgent({
    name: "chatter",
    purpose: "Says a lot.",
    async chat(_input, turn) {
      for (let index = 1; index <= texts; index += 1) {
        const said = turn.text("x");
        countSent(counts);
        if (index % 500 === 0) await said;
      }
    },
  });
}

/** Has a model reason at length. */
function thinkerOf(counts: Counts): Agent {
  const model: Model = {
    name: "reasoner",
    async *generate() {
      for (let index = 0; index < TEXTS; index += 1) {
        countSent(counts);
        yield { type: "reasoning", text: "x" };
      }
      yield { type: "result", result: null, usage: {} };
    },
  };
  return defineAgent({
    name: "thinker",
    purpose: "Has a model reason.",
    chat: (input, turn) => turn.complete({ model, input }).then(() => ""),
  });
}

/** An agent on another server, whose events arrive in batches. */
function strangerOf(counts: Counts): Agent {
  return markAgent({
    ...defineAgent({ name: "stranger", purpose: "Says a lot elsewhere.", chat() {} }),
    remote: {
      known: true,
      ready: async () => {},
      async perform(_, place) {
        for (let index = 1; index <= TEXTS; index += 1) {
          countSent(counts);
          place.say({ agent: "stranger", depth: 0 }, { type: "TextOutput", content: "x" });
          if (index % 100 === 0) await place.keep(index);
        }
        return { ok: true, result: null, output: null, files: [], truncated: false };
      },
      abandon() {},
    },
  });
}

/** Counts the texts and thoughts of another agent. */
function listenerTo(speaker: Agent, counts: Counts) {
  return defineAgent({
    name: "listener",
    purpose: "Reads what another one says.",
    async chat(_input, turn) {
      let heard = 0;
      for await (const { type } of turn.call(speaker, "chat", { input: "" })) {
        counts.read += 1;
        if (type === "TextOutput" || type === "ReasoningOutput") heard += 1;
      }
      return String(heard);
    },
  });
}

test.each(
  shortened(
    [
      ["an agent that says", chatterOf],
      ["a model that reasons", thinkerOf],
      ["an agent elsewhere that says", strangerOf],
    ] as const,
    1,
  ),
)("%s more than its caller reads waits for the caller, and all of it arrives", async (_, speakerOf) => {
  const counts = newCounts();
  const speaker = speakerOf(counts);
  const agent = listenerTo(speaker, counts);
  const runtime = createRuntime({ agents: [agent, speaker], log: memoryLog() });
  await runtime.ready();
  expect(await runtime.ask(agent, "chat", { input: "" })).toMatchObject({ output: String(TEXTS) });
  expect(counts.behind).toBeLessThan(3_000);
  await runtime.close();
});

test.each(["before it is written", "after it is written"])(
  "the texts of an agent that waits for its caller are logged once if the process dies at a commit, %s",
  async (when) => {
    const counts = newCounts();
    const host = new TestHost({ agents: [listenerTo(chatterOf(counts, 4_000), counts)] });
    host.planFault({ kind: "crash", written: when === "after it is written", after: 6 });
    await host.ask("listener", chat).catch(() => {});
    expect(host.crashed).toBe(true);
    expect(counts.sent).toBeGreaterThan(1_000);
    await host.restart();
    const events = await host.events(asked);
    expect(ofType(events, "TextOutput")).toHaveLength(4_000);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "4000" });
  },
);

test("a request is canceled while an agent waits for its caller", async () => {
  const counts = newCounts();
  const host = new TestHost({ agents: [listenerTo(chatterOf(counts), counts)] });
  const receipt = host.runtime.process("listener", chat);
  while (counts.sent < 3_000)
    await new Promise<void>((resolve) => {
      host.macrotask(resolve);
    });
  const canceled = host.runtime.process("listener", { type: "CancelRequest", request_id: asked });
  await host.environment.idle();
  await Promise.all([receipt, canceled]);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "canceled" });
  expect(counts.sent).toBeLessThan(TEXTS);
  expect(host.faults).toEqual([]);
});

/** Has a tool report in a loop that waits for nothing but the event loop, and iterates its call. */
function watcherOf(report: (turn: ToolTurn) => void) {
  const noisy = defineTool({
    name: "noisy",
    description: "Reports a lot.",
    input: z.object({}),
    async run(_input, turn) {
      for (let index = 0; index < TEXTS && !turn.signal.aborted; index += 1) {
        report(turn);
        if (index % 100 === 99) await setImmediate();
      }
      return "done";
    },
  });
  return defineAgent({
    name: "watcher",
    purpose: "Watches a tool.",
    operations: {
      watch: operation({
        input: z.object({}),
        output: z.number(),
        async run(_input, turn) {
          let events = 0;
          for await (const _ of turn.tool(noisy, {})) events += 1;
          return events;
        },
      }),
    },
  });
}

test("a turn whose iterated call does not wait for its texts ends with overloaded", async () => {
  const agent = watcherOf((turn) => void turn.text("x").catch(() => {}));
  const runtime = createRuntime({ agents: [agent], log: memoryLog() });
  await runtime.ready();
  await expect(runtime.ask(agent, "watch", {})).rejects.toMatchObject({
    message: expect.stringContaining("more than 10000 events wait for the code that iterates") as string,
  });
  await runtime.close();
});

test("progress is dropped while the code that iterates the call is far behind", async () => {
  const agent = watcherOf((turn) => turn.progress("x"));
  const runtime = createRuntime({ agents: [agent], log: memoryLog() });
  await runtime.ready();
  const output = await runtime.ask(agent, "watch", {});
  expect(output).toBeGreaterThan(1_000);
  expect(output).toBeLessThan(TEXTS);
  await runtime.close();
});
