import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { textsOf } from "../../agents/events.ts";
import { list } from "../actors/agents.ts";
import { TestHost, asked } from "../test-host.ts";

const HOUR_MS = 3_600_000;

const board = defineAgent({
  name: "board",
  purpose: "Says its notes.",
  messages: { note: z.string() },
  chat: (_input, turn) => turn.received("note").join(" "),
});

const planner = defineAgent({
  name: "planner",
  purpose: "Schedules what its input says.",
  async chat(input, turn) {
    const shop = turn.actor(list, "shop");
    switch (input) {
      case "at": {
        const { id } = await turn.schedule(
          shop,
          "add",
          { item: "later" },
          { at: new Date(turn.now() + HOUR_MS) },
        );
        return id;
      }
      case "twice":
        for (const item of ["a", "b"]) await turn.schedule(shop, "add", { item }, { afterMs: HOUR_MS });
        return undefined;
      case "message":
        await turn.schedule(turn.actor(board, "room"), "note", "remember", { afterMs: HOUR_MS });
        return undefined;
      case "past":
        await turn.schedule(shop, "add", { item: "now" }, { at: 0 });
        return undefined;
      default: {
        if (typeof input === "string" && input.startsWith("back ")) {
          await turn.unschedule(input.slice(5), shop);
          return undefined;
        }
        const errors: readonly unknown[] = await Promise.all([
          turn.schedule(shop, "other" as "add", { item: "x" }, { afterMs: 1 }).catch(String),
          turn.schedule(shop, "add", { item: "x" }, { afterMs: -1 }).catch(String),
          turn.schedule(shop, "add", { item: "x" }, {} as never).catch(String),
        ]);
        return errors.map(String).join("; ");
      }
    }
  },
});

const agents = [list, board, planner];
const chat = (input: string) => ({ type: "ChatRequest", input, request_id: asked }) as const;

async function itemsOf(host: TestHost): Promise<readonly string[]> {
  const runId = await host.runtime.find("list", "shop");
  return runId === undefined ? [] : textsOf(await host.events(runId));
}

test("a request is sent at its time, when the turn that scheduled it has long ended, also over a restart", async () => {
  const host = new TestHost({ agents, limits: { idleRuns: 0 } });
  await host.ask("planner", chat("at"));
  expect((await host.runtime.status(asked)).finish_reason).toBe("success");
  await host.environment.advance(HOUR_MS / 2);
  expect(host.runtime.health().activeRuns).toBe(0);
  // What it will be sent is in the lists of runs at once.
  expect((await host.runtime.runs({ limit: 1, agent: "list" })).runs).toMatchObject([
    { initial_input: { item: "later" }, turns: 0 },
  ]);
  await host.restart();
  expect(await itemsOf(host)).toEqual([]);
  await host.environment.advance(HOUR_MS / 2 + 2_000);
  expect(await itemsOf(host)).toEqual(["later"]);
  await host.restart();
  await host.environment.advance(HOUR_MS);
  expect(await itemsOf(host)).toEqual(["later"]);
});

test("each call schedules a request of its own, once, wherever the process dies", async () => {
  for (let after = 0; after < 12; after += 1) {
    for (const written of [false, true]) {
      const host = new TestHost({ agents });
      await host.runtime.ready();
      host.planFault({ kind: "crash", written, after });
      host.runtime.process("planner", chat("twice")).catch(() => {});
      await host.environment.advance(2 * HOUR_MS);
      if (host.crashed) await host.restart();
      await host.ask("planner", chat("twice"));
      await host.environment.advance(2 * HOUR_MS);
      expect([...(await itemsOf(host))].sort()).toEqual(["a", "b"]);
    }
  }
});

test("a message can be scheduled, and a time in the past is now", async () => {
  const host = new TestHost({ agents });
  await host.ask("planner", chat("message"));
  await host.environment.advance(HOUR_MS + 2_000);
  await host.ask("board", { type: "ChatRequest", input: "", key: "room", request_id: "read" });
  expect((await host.runtime.status("read")).result).toBe("remember");

  await host.ask("planner", { ...chat("past"), request_id: "past" });
  await host.environment.advance(2_000);
  expect(await itemsOf(host)).toEqual(["now"]);
});

test("it can be taken back", async () => {
  const host = new TestHost({ agents });
  await host.ask("planner", chat("at"));
  const { result } = await host.runtime.status(asked);
  await host.ask("planner", { type: "ChatRequest", input: `back ${result ?? ""}`, request_id: "back" });
  await host.environment.advance(2 * HOUR_MS);
  expect(await itemsOf(host)).toEqual([]);
  expect(await host.log.due({})).toEqual([]);
});

test("an unknown name and a wrong time are errors at once; the timer is no listed agent", async () => {
  const host = new TestHost({ agents });
  await host.ask("planner", chat("wrong"));
  expect((await host.runtime.status(asked)).result).toBe(
    "AgentError: agent list has no operation or message other; " +
      "TypeError: the afterMs of turn.schedule must be milliseconds, 0 or more; " +
      "TypeError: turn.schedule needs a time: `at`, `afterMs`, `everyMs` or `cron`",
  );
  expect(host.runtime.agents).toEqual(["list", "board", "planner"]);
  const timer = defineAgent({ name: "troupe-timer", purpose: "", chat: () => "" });
  expect(() => new TestHost({ agents: [timer] })).toThrow(
    "troupe-timer is the name of an agent of the runtime",
  );
});
