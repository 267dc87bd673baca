import fc from "fast-check";
import { expect, test } from "vitest";
import { LEASE_MS, membershipView } from "../../src/cluster/known-nodes.ts";
import type { Membership } from "../../src/cluster/known-nodes.ts";
import { initialMembership, livenessOf, transition } from "../../src/cluster/membership.ts";
import type { MembershipFact } from "../../src/cluster/membership.ts";
import type { NodePresence, NodeRow } from "../../src/ports/node-directory.ts";
import { MembershipWorld } from "./membership-world.ts";
import type { Beat, Check, WorldNode } from "./membership-world.ts";

/** Milliseconds: mostly few, sometimes up to a limit. */
function ms(limit: number): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 0, max: Math.min(50, limit) }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: limit }) },
  );
}

const outcome = fc.oneof(
  { weight: 10, arbitrary: fc.constant("answered" as const) },
  { weight: 1, arbitrary: fc.constantFrom("lost" as const, "failed" as const) },
);

/** Heartbeats of nodes that pause for up to 20 s, on an engine that is away for as long. */
const anyBeats = fc.array(
  fc.record({ pauseMs: ms(20_000), thereMs: ms(5_000), backMs: ms(5_000), outcome }),
  { minLength: 20, maxLength: 60 },
);

/** The first heartbeat is answered: before, a node owns nothing. */
const anyNode = fc
  .tuple(fc.record({ pauseMs: ms(3_000), thereMs: ms(500), backMs: ms(500) }), anyBeats)
  .map(([first, beats]): readonly Beat[] => [{ ...first, outcome: "answered" }, ...beats]);

/** Heartbeats of a node that does not pause, on an engine that answers. */
const steadyBeats = fc.array(
  fc.record({
    pauseMs: ms(100),
    thereMs: ms(150),
    backMs: ms(150),
    outcome: fc.constant("answered" as const),
  }),
  { minLength: 60, maxLength: 60 },
);

const steps = fc.array(
  fc.record({
    atMs: fc.integer({ min: 0, max: 20_000 }),
    byMs: fc.oneof(fc.integer({ min: -10_000, max: 10_000 }), fc.constantFrom(7_200_000, -7_200_000)),
  }),
  { maxLength: 3 },
);

/** When the newest heartbeat of a node was stored, of those until a time. */
function newestMs({ storedMs }: WorldNode, untilMs: number): number {
  return storedMs.findLast((atMs) => atMs <= untilMs) ?? -Infinity;
}

/** Checks each judgement: the nodes are those who judge and those who are judged. */
function judgements(
  world: MembershipWorld,
  check: (judge: WorldNode, judged: WorldNode, now: number) => void,
): Check {
  return (now, changed) => {
    for (const action of changed?.actions ?? []) {
      if (action.type !== "dead" || changed === undefined) continue;
      const judged = world.nodes.find(({ id }) => id === action.node);
      if (judged !== undefined) check(changed.node, judged, now);
    }
  };
}

test("a node is judged dead only after its lease has run out, in a steady view, whatever the engine's clock does", () => {
  let count = 0;
  fc.assert(
    fc.property(fc.array(anyNode, { minLength: 2, maxLength: 3 }), steps, (beats, steps) => {
      const world = new MembershipWorld(beats, steps);
      const check = judgements(world, (judge, judged, now) => {
        count += 1;
        // What is stored in the same millisecond may be stored after the answer is made.
        expect(judge.answeredMs - newestMs(judged, judge.answeredMs - 1)).toBeGreaterThan(LEASE_MS);
        expect(membershipView(judge.membership, world.clockOf(judge, now))).toBe("steady");
      });
      world.play(beats, check);
    }),
  );
  expect(count).toBeGreaterThan(100);
});

test("a node that dies is judged dead within five seconds and for good, whatever the engine's clock does", () => {
  fc.assert(
    fc.property(steadyBeats, fc.integer({ min: 1, max: 20 }), steps, (beats, lives, steps) => {
      const all = [beats.slice(0, lives), beats];
      const world = new MembershipWorld(all, steps);
      const [mortal, other] = world.nodes as [WorldNode, WorldNode];
      const seen = new Set<string>();
      world.play(all, (now) => {
        if (mortal.storedMs.length < lives || now < newestMs(mortal, now) + 5_000) return;
        if (other.storedMs.length === beats.length) return;
        seen.add(livenessOf(other.membership, mortal.id, world.clockOf(other, now)));
      });
      expect([...seen]).toEqual(["dead"]);
    }),
  );
});

test("a node that another one judges dead is suspect or away in its own eyes, whatever the engine's clock does", () => {
  let count = 0;
  fc.assert(
    fc.property(fc.array(anyNode, { minLength: 2, maxLength: 3 }), steps, (beats, steps) => {
      const world = new MembershipWorld(beats, steps);
      const check = judgements(world, (_judge, judged, now) => {
        count += 1;
        const own = livenessOf(judged.membership, judged.id, world.clockOf(judged, now));
        expect(["suspect", "away"]).toContain(own);
      });
      world.play(beats, check);
    }),
  );
  expect(count).toBeGreaterThan(100);
});

test("a node that another one knows as alive has its lease, and has had it without a gap for two minutes", () => {
  let count = 0;
  fc.assert(
    fc.property(anyNode, anyNode, (a, b) => {
      const world = new MembershipWorld([a, b]);
      const [sender, receiver] = world.nodes as [WorldNode, WorldNode];
      let longestMs = 0;
      world.play([a, b], (now) => {
        if (livenessOf(receiver.membership, sender.id, world.clockOf(receiver, now)) !== "alive") return;
        count += 1;
        // What was before its first look is not known to the receiver, and what is older than any message does not count.
        const gaps = sender.storedMs.map((endMs, at) => ({
          startMs: sender.storedMs[at - 1] ?? Infinity,
          endMs,
        }));
        const counted = gaps.filter(
          ({ startMs, endMs }) => startMs > receiver.firstMs && endMs <= now && endMs > now - 120_000,
        );
        const lengths = counted.map(({ startMs, endMs }) => endMs - startMs);
        longestMs = Math.max(longestMs, now - newestMs(sender, now), ...lengths);
      });
      expect(longestMs).toBeLessThanOrEqual(LEASE_MS);
    }),
  );
  expect(count).toBeGreaterThan(200);
});

test("a death is reported once, and lasts until the next heartbeat of the node", () => {
  fc.assert(
    fc.property(anyNode, anyNode, steps, (a, b, steps) => {
      const world = new MembershipWorld([a, b], steps);
      /** The newest heartbeats of the dead, by those who have judged them. */
      const dead = new Map<string, string>();
      const wrong: string[] = [];
      world.play([a, b], (now, changed) => {
        if (changed === undefined) return;
        const { node, actions } = changed;
        for (const other of world.nodes) {
          const key = `${node.id} ${other.id}`;
          const isReported = actions.some((action) => action.type === "dead" && action.node === other.id);
          const { isDead = false, heartbeat = "" } = node.membership.nodes.get(other.id) ?? {};
          if (isReported !== (isDead && !dead.has(key))) wrong.push(`${now}: a report about ${key}`);
          if (dead.get(key) === heartbeat && !isDead) wrong.push(`${now}: a return in ${key}`);
          if (isDead) dead.set(key, heartbeat);
          else dead.delete(key);
        }
      });
      expect(wrong).toEqual([]);
    }),
  );
});

const presence = (node: string, state: NodePresence["state"]): NodePresence => ({
  node,
  url: "",
  state,
  agents: {},
});

/** The state of this node and of another one, each 100 ms, while its heartbeats are answered as given. */
function history(
  answers: readonly (readonly [ms: number, other: NodePresence["state"] | "silent" | "failed"])[],
): readonly string[] {
  let membership: Membership = initialMembership(presence("self", "active"));
  let heartbeat = 0;
  let since = 0;
  const seen: string[] = [];
  for (const [now, other] of answers) {
    if (other !== "silent") since = now;
    if (other !== "silent") heartbeat += 1;
    const rows: readonly NodeRow[] = [
      { ...presence("self", "active"), heartbeat: `self ${now}`, ageMs: 0 },
      {
        ...presence("other", other === "silent" || other === "failed" ? "active" : other),
        heartbeat: `other ${heartbeat}`,
        ageMs: now - since,
      },
    ];
    const fact =
      other === "failed" ? { type: "failed" as const } : { type: "answered" as const, rows, sentMs: now };
    const { membership: after, actions } = transition(membership, fact, now);
    membership = after;
    const words = [
      membershipView(membership, now),
      livenessOf(membership, "self", now),
      livenessOf(membership, "other", now),
      ...actions.map((action) => (action.type === "dead" ? `${action.node} dies` : action.type)),
    ];
    seen.push(`${now}: ${words.join(", ")}`);
  }
  return seen;
}

test("the table of states, followed by its clocks", () => {
  expect(
    history([
      [0, "joining"],
      [300, "active"],
      [1_500, "active"],
      [2_700, "silent"],
      [3_000, "silent"],
      [3_300, "silent"],
      [3_600, "active"],
      [3_900, "failed"],
      [4_200, "active"],
      [8_000, "active"],
      [9_000, "active"],
      [10_000, "active"],
      [18_000, "left"],
    ]),
  ).toEqual([
    "0: unsteady, alive, alive",
    "300: unsteady, alive, alive, changed",
    "1500: steady, alive, alive",
    "2700: steady, alive, alive",
    "3000: steady, alive, alive",
    "3300: steady, alive, dead, other dies, changed",
    "3600: steady, alive, away, changed",
    "3900: none, alive, away",
    "4200: unsteady, alive, away",
    "8000: unsteady, away, away",
    "9000: unsteady, away, away",
    "10000: steady, away, away",
    "18000: unsteady, away, dead, other dies, changed",
  ]);
});

test("a node whose row is missing is dead after its lease, and forgotten after an hour", () => {
  const self = { ...presence("self", "active"), ageMs: 0 };
  const other = { ...presence("other", "active"), heartbeat: "other", ageMs: 0 };
  let membership: Membership = initialMembership(self);
  const states: string[] = [];
  let knownMs = 0;
  for (let now = 0; now <= 3_700_000; now += 500) {
    const rows = [{ ...self, heartbeat: `self ${now}` }, ...(now <= 3_000 ? [other] : [])];
    ({ membership } = transition(membership, { type: "answered", rows, sentMs: now }, now));
    if (now >= 3_000 && now <= 5_500) states.push(`${now}: ${livenessOf(membership, "other", now)}`);
    if (membership.nodes.has("other")) knownMs = now;
  }
  expect(states.slice(-2)).toEqual(["5000: dead", "5500: dead"]);
  expect(knownMs).toBeGreaterThan(3_590_000);
  expect(knownMs).toBeLessThan(3_610_000);
});

test("the answer of a node that doubts this one is no lease, and a heartbeat is", () => {
  const all = ["self", "one", "two"].map((node) => ({
    ...presence(node, "active"),
    gossip: "used" as const,
  }));
  const [self] = all as [NodePresence];
  const rows = all.map((row) => ({ ...row, heartbeat: row.node, ageMs: 0 }));
  let membership = initialMembership({ ...self, gossip: "able" });
  const learn = (fact: MembershipFact, now: number): void => {
    ({ membership } = transition(membership, fact, now));
  };
  const own = (now: number): string => livenessOf(membership, "self", now);
  learn({ type: "answered", rows, sentMs: 0 }, 0);
  for (let now = 300; now <= 12_000; now += 300) learn({ type: "renewed", sentMs: now }, now);
  learn({ type: "acknowledged", node: "one", incarnation: 0, sentMs: 12_010 }, 12_020);
  for (let now = 12_300; now <= 13_500; now += 300) {
    learn({ type: "ticked" }, now);
    learn({ type: "told", rumors: [{ state: "suspect", node: "self", incarnation: 0 }] }, now);
    learn({ type: "acknowledged", node: "one", incarnation: 0, sentMs: now }, now);
    learn({ type: "acknowledged", node: "two", incarnation: 0, sentMs: now }, now);
  }
  // The doubt of which it has heard at 12,300 may have begun before the answer at 12,010, so its lease is that of its heartbeat.
  expect([own(13_500), own(13_501)]).toEqual(["alive", "suspect"]);
  learn({ type: "renewed", sentMs: 13_490 }, 13_500);
  expect([own(14_990), own(14_991)]).toEqual(["alive", "suspect"]);
});

test("a node that has had no answer for longer than its lease is suspect in its own eyes, and away when it is back", () => {
  const { membership } = transition(
    initialMembership(presence("self", "active")),
    {
      type: "answered",
      sentMs: 1_000,
      rows: [{ ...presence("self", "active"), heartbeat: "1", ageMs: 0 }],
    },
    1_010,
  );
  const own = (now: number, known = membership): string =>
    `${membershipView(known, now)}, ${livenessOf(known, "self", now)}`;
  expect(own(2_500)).toBe("unsteady, alive");
  expect(own(2_505)).toBe("unsteady, suspect");
  expect(own(2_511)).toBe("none, suspect");
  const { membership: back } = transition(
    membership,
    {
      type: "answered",
      sentMs: 4_000,
      rows: [{ ...presence("self", "active"), heartbeat: "2", ageMs: 0 }],
    },
    4_010,
  );
  expect(own(4_010, back)).toBe("unsteady, away");
});
