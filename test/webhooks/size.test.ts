import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { forEachConcurrent } from "../../src/shared/map-concurrent.ts";
import { runsLong } from "../machine/long.ts";
import { temporaryDirectory } from "../storage/directories.ts";
import { SECRET, pass, start, startReceiver } from "./receiver.ts";

const RUNS = runsLong ? 200 : 20;
const TURNS = 5;

test(`${RUNS * TURNS} messages reach a receiver that fails half of the time and is killed, in order for each run`, async () => {
  const environment = manualEnvironment();
  await using receiver = await startReceiver(() => [500, 204, 0, 204][Math.floor(Math.random() * 4)] ?? 204);
  await using server = await start(
    temporaryDirectory(),
    [{ url: receiver.url, on: ["end"], secret: SECRET, name: "desk", allowPrivate: true }],
    environment,
    { durability: "relaxed" },
  );
  const { runtime } = server;
  const runs = await Promise.all(Array.from({ length: RUNS }, () => runtime.createRun("speaker", {})));
  await forEachConcurrent(runs, 20, async (run_id) => {
    for (let turn = 0; turn < TURNS; turn += 1)
      await runtime.process("speaker", { type: "ChatRequest", input: "x", run_id });
  });
  const arrived = (): number => new Set(receiver.taken.map(({ id }) => id)).size;
  await pass(environment, () => arrived() > (RUNS * TURNS) / 4);
  await receiver.kill();
  const before = arrived();
  await environment.advance(60_000);
  expect(arrived()).toBe(before);
  await receiver.revive();
  await pass(environment, () => arrived() === RUNS * TURNS, 10_000);

  const ofRuns = Map.groupBy(receiver.taken, ({ runId }) => runId);
  expect([...ofRuns.keys()].toSorted()).toEqual([...runs].toSorted());
  for (const taken of ofRuns.values()) {
    const events = [...new Set(taken.map(({ event }) => event))];
    expect(events).toHaveLength(TURNS);
    expect(events).toEqual(events.toSorted((a, b) => a - b));
  }
});
