import type { NodePresence, NodeRow } from "../ports/node-directory.ts";
import type { Rumor } from "./gossip-messages.ts";
import {
  NodeMap,
  isRare,
  isSuspected,
  leaseMsOf,
  membershipView,
  peersOf,
  rareLeaseMsOf,
  still,
  usesGossip,
} from "./known-nodes.ts";
import type {
  KnownNode,
  Liveness,
  Membership,
  MembershipAction,
  MembershipStep,
  NodeChange,
} from "./known-nodes.ts";
import { readRows, renew } from "./node-rows.ts";
import { hearRumors, lose, probe, regain, takeAnswer, tick, toDeath, touch } from "./suspicion.ts";
import type { Acknowledged, Probed } from "./suspicion.ts";

/** In this time a node that doubts, and lives, writes a heartbeat, in milliseconds. */
const PROOF_MS = 700;

/** How long after its return this node is away, in milliseconds: as long as its router sends a message again. */
const SELF_AWAY_MS = 10_000;

/** How long after its return another node is away, in milliseconds: a transport delivers no older message. */
const OTHER_AWAY_MS = 120_000;

/**
 * What a membership learns: that the table of nodes has answered the heartbeat that was sent at `sentMs`, with rows or without, that
 * it has not, what this node says about itself from now on, that a node has answered the ping of `sentMs`, whether one was reached
 * at last, what nodes tell about themselves and each other, or that this node runs.
 */
export type MembershipFact =
  | { readonly type: "answered"; readonly rows: readonly NodeRow[]; readonly sentMs: number }
  | { readonly type: "renewed"; readonly sentMs: number }
  | { readonly type: "failed" }
  | { readonly type: "said"; readonly self: NodePresence }
  | Acknowledged
  | Probed
  | { readonly type: "told"; readonly rumors: readonly Rumor[] }
  | { readonly type: "ticked" };

/** What a node knows before its first heartbeat. */
export function initialMembership(self: NodePresence, gossipAbove: number = Infinity): Membership {
  return {
    self,
    nodes: NodeMap.empty,
    sentMs: -Infinity,
    readMs: -Infinity,
    steadySinceMs: undefined,
    renewedMs: -Infinity,
    gossipAbove,
    incarnation: 0,
    contactMs: -Infinity,
    tickedMs: -Infinity,
    doubtedMs: -Infinity,
    reached: 0,
    missed: 0,
  };
}

/** The membership after a fact at `now`, and what is to be done. */
export function transition(before: Membership, fact: MembershipFact, now: number): MembershipStep {
  switch (fact.type) {
    case "failed":
      return lose(before);
    case "said": {
      const { self } = fact;
      const rumor = { state: "said", node: self.node, presence: self } as const;
      return judge(before, { membership: { ...before, self }, actions: [{ type: "tell", rumor }] }, now);
    }
    case "answered": {
      const running = usesGossip(before) ? tick(before, now) : before;
      const read = touch(running, readRows(running, fact, now), fact.sentMs, now);
      return judge(before, regain(before, read), now);
    }
    case "renewed": {
      const running = tick(before, now);
      return regain(before, touch(running, renew(running, fact.sentMs, now), fact.sentMs, now));
    }
    case "acknowledged":
      return takeAnswer(before, fact, now);
    case "probed":
      return probe(before, fact, now);
    case "told": {
      const { step, changesNodes } = hearRumors(before, fact.rumors, now);
      // Else nothing that decides a judgement has changed since the newest answer of the table of nodes.
      return changesNodes ? judge(before, step, now) : step;
    }
    case "ticked":
      return still(tick(before, now));
    default: {
      const never: never = fact;
      return never;
    }
  }
}

/** The state of a node; `dead` for one that is not known. */
export function livenessOf(membership: Membership, node: string, now: number): Liveness {
  const { self, nodes, sentMs, renewedMs, contactMs } = membership;
  const known = nodes.get(node);
  const isSelf = node === self.node;
  if (known === undefined) return isSelf ? "suspect" : "dead";
  if (known.isDead) return "dead";
  if (isRare(known.presence)) {
    const isOut = isSelf ? now - renewedMs > rareLeaseMsOf(self) : isSuspected(known, now);
    if (isOut || now - contactMs > leaseMsOf(self)) return "suspect";
    // The age is that at some moment after the heartbeat of this node was sent.
  } else if (known.ageMs + now - sentMs > leaseMsOf(known.presence)) return "suspect";
  return now - known.lapsedMs > (isSelf ? SELF_AWAY_MS : OTHER_AWAY_MS) ? "alive" : "away";
}

/**
 * Judges the other nodes, and finds what has changed. A node is dead when this one has seen no new heartbeat for a lease, by
 * its own clock: that of the engine may be set.
 */
function judge(
  before: Membership,
  { membership: read, actions }: MembershipStep,
  now: number,
): MembershipStep {
  const isSteady = membershipView(read, now) === "steady";
  const canDoubt = reachesHalf(read);
  let { nodes } = read;
  const all: MembershipAction[] = [];
  for (const known of read.nodes.values) {
    const isGone = known.presence.state === "left" || isOver(known, read, { isSteady, canDoubt });
    const isDead = known.presence.node !== read.self.node && isGone;
    if (isDead !== known.isDead) nodes = nodes.with({ ...known, isDead });
    if (isDead && !known.isDead && isRare(known.presence)) all.push({ type: "tell", rumor: toDeath(known) });
  }
  const membership = { ...read, nodes, self: { ...read.self, ...wayOf({ ...read, nodes }) } };
  const changes = nodes.changesSince(before.nodes);
  for (const { was, is } of changes)
    if (was?.isDead === false && is?.isDead !== false) all.push({ type: "dead", node: was.presence.node });
  const others = changes.filter(({ was, is }) => (was ?? is)?.presence.node !== read.self.node);
  if (membership.self.state !== before.self.state || others.some(hasOtherOwner))
    all.push({ type: "changed" });
  all.push(...actions);
  if (membership.self.gossip !== read.self.gossip) all.push({ type: "beat" });
  return { membership, actions: all };
}

/** Whether the lease of a node is over. */
function isOver(
  known: KnownNode,
  { sentMs, reached, missed }: Membership,
  { isSteady, canDoubt }: { readonly isSteady: boolean; readonly canDoubt: boolean },
): boolean {
  const { presence, isDead, seenMs, ageMs, suspicion } = known;
  if (!isRare(presence)) return sentMs - seenMs > leaseMsOf(presence) && (isSteady || isDead);
  if (isDead || !isSteady) return isDead;
  if (sentMs - seenMs > rareLeaseMsOf(presence)) return true;
  if (!canDoubt || suspicion?.readMs === undefined || !suspicion.isOwn) return false;
  if (reached - suspicion.reached <= missed - suspicion.missed) return false;
  return (
    sentMs - Math.max(suspicion.sinceMs, sentMs - ageMs) > leaseMsOf(presence) &&
    sentMs - suspicion.readMs >= PROOF_MS
  );
}

/**
 * Whether this node doubts at most half of the others. Else it is rather cut off itself, and they may not know that yet, and write
 * rare heartbeats.
 */
function reachesHalf(membership: Membership): boolean {
  const doubted = membership.nodes.doubted.filter(
    ({ suspicion, isDead }) => suspicion?.isOwn === true && !isDead,
  );
  return 2 * doubted.length <= peersOf(membership).length;
}

/** Whether this node is to use gossip: all living nodes can, and they are many. */
function wayOf({ self, nodes, gossipAbove }: Membership): Pick<NodePresence, "gossip"> {
  if (self.gossip === undefined) return {};
  const living = nodes.values.filter(({ presence, isDead }) => presence.node !== self.node && !isDead);
  const canAll = living.every(({ presence }) => presence.gossip !== undefined);
  return { gossip: canAll && living.length + 1 > gossipAbove ? "used" : "able" };
}

/** Whether a change decides which node gets a run: another one is dead or not, or takes runs or not. */
function hasOtherOwner({ was, is }: NodeChange): boolean {
  return ownerState(was) !== ownerState(is);
}

/** The state of a node that may own runs. */
function ownerState(known: KnownNode | undefined): NodePresence["state"] | undefined {
  return known === undefined || known.isDead || known.presence.state === "joining"
    ? undefined
    : known.presence.state;
}
