import type { ForgottenRow, NodePresence, NodeRow } from "../ports/node-directory.ts";

/** The time between two heartbeats, in milliseconds. */
export const HEARTBEAT_MS = 300;

/** How long a heartbeat is the lease of a node on its runs, in milliseconds. */
export const LEASE_MS = 1_500;

/**
 * After a longer time between two answers, in milliseconds, the view of this node is unsteady: the heartbeats of the others
 * may have waited as long, and the newest one of another node can be older by the time between two heartbeats.
 */
const LATE_MS = LEASE_MS - HEARTBEAT_MS;

/** How long after its return this node is away, in milliseconds: as long as its router sends a message again. */
const SELF_AWAY_MS = 10_000;

/** How long after its return another node is away, in milliseconds: a transport delivers no older message. */
const OTHER_AWAY_MS = 120_000;

/** How long the row of a dead node is kept, in the table of nodes and here, in milliseconds. */
const KEPT_MS = 3_600_000;

/** The name of the newest heartbeat of a node whose row is missing. */
const MISSING = "";

/**
 * The state of a node, this one included. A node has a lease on its runs for `LEASE_MS` after each heartbeat; without a
 * lease, others may take over its runs.
 *
 * | state   | when                                                     | what follows                                           |
 * | ------- | -------------------------------------------------------- | ------------------------------------------------------ |
 * | alive   | it has a lease, and has had one for some time            | it owns its runs, and its messages count               |
 * | suspect | its lease may have run out, and this node cannot tell    | it keeps its runs; as a sender it is checked in the    |
 * |         |                                                          | log; if it is this node, it takes no messages          |
 * | away    | it has a lease again after one that had run out, for 10 s | it keeps the runs that nobody has taken; as a sender  |
 * |         | (this node) or 2 min (another): so late may a message be | it is checked in the log                               |
 * | dead    | its lease has run out in a steady view, or it has left   | others take over its runs; a new heartbeat revives it  |
 *
 * A node never judges itself dead.
 */
export type Liveness = "alive" | "suspect" | "away" | "dead";

/**
 * What this node sees of the table of nodes. `none`: its newest heartbeat failed, or none was answered for `LEASE_MS`.
 * `unsteady`: an answer was late, or the first one came, less than `LEASE_MS` ago. Only a `steady` view judges a node dead,
 * because otherwise all nodes may have paused together.
 */
export type View = "none" | "unsteady" | "steady";

/** The nodes that share a log, as one of them knows them. All times are of its monotonic clock. */
export interface Membership {
  /** What this node says about itself. */
  readonly self: NodePresence;
  /** The nodes of the table, and this one. */
  readonly nodes: ReadonlyMap<string, KnownNode>;
  /** When the newest answered heartbeat was sent, and when its answer arrived. */
  readonly sentMs: number;
  readonly readMs: number;
  /** Since when each answer has come in time; `undefined` while one is missing. */
  readonly steadySinceMs: number | undefined;
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
}

/**
 * What a membership learns: that the table of nodes has answered the heartbeat that was sent at `sentMs`, that it has not, or
 * what this node says about itself from now on.
 */
export type MembershipFact =
  | { readonly type: "answered"; readonly rows: readonly NodeRow[]; readonly sentMs: number }
  | { readonly type: "failed" }
  | { readonly type: "said"; readonly self: NodePresence };

/** What follows from a fact: a node is dead, or other nodes than before may own runs. */
export type MembershipAction =
  | { readonly type: "dead"; readonly node: string }
  | { readonly type: "changed" };

/** What a node knows before its first heartbeat. */
export function initialMembership(self: NodePresence): Membership {
  return { self, nodes: new Map(), sentMs: -Infinity, readMs: -Infinity, steadySinceMs: undefined };
}

/** The membership after a fact at `now`, and what is to be done. */
export function transition(
  before: Membership,
  fact: MembershipFact,
  now: number,
): { readonly membership: Membership; readonly actions: readonly MembershipAction[] } {
  switch (fact.type) {
    case "failed":
      return { membership: { ...before, steadySinceMs: undefined }, actions: [] };
    case "said":
      return judge(before, { ...before, self: fact.self }, now);
    case "answered":
      return judge(before, read(before, fact, now), now);
    default: {
      const never: never = fact;
      return never;
    }
  }
}

/** The state of a node; `dead` for one that is not known. */
export function livenessOf({ self, nodes, sentMs }: Membership, node: string, now: number): Liveness {
  const known = nodes.get(node);
  const isSelf = node === self.node;
  if (known === undefined) return isSelf ? "suspect" : "dead";
  if (known.isDead) return "dead";
  // The age is that at some moment after the heartbeat of this node was sent.
  if (known.ageMs + now - sentMs > LEASE_MS) return "suspect";
  return now - known.lapsedMs > (isSelf ? SELF_AWAY_MS : OTHER_AWAY_MS) ? "alive" : "away";
}

/** The rows that the table of nodes need not keep: this node has known for an hour, by its own clock, that their nodes are dead. */
export function forgettable({ nodes }: Membership, now: number): readonly ForgottenRow[] {
  return [...nodes]
    .filter(([, { isDead, heartbeat, seenMs }]) => isDead && heartbeat !== MISSING && now - seenMs >= KEPT_MS)
    .map(([node, { heartbeat }]) => ({ node, heartbeat }));
}

/** The view of this node. */
export function membershipView({ readMs, steadySinceMs }: Membership, now: number): View {
  if (steadySinceMs === undefined || now - readMs > LEASE_MS) return "none";
  return now - steadySinceMs < LEASE_MS ? "unsteady" : "steady";
}

/** Takes the rows of an answer. */
function read(
  before: Membership,
  { rows, sentMs }: MembershipFact & { readonly type: "answered" },
  now: number,
): Membership {
  const nodes = new Map<string, KnownNode>();
  for (const row of rows) nodes.set(row.node, toKnown(row, before, sentMs, now));
  // A row can be missing although its node lives: the engine has lost it in a crash. A living node writes its row again; until
  // then this node cannot know when it last did.
  const elapsedMs = Math.max(0, sentMs - before.readMs);
  for (const [node, known] of before.nodes) {
    const ageMs = known.ageMs + elapsedMs;
    if (nodes.has(node) || ageMs >= KEPT_MS) continue;
    const seenMs = known.isDead || known.heartbeat === MISSING ? known.seenMs : now;
    nodes.set(node, { ...known, heartbeat: MISSING, seenMs, ageMs });
  }
  const { steadySinceMs } = before;
  const isInTime = now - before.readMs <= LATE_MS;
  return {
    ...before,
    nodes,
    sentMs,
    readMs: now,
    steadySinceMs: isInTime && steadySinceMs !== undefined ? steadySinceMs : now,
  };
}

/**
 * Takes a row. Its age comes from the engine's clock, and an administrator or NTP may set that clock. So the age is corrected
 * to what the clock of this node allows: a heartbeat is at least as old as the time for which this node has seen it, and was
 * sent after this node requested the rows without it.
 */
function toKnown(
  { heartbeat, ageMs: rowMs, ...presence }: NodeRow,
  before: Membership,
  sentMs: number,
  now: number,
): KnownNode {
  const isFirst = before.nodes.size === 0;
  const known = before.nodes.get(presence.node);
  const {
    seenMs,
    sentAfterMs,
    heartbeats,
    lapsedMs = -Infinity,
    isDead = false,
  } = known?.heartbeat === heartbeat
    ? known
    : {
        ...known,
        seenMs: now,
        sentAfterMs: isFirst ? -Infinity : before.sentMs,
        heartbeats: (known?.heartbeats ?? -1) + 1,
      };
  const ageMs = Math.max(sentMs - seenMs, Math.min(now - sentAfterMs, rowMs));
  // How old the heartbeat before can have become until this one arrived.
  const reachedMs = (known?.ageMs ?? 0) + now - before.sentMs - rowMs;
  // A node that was away before this one joined checks itself whether it still owns its runs.
  const hasLapsed = !isFirst && Math.max(rowMs, reachedMs) > LEASE_MS;
  return {
    presence,
    heartbeat,
    seenMs,
    sentAfterMs,
    heartbeats,
    ageMs,
    lapsedMs: hasLapsed ? now : lapsedMs,
    isDead,
  };
}

/**
 * Judges the other nodes, and finds what has changed. A node is dead when this one has seen no new heartbeat for a lease, by
 * its own clock: that of the engine may be set.
 */
function judge(
  before: Membership,
  read: Membership,
  now: number,
): { readonly membership: Membership; readonly actions: readonly MembershipAction[] } {
  const isSteady = membershipView(read, now) === "steady";
  const nodes = new Map<string, KnownNode>();
  for (const [node, known] of read.nodes) {
    const isOut = read.sentMs - known.seenMs > LEASE_MS && (isSteady || known.isDead);
    const isDead = node !== read.self.node && (known.presence.state === "left" || isOut);
    nodes.set(node, isDead === known.isDead ? known : { ...known, isDead });
  }
  const membership = { ...read, nodes };
  const actions: MembershipAction[] = [];
  for (const [node, { isDead }] of before.nodes)
    if (!isDead && nodes.get(node)?.isDead !== false) actions.push({ type: "dead", node });
  if (owners(membership) !== owners(before)) actions.push({ type: "changed" });
  return { membership, actions };
}

/** The facts that decide which node gets a run, as a text: the nodes that are not dead, and whether they take runs. */
function owners({ self, nodes }: Membership): string {
  const others = [...nodes.values()].filter(({ presence, isDead }) => presence.node !== self.node && !isDead);
  return [self, ...others.map(({ presence }) => presence)]
    .filter(({ state }) => state !== "joining")
    .map(({ node, state }) => `${node} ${state}`)
    .toSorted()
    .join();
}
