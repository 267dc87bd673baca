import { expect, test } from "vitest";
import { gossipMessageToWire } from "../../src/cluster/gossip-messages.ts";
import { HEARTBEAT_MS, RARE_HEARTBEAT_MS } from "../../src/cluster/known-nodes.ts";
import { createRandom } from "../../src/testing/event-log/random.ts";
import { GossipWorld } from "./gossip-world.ts";
import type { GossipNode } from "./gossip-world.ts";

/** A slow and lossy world. */
const BAD = { lossPercent: 5, throttledPercent: 30 } as const;

async function startWorld(
  count: number,
  options: ConstructorParameters<typeof GossipWorld>[0] = {},
): Promise<{ readonly world: GossipWorld; readonly nodes: readonly GossipNode[] }> {
  const world = new GossipWorld(options);
  const nodes = await world.start(count);
  await world.pass(3 * RARE_HEARTBEAT_MS);
  return { world, nodes };
}

function mend(nodes: readonly GossipNode[]): void {
  for (const node of nodes) {
    node.isCut = node.isMute = node.isDeaf = false;
    node.part = 0;
  }
}

/** How many heartbeats of a node the database gets in a second. */
async function heartbeatsPerSecond(world: GossipWorld, ms = 4 * RARE_HEARTBEAT_MS): Promise<number> {
  const before = world.heartbeats;
  await world.pass(ms);
  return (1_000 * (world.heartbeats - before)) / ms / world.living.length;
}

test("nodes that use gossip write few heartbeats, and each lives in the eyes of all", async () => {
  const { world, nodes } = await startWorld(12);
  expect(await heartbeatsPerSecond(world)).toBeCloseTo(1_000 / RARE_HEARTBEAT_MS, 1);
  for (const { heartbeat } of nodes) {
    expect(heartbeat.view).toBe("steady");
    expect(heartbeat.health).toEqual({ ready: true });
    for (const { id } of nodes) expect(heartbeat.livenessOf(id)).toBe("alive");
  }
  expect(world.judgements).toEqual([]);
});

test("each of many nodes knows about how many runs speak on the others, also after they have ended", async () => {
  const { world, nodes } = await startWorld(30, BAD);
  for (const node of nodes) node.speaking = node.place % 3 === 0 ? 30 : 0;
  await world.pass(20_000);
  for (const { heartbeat } of nodes) {
    expect(heartbeat.speakingElsewhere).toBeGreaterThan(100);
    expect(heartbeat.speakingElsewhere).toBeLessThan(600);
  }
  for (const node of nodes) node.speaking = 0;
  await world.pass(20_000);
  for (const { heartbeat } of nodes) expect(heartbeat.speakingElsewhere).toBe(0);
});

test("nodes whose answers take 0.7 s, because their machine has no rest, doubt none, and write few heartbeats", async () => {
  const { world } = await startWorld(12);
  world.delayMs = 340;
  await world.pass(RARE_HEARTBEAT_MS);
  const before = world.messages;
  expect(await heartbeatsPerSecond(world)).toBeCloseTo(1_000 / RARE_HEARTBEAT_MS, 1);
  // A ping, one more, and three over others, which each send one: for each of two nodes.
  const most = ((4 * RARE_HEARTBEAT_MS) / HEARTBEAT_MS) * 2 * 8 * 12;
  expect(world.messages - before).toBeLessThan(most);
  expect(world.judgements).toEqual([]);
});

test("nodes that answer no ping in time, because their machine has no rest, ping seldom, and live on by the table", async () => {
  const { world, nodes } = await startWorld(12);
  const before = world.messages;
  world.delayMs = 1_500;
  await world.pass(60_000);
  // Without late answers it is 6.7 pings a second, and each late one makes up to seven more.
  expect((world.messages - before) / 60 / 12).toBeLessThan(13);
  expect(world.judgements).toEqual([]);
  world.delayMs = 0;
  // They ping seldom for some seconds still, and trust themselves by the table.
  for (let ms = 0; ms < 15_000; ms += 50) {
    await world.pass(50);
    expect(nodes.filter(({ id, heartbeat }) => heartbeat.livenessOf(id) === "suspect")).toEqual([]);
  }
  expect(await heartbeatsPerSecond(world)).toBeCloseTo(1_000 / RARE_HEARTBEAT_MS, 1);
});

test("so few nodes as need no gossip write a heartbeat each 0.3 s", async () => {
  const { world } = await startWorld(4, { gossipAbove: 4 });
  const few = await heartbeatsPerSecond(world);
  expect(few).toBeGreaterThan(900 / (HEARTBEAT_MS + 30));
  await world.start(1);
  await world.pass(RARE_HEARTBEAT_MS);
  expect(await heartbeatsPerSecond(world)).toBeLessThan(0.3);
});

test.for([
  ["3 nodes", 3, {}, 2_500],
  ["12 nodes", 12, {}, 3_000],
  ["30 nodes at 5 % loss, which do not run for 30 % of each second", 30, BAD, 4_000],
] as const)(
  "a node that dies is soon dead to all, and no other one: %s",
  async ([, count, options, mostMs]) => {
    const { world, nodes } = await startWorld(count, options);
    const dead = nodes.slice(0, Math.ceil(count / 4));
    for (const node of dead) {
      world.kill(node);
      expect(await world.passUntil(() => world.isDeadToAll(node))).toBeLessThan(mostMs);
      await world.pass(1_000);
    }
    await world.pass(30_000);
    expect(new Set(world.judgements.map(({ judged }) => judged))).toEqual(new Set(dead.map(({ id }) => id)));
  },
);

test("when more than half of the nodes die at once, the others find it once the last heartbeats are old", async () => {
  const { world, nodes } = await startWorld(5);
  const dead = nodes.slice(0, 3);
  for (const node of dead) world.kill(node);
  expect(await world.passUntil(() => dead.every((node) => world.isDeadToAll(node)))).toBeLessThan(14_000);
  expect(new Set(world.judgements.map(({ judged }) => judged))).toEqual(new Set(dead.map(({ id }) => id)));
});

test("a node that is cut off from the others, and reaches the database, lives", async () => {
  const { world, nodes } = await startWorld(6);
  const [lonely] = nodes as [GossipNode];
  lonely.part = 1;
  await world.pass(30_000);
  expect(world.judgements).toEqual([]);
  expect(lonely.heartbeat.livenessOf(lonely.id)).not.toBe("suspect");
  expect(lonely.heartbeat.health).toEqual({ ready: true });
  world.kill(lonely);
  expect(await world.passUntil(() => world.isDeadToAll(lonely))).toBeLessThan(3_000);
});

test("nodes whose network is split live on by the database, and write few heartbeats once it is whole", async () => {
  const { world, nodes } = await startWorld(8);
  for (const [at, node] of nodes.entries()) node.part = at % 2;
  await world.pass(2_000);
  expect(await heartbeatsPerSecond(world)).toBeGreaterThan(2);
  for (const node of nodes) node.part = 0;
  await world.pass(10_000);
  expect(await heartbeatsPerSecond(world)).toBeLessThan(0.3);
  expect(world.judgements).toEqual([]);
});

test.for([
  ["works", false, 3_200],
  ["is idle", true, RARE_HEARTBEAT_MS + 3_200],
] as const)(
  "a node that does not reach the database, and %s, is dead to the others, and takes no messages itself",
  async ([, isIdle, mostMs]) => {
    const { world, nodes } = await startWorld(6);
    const [cut] = nodes as [GossipNode];
    cut.isIdle = isIdle;
    cut.isCut = true;
    expect(await world.passUntil(() => world.isDeadToAll(cut))).toBeLessThan(mostMs);
    expect(cut.heartbeat.livenessOf(cut.id)).toBe("suspect");
    expect(cut.heartbeat.health).toMatchObject({ ready: false });
    expect(new Set(world.judgements.map(({ judged }) => judged))).toEqual(new Set([cut.id]));
    cut.isCut = false;
    await world.pass(3_000);
    for (const { heartbeat } of nodes) expect(heartbeat.livenessOf(cut.id)).toBe("away");
  },
);

test("a node that the database answers late for a while lives, and nobody doubts it long", async () => {
  const { world, nodes } = await startWorld(6);
  const [late] = nodes as [GossipNode];
  for (let times = 0; times < 5; times += 1) {
    late.isCut = true;
    await world.pass(1_000);
    late.isCut = false;
    await world.pass(2_000);
  }
  expect(world.judgements).toEqual([]);
  for (const { heartbeat } of nodes) expect(["alive", "away"]).toContain(heartbeat.livenessOf(late.id));
  expect(late.heartbeat.health).toEqual({ ready: true });
  expect(await heartbeatsPerSecond(world)).toBeLessThan(0.4);
});

test("nodes that do not reach the database for a while judge none of them dead", async () => {
  const { world, nodes } = await startWorld(6);
  for (const node of nodes) node.isCut = true;
  await world.pass(20_000);
  for (const node of nodes) {
    expect(node.heartbeat.view).toBe("none");
    node.isCut = false;
  }
  await world.pass(10_000);
  expect(world.judgements).toEqual([]);
});

test("nodes that stand still together judge none of them dead", async () => {
  const { world, nodes } = await startWorld(6);
  for (const node of nodes) node.pausedUntilMs = world.nowMs + 30_000;
  await world.pass(60_000);
  expect(world.judgements).toEqual([]);
});

test.for([
  ["ping each other", 1],
  ["only write heartbeats", 100],
] as const)(
  "nodes that %s, with a lease of 5 s, do not judge one that stands still for 4 s, and one that dies after 5 s",
  async ([, gossipAbove]) => {
    const { world, nodes } = await startWorld(6, { gossipAbove, deadAfterMs: 5_000 });
    const [still, dead] = nodes as [GossipNode, GossipNode];
    still.pausedUntilMs = world.nowMs + 4_000;
    await world.pass(20_000);
    expect(world.judgements).toEqual([]);
    for (const { heartbeat } of nodes) expect(heartbeat.livenessOf(still.id)).toBe("alive");
    world.kill(dead);
    const ms = await world.passUntil(() => world.isDeadToAll(dead));
    expect(ms).toBeGreaterThan(4_500);
    expect(ms).toBeLessThan(6_700);
  },
);

test("a node that stood still is away in the eyes of all when it is back", async () => {
  const { world, nodes } = await startWorld(6);
  const [still] = nodes as [GossipNode];
  still.pausedUntilMs = world.nowMs + 5_000;
  await world.pass(5_000);
  expect(world.isDeadToAll(still)).toBe(true);
  for (const { own } of world.judgements) expect(own).toBe("suspect");
  await world.pass(2_000);
  for (const { heartbeat } of nodes) expect(heartbeat.livenessOf(still.id)).toBe("away");
  await world.pass(130_000);
  for (const { heartbeat } of nodes) expect(heartbeat.livenessOf(still.id)).toBe("alive");
});

test("a node that stood still believes in no death that it was told meanwhile: the dead may be back", async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const { world, nodes } = await startWorld(6, { seed });
    const [judged, still] = nodes as [GossipNode, GossipNode];
    judged.pausedUntilMs = world.nowMs + 4_000;
    still.pausedUntilMs = world.nowMs + 20_000;
    await world.pass(60_000);
    expect(world.judgements.filter(({ judge }) => judge === still.id)).not.toContainEqual(
      expect.objectContaining({ judged: judged.id }),
    );
    expect(world.judgements).toContainEqual(expect.objectContaining({ judged: judged.id }));
  }
});

test("a node tells its news also after it has answered many pings", async () => {
  const { world, nodes } = await startWorld(6);
  const [dead, other, asker] = nodes as [GossipNode, GossipNode, GossipNode];
  world.kill(dead);
  await world.passUntil(() => other.heartbeat.livenessOf(dead.id) === "dead");
  const ping = { from: asker.id, to: other.id, incarnation: 0, speaking: 0, rumors: [] };
  for (let count = 0; count < 50; count += 1)
    expect(await other.heartbeat.receive(gossipMessageToWire(ping))).toMatchObject({
      rumors: [["dead", dead.id, 0, expect.any(String)]],
    });
});

test("of many nodes, only those that are suspected write heartbeats more often", async () => {
  const { world, nodes } = await startWorld(30);
  const before = world.heartbeats;
  for (const suspected of nodes.slice(0, 5)) {
    // So long it cannot deny.
    suspected.pausedUntilMs = world.nowMs + 600;
    const rumors = [{ state: "suspect", node: suspected.id, incarnation: 0 } as const];
    for (const { id, heartbeat } of nodes.slice(6))
      await heartbeat.receive(
        gossipMessageToWire({ from: "node-6", to: id, incarnation: 0, speaking: 0, rumors }),
      );
    await world.pass(1_000);
  }
  await world.pass(5_000);
  expect(world.heartbeats - before).toBeLessThan(4 * nodes.length);
  expect(world.judgements).toEqual([]);
});

test("while a node knows heartbeats alone, all write them as often, and gossip again once it is dead", async () => {
  const { world } = await startWorld(4);
  const [former] = (await world.start(1, "heartbeats")) as [GossipNode];
  await world.pass(1_000);
  expect(await heartbeatsPerSecond(world)).toBeGreaterThan(2.5);
  for (const { heartbeat } of world.living)
    for (const { id } of world.living) expect(heartbeat.livenessOf(id)).not.toBe("dead");
  expect(world.judgements).toEqual([]);
  world.kill(former);
  expect(await world.passUntil(() => world.isDeadToAll(former))).toBeLessThan(2_500);
  await world.pass(RARE_HEARTBEAT_MS);
  expect(await heartbeatsPerSecond(world)).toBeLessThan(0.3);
  expect(new Set(world.judgements.map(({ judged }) => judged))).toEqual(new Set([former.id]));
});

test("a node that another one judges dead does not trust itself, whatever happens to nodes, network and database", async () => {
  let count = 0;
  for (let seed = 1; seed <= 30; seed += 1) {
    const random = createRandom(seed);
    const { world, nodes } = await startWorld(3 + random.below(4), {
      seed,
      lossPercent: random.below(2) * 5,
      throttledPercent: random.below(2) * 30,
    });
    for (let fault = 0; fault < 8; fault += 1) {
      const node = nodes[random.below(nodes.length)] as GossipNode;
      const ms = random.below(9_000);
      const kind = random.below(5);
      if (kind === 0) node.pausedUntilMs = world.nowMs + ms;
      else if (kind === 1) node.isCut = true;
      else if (kind === 2) node.part = 1;
      else if (kind === 3) node.isMute = true;
      else node.isDeaf = true;
      await world.pass(random.below(ms + 1_000));
      if (random.below(2) === 0) continue;
      mend(nodes);
    }
    mend(nodes);
    for (const { own, judge, judged, atMs } of world.judgements) {
      count += 1;
      expect({ own, seed, judge, judged, atMs }).not.toMatchObject({ own: "alive" });
    }
    await world.pass(30_000);
    for (const { heartbeat } of nodes)
      for (const { id } of nodes) expect(["alive", "away"]).toContain(heartbeat.livenessOf(id));
    expect(await heartbeatsPerSecond(world)).toBeLessThan(0.6);
  }
  expect(count).toBeGreaterThan(30);
});

test("a node that joins is known to all at once, also to those that its greeting does not reach", async () => {
  const { world } = await startWorld(20, { lossPercent: 30 });
  const [joined] = (await world.start(1)) as [GossipNode];
  const knows = ({ heartbeat }: GossipNode): boolean => heartbeat.find(joined.id)?.state === "active";
  expect(await world.passUntil(() => world.nodes.every(knows))).toBeLessThan(RARE_HEARTBEAT_MS);
});

test("a node that joins many sends few messages, and they send few more; all know it soon, and that it leaves at once", async () => {
  const { world, nodes } = await startWorld(60, BAD);
  const before = { messages: world.messages, rows: world.rows };
  const joined = world.launch();
  const knows = ({ heartbeat }: GossipNode): boolean => heartbeat.find(joined.id)?.state === "active";
  const ms = await world.passUntil(() => nodes.every(knows));
  expect(ms).toBeLessThan(3_000);
  // The usual pings of all are among them.
  expect(world.messages - before.messages).toBeLessThan(nodes.length * (15 + ms / 40));
  // It has read the rows itself, and hardly another one has.
  expect(world.rows - before.rows).toBeLessThan(10 * nodes.length);
  expect(joined.sent).toBeLessThan(30 + ms / 40);
  void joined.heartbeat.leave({ tell: true });
  expect(await world.passUntil(() => world.isDeadToAll(joined))).toBeLessThan(1_500);
  expect(world.judgements.filter(({ judged }) => judged !== joined.id)).toEqual([]);
});

test("a node that dies soon after it has joined many is found as soon as another one", async () => {
  const { world } = await startWorld(100);
  const [joined] = (await world.start(1)) as [GossipNode];
  await world.pass(1_000);
  world.kill(joined);
  expect(await world.passUntil(() => world.isDeadToAll(joined))).toBeLessThan(4_000);
});

test("nodes of the version before hear of a node of this one that joins, drains or leaves, and this one of them", async () => {
  const { world, nodes } = await startWorld(20);
  const former = await world.start(20, "before");
  await world.pass(RARE_HEARTBEAT_MS);
  const all = [...nodes, ...former];
  for (const version of ["this", "before"] as const) {
    const node = world.launch(version);
    for (const state of ["active", "draining", "left"] as const) {
      if (state === "draining") void node.heartbeat.drain();
      if (state === "left") void node.heartbeat.leave({ tell: true });
      const knows = ({ heartbeat }: GossipNode): boolean => heartbeat.find(node.id)?.state === state;
      expect(await world.passUntil(() => all.every(knows))).toBeLessThan(1_000);
    }
    world.kill(node);
  }
  await world.pass(RARE_HEARTBEAT_MS);
  for (const { heartbeat } of all) for (const { id } of all) expect(heartbeat.livenessOf(id)).toBe("alive");
});

test("a node that is not known is looked for before it counts as dead", async () => {
  const { world, nodes } = await startWorld(4, { losesGreetings: true });
  const [reader] = nodes as [GossipNode];
  expect(reader.heartbeat.livenessOf("gone")).toBe("suspect");
  await world.pass(100);
  expect(reader.heartbeat.livenessOf("gone")).toBe("dead");
});

test("a node that leaves is dead to all at once", async () => {
  const { world, nodes } = await startWorld(6);
  const [leaving] = nodes as [GossipNode];
  void leaving.heartbeat.leave({ tell: true });
  expect(await world.passUntil(() => world.isDeadToAll(leaving))).toBeLessThan(200);
});
