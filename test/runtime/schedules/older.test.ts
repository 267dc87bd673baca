import { createRuntime, defineAgent } from "troupe";
import type { Agent, Turn } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { toActorAddress } from "../../../src/runtime/agent/actor-address.ts";
import { createTimerAgent } from "../../../src/runtime/agent/definition/timer-agent.ts";
import { memoryLog } from "../../../src/storage/memory/log.ts";
import { digest } from "../../../src/shared/digest.ts";
import { textsOf } from "../../agents/events.ts";
import { list } from "../actors/agents.ts";
import { TestHost, asked } from "../test-host.ts";

const HOUR_MS = 3_600_000;

const planner = (plan: (turn: Turn, afterMs: number) => Promise<unknown>): Agent =>
  defineAgent({
    name: "planner",
    purpose: "Schedules something, and asks.",
    async chat(_input, turn) {
      await plan(turn, HOUR_MS);
      await turn.waitForInput({ go: "Once more?" });
      await plan(turn, HOUR_MS * 3);
      return "planned";
    },
  });

/** What `turn.schedule` did before actors had schedules: it told an agent that sleeps, whose key is made from the place of the step before. */
function before(turn: Turn, afterMs: number): Promise<unknown> {
  const at = turn.now() + afterMs;
  const key = `timer-${digest(`${turn.request.runId} c1.1`)}`;
  const request = { at, agent: "list", key: "shop", operation: "add", input: { item: "later" } };
  return turn.tell(
    toActorAddress(
      createTimerAgent(() => list),
      key,
    ),
    "send",
    request,
  );
}

test("an open turn that an earlier version has begun keeps the request that it has scheduled", async () => {
  const host = new TestHost({ agents: [list, planner(before)], limits: { idleRuns: 0 } });
  await host.ask("planner", { type: "ChatRequest", input: "", request_id: asked });
  await host.restart([
    list,
    planner((turn, afterMs) =>
      turn.schedule(turn.actor(list, "shop"), "add", { item: "later" }, { afterMs }),
    ),
  ]);
  await host.ask("planner", {
    type: "ResumeWithInput",
    request_id: asked,
    request_keys: { go: true },
  } as never);
  expect(await host.runtime.status(asked)).toMatchObject({ finish_reason: "success", result: "planned" });
  const items = async (): Promise<readonly string[]> =>
    textsOf(await host.events((await host.runtime.find("list", "shop")) ?? ""));
  await host.environment.advance(2 * HOUR_MS);
  expect(await items()).toEqual(["later"]);
  await host.environment.advance(2 * HOUR_MS);
  expect(await items()).toEqual(["later", "later"]);
  expect(host.faults).toEqual([]);
});

test.each([
  { times: { everyMs: 1e17 }, shown: { every_ms: 1e17 } },
  { times: { at: 8e15 }, shown: { at: "9999-12-31T23:59:59.999Z" } },
])("a schedule of an earlier version with $times is listed, paused and resumed", async ({ times, shown }) => {
  const environment = manualEnvironment();
  const earlier = memoryLog();
  const first = createRuntime({ agents: [list], log: earlier, environment });
  const runId = await first.createRun("list", {});
  const made = { run_id: runId, operation: "add", input: { item: "late" }, every_ms: HOUR_MS, id: "far" };
  await first.schedules.make("list", made);
  await first.close();
  const log = earlier.reopen();
  const [entry] = (await log.schedules({ limit: 1 })).schedules;
  const { cursor } = await log.claim(runId);
  const due = "at" in times ? times.at : times.everyMs;
  const data = { ...entry?.data, times } as never;
  await log.append(cursor, { events: [], records: [], schedules: [{ id: "far", due, data }] });
  log.release(cursor);

  const runtime = createRuntime({ agents: [list], log: log.reopen(), environment });
  await runtime.ready();
  const listed = async (): Promise<readonly object[]> =>
    (await runtime.schedules.list({ limit: 5 })).schedules;
  expect(await listed()).toMatchObject([{ id: "far", ...shown, paused: false }]);
  await runtime.schedules.pause(runId, "far");
  await runtime.schedules.resume(runId, "far");
  expect(await listed()).toMatchObject([{ id: "far", ...shown, paused: false }]);
  await runtime.close();
});
