/** @module-tag long */
import { expect, test } from "vitest";
import { findPrograms } from "../../machine/postgres-server.ts";
import { skipWithoutPostgres } from "../../machine/skip-without.ts";
import { SceneTable } from "./scene-table.ts";
import { longestOf, playScenes, scenes, severalScenes } from "./scenes.ts";

// Plays each scene once, with little load; `npm run test:cluster -- --cycles 200` plays them many times. Each lane has a
// server and nodes of its own, which take longer to start than a scene without a wait. A scene that does not end says so itself,
// with the state of its nodes, so a test has the time of all its scenes.
const LANES = 2;
const REST_MS = 100;

/** The scenes that are also played on two databases. */
const SEVERAL: readonly string[] = [
  "POST on one node, follow on a second, resume on a third, list on all",
  "an id sent to three nodes at once",
  "kill -9 of the owner",
  "sleeper, outbox, upload, fork and removal, the node killed in the middle",
];

/** The scenes that are also played with nodes that use gossip. */
const GOSSIPED: readonly string[] = [
  "kill -9 of the owner",
  "SIGSTOP for 5 s, then SIGCONT",
  "the owner cut off from the engine for 7 s",
  "SIGTERM of each node in turn",
];

/** The scenes of each lane: those that wait long for a node or a clock are in different lanes. */
const lanes = Array.from({ length: LANES }, (_, lane) => scenes.filter((__, at) => at % LANES === lane));

test.concurrent.for(
  lanes.map((played, lane) => ({ played, lane, names: played.map(({ name }) => name).join("; ") })),
)(
  "three nodes on one database break no invariant: $names",
  { timeout: longestOf(scenes) },
  async ({ played, lane }, { skip }) => {
    if (findPrograms() === undefined) skipWithoutPostgres(skip);
    const table = new SceneTable(played);
    await playScenes(played, { seed: lane + 1, turns: 12, restMs: REST_MS, table });
    expect(table.violations).toEqual([]);
  },
);

test("three nodes on two databases break no invariant", { timeout: longestOf(scenes) }, async ({ skip }) => {
  if (findPrograms() === undefined) skipWithoutPostgres(skip);
  const played = scenes.filter(({ name }) => SEVERAL.includes(name));
  expect(played).toHaveLength(SEVERAL.length);
  const all = [...severalScenes, ...played];
  const table = new SceneTable(all);
  await playScenes(all, { seed: 1, turns: 12, restMs: REST_MS, table, databases: 2 });
  expect(table.violations).toEqual([]);
});

test("three nodes that use gossip break no invariant", { timeout: longestOf(scenes) }, async ({ skip }) => {
  if (findPrograms() === undefined) skipWithoutPostgres(skip);
  const played = scenes.filter(({ name }) => GOSSIPED.includes(name));
  expect(played).toHaveLength(GOSSIPED.length);
  const table = new SceneTable(played);
  await playScenes(played, { seed: 1, turns: 12, restMs: REST_MS, table, gossips: true });
  expect(table.violations).toEqual([]);
});
