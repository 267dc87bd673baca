import { defineAgent, defineTool } from "troupe";
import type { RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { World } from "../world.ts";

const asked = "asked" as RequestId;

test("a turn that sleeps beside a wait continues its sleep after a crash", async () => {
  const agent = defineAgent({
    name: "patient",
    purpose: "Asks, and goes on without an answer after a while.",
    async chat(_input, turn) {
      const answer = turn.waitForInput({ name: "Your name?" });
      await turn.sleep(1_000);
      await turn.text("I shall not wait any longer.");
      await answer;
    },
  });
  const world = new World({ agents: [agent] });
  await world.ask("patient", { type: "ChatRequest", input: "", request_id: asked });

  await world.restart();
  await world.environment.advance(1_000);

  expect(textsOf(await world.events(asked))).toEqual(["I shall not wait any longer."]);
});

test("a request that arrives during the commit of the previous turn's end survives a crash", async () => {
  const agent = defineAgent({
    name: "brief",
    purpose: "Ends before what it said is committed.",
    async chat(input, turn) {
      void turn.text(input);
      await new Promise<void>((resolve) => {
        world.macrotask(resolve);
      });
    },
  });
  const world = new World({ agents: [agent] });
  const { runId } = await world.ask("brief", { type: "ChatRequest", input: "one" });
  const next = { type: "ChatRequest", run_id: runId as RunId } as const;
  void world.runtime.process("brief", { ...next, input: "two" }).catch(() => {});
  world.hold();
  await world.environment.idle();
  await world.letOneGo();

  void world.runtime.process("brief", { ...next, input: "three", request_id: asked }).catch(() => {});
  await world.environment.idle();
  world.plan({ kind: "crash", written: true });
  await world.letGo();
  await world.restart();

  expect(textsOf(await world.events(asked))).toEqual(["three"]);
});

test("the result of a continued turn has the texts of its branches in the order of the log", async () => {
  const agent = defineAgent({
    name: "branching",
    purpose: "Says things side by side.",
    async chat(_input, turn) {
      await turn.all([
        async (own) => {
          await own.text("1 ");
          await own.text("3 ");
        },
        async (own) => {
          await new Promise<void>((resolve) => {
            world.macrotask(resolve);
          });
          await own.text("2 ");
        },
      ]);
      await turn.sleep(1_000);
      await turn.text("4");
    },
  });
  const world = new World({ agents: [agent] });
  await world.ask("branching", { type: "ChatRequest", input: "", request_id: asked });
  await world.restart();
  await world.environment.advance(1_000);

  const events = await world.events(asked);
  expect(textsOf(events)).toEqual(["1 ", "2 ", "3 ", "4"]);
  expect(events.at(-1)).toMatchObject({ result: "1 2 3 4" });
});

test("calls that the log has open under a call end before it, even if the code does not reach them again", async () => {
  const slow = defineTool({
    name: "slow",
    description: "Takes its time before it does anything.",
    input: z.object({}),
    async run(_input, turn) {
      await turn.sleep(10);
      for (let turns = 0; turns < 20; turns += 1) {
        await new Promise<void>((resolve) => {
          world.macrotask(resolve);
        });
      }
      await Promise.all([
        turn.waitForInput({ name: "Your name?" }),
        turn.effect("stuck", () => new Promise<void>(() => {})),
      ]);
    },
  });
  const quick = defineTool({
    name: "quick",
    description: "Does not wait for the slow one.",
    input: z.object({}),
    async run(_input, turn) {
      await Promise.race([
        turn.tool(slow, {}),
        turn.effect("half", () => new Promise<void>(() => {})).catch(() => {}),
      ]);
    },
  });
  const agent = defineAgent({
    name: "hasty",
    purpose: "Calls the quick one.",
    async chat(_input, turn) {
      await turn.tool(quick, {});
      await turn.waitForInput({ mood: "How are you?" });
    },
  });
  const world = new World({ agents: [agent] });
  await world.ask("hasty", { type: "ChatRequest", input: "", request_id: asked });
  await world.environment.advance(10);
  await world.restart();

  const errors = ofType(await world.events(asked), "ToolError");
  expect(errors.map(({ function_name: name, code }) => `${name} ${code}`)).toEqual([
    "half interrupted",
    "stuck canceled",
    "slow canceled",
  ]);
  expect(await world.runtime.status(asked)).toMatchObject({
    status: "waiting",
    request_keys: { mood: "How are you?" },
  });
});
