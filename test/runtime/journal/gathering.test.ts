import { createRuntime, defineAgent, memoryLog } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import { textsOf } from "../../agents/events.ts";
import { asked, chat, TestHost } from "../test-host.ts";

/**
 * A runtime that collects texts for 5 ms, with some runs of an agent that sends three texts and then its
 * input.
 */
async function talk({ runs, last }: { readonly runs: number; readonly last: "sleep" | "nothing" }) {
  const environment = manualEnvironment();
  const log = memoryLog();
  const batches: string[][] = [];
  const talker = defineAgent({
    name: "talker",
    purpose: "Says three texts, each in its own turn of the event loop.",
    async chat(_input, turn) {
      for (const word of ["one", "two", "three"]) {
        void turn.text(word);
        await new Promise<void>((resolve) => {
          environment.macrotask(resolve);
        });
      }
      if (last === "sleep") await turn.sleep(1);
      else await new Promise<never>(() => {});
    },
  });
  const runtime = createRuntime({
    agents: [talker],
    environment,
    commitIntervalMs: 5,
    log: {
      ...log,
      append(cursor, batch) {
        batches.push(toEncoded(batch.events).map((text) => (JSON.parse(text) as { type: string }).type));
        return log.append(cursor, batch);
      },
    },
  });
  for (let run = 0; run < runs; run += 1)
    void runtime.process("talker", { type: "ChatRequest", input: "" }).catch(() => {});
  await environment.idle();
  return {
    environment,
    batches,
    async close(): Promise<void> {
      const closed = runtime.close();
      // Turns get no time to end.
      await environment.advance(0);
      await closed;
    },
  };
}

const TEXTS = ["TextOutput", "TextOutput", "TextOutput"];

test("texts of all runs are collected for the same interval", async () => {
  const { environment, batches, close } = await talk({ runs: 3, last: "nothing" });
  expect(batches.splice(0)).toEqual([["RequestStarted"], ["RequestStarted"], ["RequestStarted"]]);
  // One timer for each turn's timeout, and one for the texts.
  expect(environment.timers).toBe(4);
  await environment.advance(4);
  expect(batches).toEqual([]);
  await environment.advance(1);
  expect(batches).toEqual([TEXTS, TEXTS, TEXTS]);
  await close();
});

test("an urgent entry commits the collected texts with it", async () => {
  const { environment, batches, close } = await talk({ runs: 1, last: "sleep" });
  expect(batches.splice(0)).toEqual([["RequestStarted"], TEXTS]);
  await environment.advance(5);
  expect(batches.at(-1)).toEqual(["RequestCompleted"]);
  await close();
  expect(environment.timers).toBe(0);
});

test("a closing runtime does not wait for texts", async () => {
  const { environment, close } = await talk({ runs: 2, last: "nothing" });
  await close();
  expect(environment.timers).toBe(0);
});

test("the end of a turn is in the commit of its last texts, unless the handler awaits them", async () => {
  const speaker = defineAgent({
    name: "speaker",
    purpose: "Says two texts at the end.",
    async chat(input, turn) {
      await turn.sleep(0);
      void turn.text("one ");
      const said = turn.text("two");
      if (input === "awaited") await said;
    },
  });
  const commitsOf = async (input: string): Promise<number> => {
    const host = new TestHost({ agents: [speaker] });
    await host.ask("speaker", { ...chat, input });
    await host.environment.advance(0);
    expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success", result: "one two" });
    return host.commits;
  };
  expect(await commitsOf("awaited")).toBe((await commitsOf("not awaited")) + 1);
});

test("a turn that rests can say texts, each committed once, and its run stays in memory", async () => {
  const napper = defineAgent({
    name: "napper",
    purpose: "Says texts while it sleeps.",
    async chat(_input, turn) {
      const sleeping = turn.sleep(60_000);
      for (const word of ["one ", "two"]) {
        await host.pause(10_000);
        await turn.text(word);
      }
      await sleeping;
    },
  });
  const host: TestHost = new TestHost({ agents: [napper] });
  await host.ask("napper", chat);
  await host.environment.advance(20_000);
  expect(host.faults).toEqual([]);
  expect(textsOf(await host.events(asked))).toEqual(["one ", "two"]);
  await host.environment.advance(40_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success", result: "one two" });
});
