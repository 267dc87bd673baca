import type { LifeRumor, Rumor } from "./gossip-messages.ts";
import {
  doubtsOthers,
  isDoubted,
  isRare,
  isSuspected,
  lateMsOf,
  leaseMsOf,
  membershipView,
  still,
  usesGossip,
  withNode,
} from "./known-nodes.ts";
import type { KnownNode, Membership, MembershipAction, MembershipStep } from "./known-nodes.ts";
import { hearSelfRumor } from "./node-rows.ts";

/** How long an answer to pings over other nodes is waited for, in milliseconds. A node is not judged dead before a longer time. */
export const RELAYED_MS = 500;

/** How long before a node hears of it a doubt may have begun, in milliseconds: it begins with the pings over others, and is told when none was answered. */
const DOUBTED_BEFORE_MS = RELAYED_MS + 200;

/** A heartbeat or a ping that was sent at `sentMs` was answered. The lease of this node may have run out before. */
export function touch(before: Membership, read: Membership, sentMs: number, now: number): MembershipStep {
  const membership = { ...read, contactMs: Math.max(read.contactMs, sentMs) };
  const own = read.nodes.get(read.self.node);
  if (own === undefined || !isRare(own.presence) || now - before.contactMs <= leaseMsOf(read.self))
    return still(membership);
  const incarnation = read.incarnation + 1;
  return {
    membership: { ...withNode(membership, { ...own, lapsedMs: now }), incarnation },
    actions: [{ type: "tell", rumor: { state: "back", node: read.self.node, incarnation } }],
  };
}

/** This node does not reach the table of nodes. It says so to others, which then look whether the table gets its heartbeats. */
export function lose(before: Membership): MembershipStep {
  const membership = { ...before, steadySinceMs: undefined };
  if (before.steadySinceMs === undefined || !usesGossip(before)) return still(membership);
  const { self, incarnation } = before;
  const rumor = { state: "suspect", node: self.node, incarnation } as const;
  return { membership, actions: [{ type: "tell", rumor }] };
}

/** A heartbeat of this node was answered. If it had none before and has told so, it tells that it lives, unless it tells that it is back. */
export function regain(before: Membership, step: MembershipStep): MembershipStep {
  const { membership, actions } = step;
  const hasTold = actions.some(({ type }) => type === "tell");
  if (before.steadySinceMs !== undefined || !usesGossip(before) || hasTold) return step;
  const incarnation = membership.incarnation + 1;
  const rumor = { state: "alive", node: before.self.node, incarnation } as const;
  return { membership: { ...membership, incarnation }, actions: [...actions, { type: "tell", rumor }] };
}

/** A node has answered the ping of `sentMs`. */
export interface Acknowledged {
  readonly type: "acknowledged";
  readonly node: string;
  readonly incarnation: number;
  readonly sentMs: number;
}

/**
 * Takes the answer of a node as a lease. It is none for a node that does not reach the table of nodes, that doubts another one, or
 * that others doubt, because then the table decides.
 */
export function takeAnswer(
  before: Membership,
  { node, incarnation, sentMs }: Acknowledged,
  now: number,
): MembershipStep {
  if (before.steadySinceMs === undefined) return still(before);
  const known = before.nodes.get(node);
  const isNews = known !== undefined && !known.isDead && incarnation > known.incarnation;
  const heard = isNews ? withNode(before, { ...known, incarnation }) : before;
  const after = trust(heard, node, sentMs, now);
  const isLease = !doubtsOthers(before) && !isDoubted(before, now);
  return isLease ? touch(before, after, sentMs, now) : still(after);
}

/**
 * A node has proved that it lived after `sentMs`. If this one has doubted it, the network was at fault, and may have been for its other
 * suspects too.
 */
function trust(before: Membership, node: string, sentMs: number, now: number): Membership {
  const known = before.nodes.get(node);
  if (known?.suspicion === undefined || sentMs <= known.suspicion.sinceMs) return before;
  const after = withNode(before, { ...known, suspicion: undefined });
  return known.suspicion.isOwn ? restart(after, now) : after;
}

/** Lets this node doubt from now on those that it doubts. */
function restart(before: Membership, now: number): Membership {
  const { reached, missed } = before;
  const suspicion = { sinceMs: now, isOwn: true, readMs: undefined, reached, missed };
  let { nodes } = before;
  for (const known of nodes.doubted)
    if (known.suspicion?.isOwn === true) nodes = nodes.with({ ...known, suspicion });
  return { ...before, nodes };
}

/** A node was pinged, perhaps over others. If this one stood still meanwhile, an answer may have come in time. */
export interface Probed {
  readonly type: "probed";
  readonly node: string;
  /** When the ping over others was sent, if the first one was not answered. */
  readonly sentMs: number;
  readonly isReached: boolean;
}

/** Begins to doubt a node that was not reached. */
export function probe(before: Membership, { node, sentMs, isReached }: Probed, now: number): MembershipStep {
  if (isReached) return still(trust({ ...before, reached: before.reached + 1 }, node, sentMs, now));
  const known = before.nodes.get(node);
  if (known === undefined || known.isDead || known.suspicion?.isOwn === true) return still(before);
  if (now - before.tickedMs > lateMsOf(before.self) || membershipView(before, now) !== "steady")
    return still(before);
  const { reached, missed } = before;
  const suspicion = { sinceMs: sentMs, isOwn: true, readMs: undefined, reached, missed: missed + 1 };
  const rumor = { state: "suspect", node, incarnation: known.incarnation } as const;
  return {
    membership: { ...withNode(before, { ...known, suspicion }), missed: missed + 1 },
    actions: [{ type: "tell", rumor }, { type: "beat" }],
  };
}

/** Notices whether this node stood still. Then the others may have stood still with it. */
export function tick(before: Membership, now: number): Membership {
  if (now - before.tickedMs <= lateMsOf(before.self)) return { ...before, tickedMs: now };
  let { nodes } = before;
  for (const known of nodes.doubted) nodes = nodes.with({ ...known, suspicion: undefined });
  const steadySinceMs = before.steadySinceMs === undefined ? undefined : now;
  return { ...before, tickedMs: now, nodes, steadySinceMs };
}

/**
 * Takes what other nodes tell. What is new here is passed on. While this node stood still, a death may have become old: the dead may be
 * back. So it is only a suspicion then. `changesNodes`: one has said something new about itself, is dead, or lives again.
 */
export function hearRumors(
  before: Membership,
  rumors: readonly Rumor[],
  now: number,
): { readonly step: MembershipStep; readonly changesNodes: boolean } {
  const stoodStill =
    now - before.tickedMs > lateMsOf(before.self) || membershipView(before, now) !== "steady";
  let after = before;
  let changesNodes = false;
  const actions: MembershipAction[] = [];
  // First, so that the others are about nodes that are known.
  for (const rumor of rumors) {
    if (rumor.state !== "said" || rumor.node === before.self.node) continue;
    const known = after.nodes.get(rumor.node);
    const heard = hearSelfRumor(known, rumor, before, now);
    if (heard === known) continue;
    changesNodes = true;
    after = withNode(after, heard);
    actions.push({ type: "tell", rumor });
  }
  for (const told of rumors) {
    if (told.state === "said") continue;
    if (told.node === before.self.node) {
      const denial = deny(after, told, now);
      after = denial.membership;
      actions.push(...denial.actions);
      continue;
    }
    const { node, incarnation } = told;
    const rumor: LifeRumor =
      told.state === "dead" && stoodStill ? { state: "suspect", node, incarnation } : told;
    const known = after.nodes.get(node);
    if (known === undefined) {
      if (rumor.state === "alive" || rumor.state === "back") actions.push({ type: "beat" });
      continue;
    }
    const heard = hear(known, rumor, now);
    if (heard === known) continue;
    changesNodes ||= heard.isDead !== known.isDead;
    after = withNode(after, heard);
    if (known.suspicion?.isOwn === true && rumor.state === "alive") after = restart(after, now);
    actions.push({ type: "tell", rumor });
  }
  return { step: { membership: after, actions }, changesNodes };
}

/** What this node knows of another one after a rumor: the same object if it is no news. */
function hear(known: KnownNode, rumor: LifeRumor, now: number): KnownNode {
  const { incarnation } = rumor;
  switch (rumor.state) {
    case "alive":
    case "back": {
      if (incarnation <= known.incarnation) return known;
      const lapsedMs = rumor.state === "back" || known.isDead ? now : known.lapsedMs;
      const seenMs = known.isDead ? now : known.seenMs;
      return { ...known, incarnation, seenMs, lapsedMs, isDead: false, suspicion: undefined };
    }
    case "suspect": {
      if (known.isDead || incarnation < known.incarnation || isSuspected(known, now)) return known;
      const suspicion = { sinceMs: now, isOwn: false, readMs: undefined, reached: 0, missed: 0 };
      return { ...known, incarnation, suspicion };
    }
    case "dead": {
      const { heartbeat } = rumor;
      if (known.isDead || incarnation < known.incarnation || !isRare(known.presence)) return known;
      return { ...known, incarnation, heartbeat, isDead: true, suspicion: undefined };
    }
    default: {
      const never: never = rumor;
      return never;
    }
  }
}

/** Tells that this node lives, if it reaches the table of nodes. */
function deny(known: Membership, { state, incarnation: heard }: LifeRumor, now: number): MembershipStep {
  if (state === "alive" || state === "back") return still(known);
  // For the node that doubts, an answer of another one since the doubt began is no lease; a heartbeat is.
  const contactMs = Math.min(known.contactMs, Math.max(known.renewedMs, now - DOUBTED_BEFORE_MS));
  const before = { ...known, doubtedMs: now, contactMs };
  if (before.steadySinceMs === undefined) return still(before);
  const { node } = before.self;
  const isNew = heard >= before.incarnation;
  const incarnation = isNew ? heard + 1 : before.incarnation;
  const own = before.nodes.get(node);
  const hasLapsed = state === "dead" && isNew && own !== undefined;
  const after = hasLapsed ? withNode(before, { ...own, lapsedMs: now }) : before;
  const rumor = { state: hasLapsed ? ("back" as const) : ("alive" as const), node, incarnation };
  return {
    membership: { ...after, incarnation },
    actions: [{ type: "tell", rumor }, ...(isNew ? [{ type: "renew" } as const] : [])],
  };
}

/** What a node is to be told about itself first. */
export function rumorAbout({ nodes }: Membership, node: string, now: number): LifeRumor | undefined {
  const known = nodes.get(node);
  if (known?.isDead === true) return toDeath(known);
  if (known === undefined || !isSuspected(known, now)) return undefined;
  return { state: "suspect", node, incarnation: known.incarnation };
}

/** The rumor that a node is dead. */
export function toDeath({ presence: { node }, incarnation, heartbeat }: KnownNode): LifeRumor {
  return { state: "dead", node, incarnation, heartbeat };
}
