import { defineAgent } from "troupe";
import type { RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { ofType } from "../../agents/events.ts";
import { World } from "../world.ts";

const WORK_MS = 10_000;

/** A simulated process that is restarted until all requests have ended. */
function deadlyWorld(): World {
  const innocent = defineAgent({
    name: "innocent",
    purpose: "Works for ten seconds, in one call that may be repeated.",
    async chat(_input, turn) {
      await turn.effect("work", () => world.pause(WORK_MS), { effect: "idempotent" });
      return "done";
    },
  });
  const deadly = defineAgent({
    name: "deadly",
    purpose: "Ends the process after so many milliseconds.",
    async chat(input) {
      await world.pause(Number(input));
      world.crash();
    },
  });
  const world: World = new World({ agents: [innocent, deadly] });
  return world;
}

/** Restarts the process each time it dies, until all requests have ended. Returns the number of deaths. */
async function live(world: World, requests: readonly RequestId[]): Promise<number> {
  for (let deaths = 0; deaths < 100; deaths += 1) {
    while (!world.crashed) {
      const phases = await Promise.all(requests.map(async (id) => (await world.log.lookup(id))?.phase));
      if (phases.every((phase) => phase === "completed")) return deaths;
      await world.environment.advance(100);
    }
    await world.restart();
  }
  throw new Error("the process has died a hundred times");
}

async function askAll(world: World, agent: string, inputs: readonly string[]): Promise<readonly RequestId[]> {
  const ids = inputs.map((_, at) => `${agent}-${at}` as RequestId);
  for (const [at, input] of inputs.entries())
    await world.ask(agent, { type: "ChatRequest", input, request_id: ids[at] as RequestId });
  return ids;
}

async function endsOf(world: World, requests: readonly RequestId[]): Promise<readonly string[]> {
  return Promise.all(
    requests.map(async (id) => {
      const [end] = ofType(await world.events(id), "RequestCompleted");
      return end?.error?.code ?? String(end?.finish_reason);
    }),
  );
}

test.each([
  { about: "one ends the process at once", innocents: 8, guilty: ["20"], most: 5 },
  { about: "two end the process at once", innocents: 8, guilty: ["20", "40"], most: 8 },
  { about: "one ends the process late", innocents: 8, guilty: ["5000"], most: 9 },
  { about: "one of a hundred ends the process", innocents: 99, guilty: ["20"], most: 8 },
])("only the turns that end the process are poisoned: $about", async ({ innocents, guilty, most }) => {
  const world = deadlyWorld();
  const others = await askAll(
    world,
    "innocent",
    Array.from({ length: innocents }, () => ""),
  );
  const culprits = await askAll(world, "deadly", guilty);
  const deaths = await live(world, [...others, ...culprits]);
  expect(await endsOf(world, culprits)).toEqual(culprits.map(() => "poisoned"));
  expect(await endsOf(world, others)).toEqual(others.map(() => "success"));
  expect(deaths).toBeLessThanOrEqual(most);
});

test("an attempt of a call does not count if another turn may have ended the process", async () => {
  const world = deadlyWorld();
  const requests = await askAll(world, "innocent", ["", ""]);
  // Each step waits until the turns that are tried alone have had their time.
  for (const aliveMs of [500, 500, 2_500, 4_500]) {
    await world.environment.advance(aliveMs);
    world.crash();
    await world.restart();
  }
  expect(await live(world, requests)).toBe(0);
  expect(await endsOf(world, requests)).toEqual(["success", "success"]);
  const tries = ofType(await world.events("innocent-0"), "ToolCall").map(({ attempt = 1 }) => attempt);
  expect(tries).toEqual([1, 2, 3, 4, 5]);
});

test("a new request waits only until the suspects have had their time", async () => {
  const world = deadlyWorld();
  await askAll(world, "innocent", ["", ""]);
  for (let death = 0; death < 2; death += 1) {
    world.crash();
    await world.restart();
  }
  const quick = "quick" as RequestId;
  await world.ask("innocent", { type: "ChatRequest", input: "", request_id: quick });
  expect(ofType(await world.events(quick), "ToolCall")).toHaveLength(0);
  await world.environment.advance(2_000);
  expect(ofType(await world.events(quick), "ToolCall")).toHaveLength(1);
});
