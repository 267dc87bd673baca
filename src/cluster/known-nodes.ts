import type { NodePresence } from "../ports/node-directory.ts";
import type { Rumor } from "./gossip-messages.ts";

/** The time between two heartbeats, in milliseconds. A node that uses gossip pings another one as often. */
export const HEARTBEAT_MS = 300;

/** How long a heartbeat, or an answered ping, is the lease of a node on its runs if its row says nothing else, in milliseconds. */
export const LEASE_MS = 1_500;

/** The time between two heartbeats of a node that uses gossip and has no doubt, in milliseconds. */
export const RARE_HEARTBEAT_MS = 5_000;

/** How long a rare heartbeat is a lease at least, in milliseconds: one is missing and the next one is late. */
const RARE_LEASE_MS = 12_500;

/** The name of the newest heartbeat of a node whose row was not read, or is missing. */
export const UNREAD = "";

/** With more living nodes that have joined since the rows were read, the next rare heartbeat reads them again. */
const MOST_UNREAD = 30;

/** The time between two looks at the rows of the others without a reason, in milliseconds. */
const LOOK_MS = 60_000;

/** After this time without an answered ping or heartbeat a node doubts that others reach it, in milliseconds. */
const SILENT_MS = 1_000;

/** The time between two heartbeats of a node that is doubted by others, in milliseconds. */
export const DOUBTED_HEARTBEAT_MS: number = 2 * HEARTBEAT_MS;

/** How long a suspicion counts that another node has told, in milliseconds. It ends before with a denial or a death. */
const HEARSAY_MS = 5_000;

/** If others doubt more than this share of the nodes, the network may be split, and they may doubt this one too. */
const SPLIT_SHARE = 0.1;

/**
 * The state of a node, this one included. A node has a lease on its runs for 1.5 s, or `deadAfterMs`, after each heartbeat; without a
 * lease, others may take over its runs.
 *
 * | state   | when                                                     | what follows                                           |
 * | ------- | -------------------------------------------------------- | ------------------------------------------------------ |
 * | alive   | it has a lease, and has had one for some time            | it owns its runs, and its messages count               |
 * | suspect | its lease may have run out, and this node cannot tell    | it keeps its runs; as a sender it is checked in the    |
 * |         |                                                          | log; if it is this node, it takes no messages          |
 * | away    | it has a lease again after one that had run out, for 10 s | it keeps the runs that no other node has taken; as a   |
 * |         | (this node) or 2 min (another): so late may a message be | sender it is checked in the log                        |
 * | dead    | its lease has run out in a steady view, or it has left   | others take over its runs; a new heartbeat revives it  |
 *
 * A node never judges itself dead.
 *
 * A node that uses gossip has its lease from two sides: for as long after each answered ping, as long as it reaches the table
 * of nodes. Another one that cannot ping it, not even over others, doubts it and looks into the table. One that lives doubts
 * too, and writes as often as without gossip. So the table is the judge: only a node without a new heartbeat is dead.
 */
export type Liveness = "alive" | "suspect" | "away" | "dead";

/**
 * What this node sees of the table of nodes. `none`: its newest heartbeat failed, or none was answered for a lease.
 * `unsteady`: an answer was late, or the first one came, less than a lease ago. Only a `steady` view judges a node dead,
 * because otherwise all nodes may have paused together.
 */
export type View = "none" | "unsteady" | "steady";

/** The nodes that share a log, as one of them knows them. All times are of its monotonic clock. */
export interface Membership {
  /** What this node says about itself. */
  readonly self: NodePresence;
  /** The nodes of the table, and this one. */
  readonly nodes: NodeMap;
  /** When the newest answered heartbeat was sent, and when its answer arrived. */
  readonly sentMs: number;
  readonly readMs: number;
  /** Since when each answer has come in time; `undefined` while one is missing. */
  readonly steadySinceMs: number | undefined;
  /** When the newest heartbeat was sent that was answered, with rows or without. */
  readonly renewedMs: number;
  /** With more living nodes than this, they use gossip. */
  readonly gossipAbove: number;
  /** Grows each time this node denies a rumor about it. */
  readonly incarnation: number;
  /** When the newest heartbeat or ping that was answered was sent. */
  readonly contactMs: number;
  /** When this node was last seen to run. */
  readonly tickedMs: number;
  /** When this node last heard that another one doubts it. */
  readonly doubtedMs: number;
  /** How many pings were answered, perhaps over others, and how many nodes have begun not to answer. */
  readonly reached: number;
  readonly missed: number;
}

/** The doubt whether a node lives. */
export interface Suspicion {
  readonly sinceMs: number;
  /** Whether it has not answered this node itself. */
  readonly isOwn: boolean;
  /** When this node has first read its row since then, or last seen a new heartbeat in it. */
  readonly readMs: number | undefined;
  /** What this node had `reached` and `missed` then. */
  readonly reached: number;
  readonly missed: number;
}

/** A node as this one knows it. */
export interface KnownNode {
  readonly presence: NodePresence;
  /** The name of its newest heartbeat, since when this node knows it, and how many it has seen after the first. */
  readonly heartbeat: string;
  readonly seenMs: number;
  readonly heartbeats: number;
  /** The newest heartbeat was sent after this. */
  readonly sentAfterMs: number;
  /** The age of its newest heartbeat when the answer arrived. */
  readonly ageMs: number;
  /** When this node last noticed that the lease had run out. */
  readonly lapsedMs: number;
  readonly isDead: boolean;
  /** The newest incarnation that this node has heard of. */
  readonly incarnation: number;
  readonly suspicion: Suspicion | undefined;
}

/**
 * What a node knows of all nodes at one moment, by their ids. A map never changes. One that differs in a node costs the copy of
 * a list of references, because among a thousand nodes something changes many times a second.
 */
export class NodeMap {
  static readonly empty: NodeMap = NodeMap.of([]);

  /** In the order in which they became known. */
  readonly values: readonly KnownNode[];
  /** Those with a suspicion, dead or not. */
  readonly doubted: readonly KnownNode[];
  /** The place of each node in `values`. Later maps share it, and may have added nodes to it. */
  readonly #places: Map<string, number>;
  #peers: readonly KnownNode[] | undefined;

  private constructor(
    values: readonly KnownNode[],
    doubted: readonly KnownNode[],
    places: Map<string, number>,
  ) {
    this.values = values;
    this.doubted = doubted;
    this.#places = places;
  }

  /** A map of nodes with different ids. */
  static of(values: readonly KnownNode[]): NodeMap {
    const places = new Map(values.map(({ presence }, place) => [presence.node, place]));
    return new NodeMap(values, values.filter(hasSuspicion), places);
  }

  get size(): number {
    return this.values.length;
  }

  get(node: string): KnownNode | undefined {
    return this.values[this.#places.get(node) ?? -1];
  }

  has(node: string): boolean {
    return this.get(node) !== undefined;
  }

  /** A map with this in place of what was known of the same node. */
  with(known: KnownNode): NodeMap {
    const { node } = known.presence;
    const before = this.get(node);
    if (before === undefined && this.#places.size > this.size) return NodeMap.of([...this.values, known]);
    const values = this.values.slice();
    const place = this.#places.get(node) ?? values.length;
    values[place] = known;
    this.#places.set(node, place);
    const isSame = before?.suspicion === undefined && known.suspicion === undefined;
    const others = this.doubted.filter(({ presence }) => presence.node !== node);
    const doubted = isSame ? this.doubted : hasSuspicion(known) ? [...others, known] : others;
    return new NodeMap(values, doubted, this.#places);
  }

  /** The nodes that live and can be pinged, without one. */
  peersOf(self: string): readonly KnownNode[] {
    this.#peers ??= this.values.filter(
      ({ presence, isDead }) => presence.node !== self && !isDead && presence.gossip !== undefined,
    );
    return this.#peers;
  }

  /** The nodes that are not the same objects as in an earlier map. */
  changesSince(before: NodeMap): readonly NodeChange[] {
    const changes: NodeChange[] = [];
    for (const [place, after] of this.values.entries()) {
      const same = before.values[place];
      const was = same?.presence.node === after.presence.node ? same : before.get(after.presence.node);
      if (was !== after) changes.push({ was, is: after });
    }
    for (const was of before.values) if (!this.has(was.presence.node)) changes.push({ was, is: undefined });
    return changes;
  }
}

/** A node in two maps. */
export interface NodeChange {
  readonly was: KnownNode | undefined;
  readonly is: KnownNode | undefined;
}

/**
 * What follows from a fact: a node is dead, other nodes than before may own runs, others are to be told, or a heartbeat is due: to read the
 * others (`beat`), or only to show that this one lives (`renew`).
 */
export type MembershipAction =
  | { readonly type: "dead"; readonly node: string }
  | { readonly type: "changed" }
  | { readonly type: "tell"; readonly rumor: Rumor }
  | { readonly type: "beat" | "renew" };

/** A membership, and what follows from how it came to be. */
export interface MembershipStep {
  readonly membership: Membership;
  readonly actions: readonly MembershipAction[];
}

/** The view of this node. */
export function membershipView(membership: Membership, now: number): View {
  const { self, readMs, renewedMs, steadySinceMs, tickedMs } = membership;
  const leaseMs = leaseMsOf(self);
  if (steadySinceMs === undefined) return "none";
  const isOut = usesGossip(membership)
    ? now - renewedMs > rareLeaseMsOf(self) || now - tickedMs > leaseMs
    : now - readMs > leaseMs;
  if (isOut) return "none";
  return now - steadySinceMs < leaseMs ? "unsteady" : "steady";
}

/** How long a heartbeat, or an answered ping, is the lease of a node, in milliseconds. */
export function leaseMsOf({ deadAfterMs }: Pick<NodePresence, "deadAfterMs">): number {
  return deadAfterMs ?? LEASE_MS;
}

/** How long a rare heartbeat is the lease of a node, in milliseconds. */
export function rareLeaseMsOf(presence: Pick<NodePresence, "deadAfterMs">): number {
  return Math.max(RARE_LEASE_MS, leaseMsOf(presence));
}

/** How long a row is the lease of its node, if nothing else tells of it, in milliseconds. */
export function rowLeaseMsOf(presence: Pick<NodePresence, "gossip" | "deadAfterMs">): number {
  return isRare(presence) ? rareLeaseMsOf(presence) : leaseMsOf(presence);
}

/**
 * After a longer time between two answers, in milliseconds, the view of this node is unsteady: the heartbeats of the others
 * may have waited as long, and the newest one of another node can be older by the time between two heartbeats.
 */
export function lateMsOf(presence: Pick<NodePresence, "deadAfterMs">): number {
  return leaseMsOf(presence) - HEARTBEAT_MS;
}

/** Whether this node pings others, and the table of nodes says so. */
export function usesGossip(membership: Membership): boolean {
  return isRare(ownRow(membership));
}

/**
 * Whether others may doubt that this node lives: one of them has said so within the last two leases (who still doubts it repeats that), or
 * they doubt so many nodes that the network may be split. Then its heartbeats tell them that it does.
 */
export function isDoubted({ self, nodes, doubtedMs }: Membership, now: number): boolean {
  if (now - doubtedMs <= 2 * leaseMsOf(self)) return true;
  const suspects = nodes.doubted.filter((known) => !known.isDead && isSuspected(known, now));
  return suspects.length > SPLIT_SHARE * nodes.size;
}

/** Whether this node doubts that another one lives, or that others reach it. Then the table of nodes decides, as without gossip. */
export function isInDoubt(membership: Membership, now: number): boolean {
  return now - membership.contactMs > SILENT_MS || doubtsOthers(membership);
}

/** Whether this node has not reached another one, which may still live. */
export function doubtsOthers({ nodes }: Membership): boolean {
  return nodes.doubted.some(({ suspicion, isDead }) => suspicion?.isOwn === true && !isDead);
}

/**
 * The longest time between two looks at the rows of the others, in milliseconds. Others tell what has changed, except that one of them
 * uses gossip from now on. When many have joined lately, not all of what they said may have arrived.
 */
export function lookMs({ self, nodes }: Membership): number {
  let unread = 0;
  for (const { presence, isDead, heartbeat } of nodes.values) {
    if (isDead || presence.node === self.node) continue;
    if (!isRare(presence)) return RARE_HEARTBEAT_MS;
    if (heartbeat === UNREAD) unread += 1;
  }
  return unread > MOST_UNREAD ? RARE_HEARTBEAT_MS : LOOK_MS;
}

/** The other nodes that can be pinged. */
export function peersOf({ self, nodes }: Membership): readonly KnownNode[] {
  return nodes.peersOf(self.node);
}

/** Whether a node writes a heartbeat only now and then. */
export function isRare({ gossip }: Pick<NodePresence, "gossip">): boolean {
  return gossip === "used";
}

/** Whether somebody has reason to doubt that a node lives. */
export function isSuspected({ suspicion }: KnownNode, now: number): boolean {
  return suspicion !== undefined && (suspicion.isOwn || now - suspicion.sinceMs <= HEARSAY_MS);
}

/** A membership that knows this of a node. */
export function withNode(membership: Membership, known: KnownNode): Membership {
  return { ...membership, nodes: membership.nodes.with(known) };
}

/** A membership from which nothing follows. */
export function still(membership: Membership): MembershipStep {
  return { membership, actions: [] };
}

/** What the table of nodes says of this node. */
function ownRow({ self, nodes }: Membership): Pick<NodePresence, "gossip"> {
  return nodes.get(self.node)?.presence ?? {};
}

function hasSuspicion({ suspicion }: KnownNode): boolean {
  return suspicion !== undefined;
}
