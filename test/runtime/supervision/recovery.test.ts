import { defineAgent, defineTool } from "troupe";
import type { RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";

test("a turn that sleeps beside a wait continues its sleep after a crash", async () => {
  const agent = defineAgent({
    name: "patient",
    purpose: "Asks, and continues without an answer after a while.",
    async chat(_input, turn) {
      const answer = turn.waitForInput({ name: "Your name?" });
      await turn.sleep(1_000);
      await turn.text("I shall not wait any longer.");
      await answer;
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("patient", { type: "ChatRequest", input: "", request_id: asked });

  await host.restart();
  await host.environment.advance(1_000);

  expect(textsOf(await host.events(asked))).toEqual(["I shall not wait any longer."]);
});

test("a request that arrives during the commit of the previous turn's end survives a crash", async () => {
  const agent = defineAgent({
    name: "brief",
    purpose: "Ends before what it said is committed.",
    async chat(input, turn) {
      void turn.text(input);
      await new Promise<void>((resolve) => {
        host.macrotask(resolve);
      });
    },
  });
  const host = new TestHost({ agents: [agent] });
  const { runId } = await host.ask("brief", { type: "ChatRequest", input: "one" });
  const next = { type: "ChatRequest", run_id: runId as RunId } as const;
  void host.runtime.process("brief", { ...next, input: "two" }).catch(() => {});
  host.holdCommits();
  await host.environment.idle();
  await host.releaseCommit();

  void host.runtime.process("brief", { ...next, input: "three", request_id: asked }).catch(() => {});
  await host.environment.idle();
  host.planFault({ kind: "crash", written: true });
  await host.releaseCommits();
  await host.restart();

  expect(textsOf(await host.events(asked))).toEqual(["three"]);
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
            host.macrotask(resolve);
          });
          await own.text("2 ");
        },
      ]);
      await turn.sleep(1_000);
      await turn.text("4");
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("branching", { type: "ChatRequest", input: "", request_id: asked });
  await host.restart();
  await host.environment.advance(1_000);

  const events = await host.events(asked);
  expect(textsOf(events)).toEqual(["1 ", "2 ", "3 ", "4"]);
  expect(events.at(-1)).toMatchObject({ result: "1 2 3 4" });
});

test("calls that the log has open under a call end before it", async () => {
  const slow = defineTool({
    name: "slow",
    description: "Takes its time before it does anything.",
    input: z.object({}),
    async run(_input, turn) {
      await turn.sleep(10);
      for (let turns = 0; turns < 20; turns += 1) {
        await new Promise<void>((resolve) => {
          host.macrotask(resolve);
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
  const host = new TestHost({ agents: [agent] });
  await host.ask("hasty", { type: "ChatRequest", input: "", request_id: asked });
  await host.environment.advance(10);
  await host.restart();

  const errors = ofType(await host.events(asked), "ToolError");
  expect(errors.map(({ function_name: name, code }) => `${name} ${code}`)).toEqual([
    "half interrupted",
    "stuck interrupted",
    "slow canceled",
  ]);
  expect(await host.runtime.status(asked)).toMatchObject({
    status: "waiting",
    request_keys: { mood: "How are you?" },
  });
});
