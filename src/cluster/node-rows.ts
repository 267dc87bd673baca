import type { ForgottenRow, NodeRow } from "../ports/node-directory.ts";
import { STATES } from "./gossip-messages.ts";
import type { SelfRumor } from "./gossip-messages.ts";
import {
  NodeMap,
  RARE_HEARTBEAT_MS,
  UNREAD,
  isRare,
  lateMsOf,
  leaseMsOf,
  rareLeaseMsOf,
  rowLeaseMsOf,
  usesGossip,
} from "./known-nodes.ts";
import type { KnownNode, Membership, Suspicion } from "./known-nodes.ts";

/** How long the row of a dead node is kept, in the table of nodes and here, in milliseconds. */
const KEPT_MS = 3_600_000;

/** The rows that the table of nodes need not keep: this node has known for an hour, by its own clock, that their nodes are dead. */
export function forgettable({ nodes }: Membership, now: number): readonly ForgottenRow[] {
  return nodes.values
    .filter(({ isDead, heartbeat, seenMs }) => isDead && heartbeat !== UNREAD && now - seenMs >= KEPT_MS)
    .map(({ presence: { node }, heartbeat }) => ({ node, heartbeat }));
}

/** Takes the rows of an answer. */
export function readRows(
  before: Membership,
  { rows, sentMs }: { readonly rows: readonly NodeRow[]; readonly sentMs: number },
  now: number,
): Membership {
  const nodes = new Map(rows.map((row) => [row.node, toKnown(row, before, sentMs, now)]));
  // A row can be missing although its node lives: the engine has lost it in a crash. A living node writes its row again; until
  // then this node cannot know when it last did.
  const elapsedMs = Math.max(0, sentMs - before.readMs);
  for (const known of before.nodes.values) {
    const { node } = known.presence;
    const ageMs = known.ageMs + elapsedMs;
    if (nodes.has(node) || ageMs >= KEPT_MS) continue;
    const seenMs = known.isDead || known.heartbeat === UNREAD ? known.seenMs : now;
    nodes.set(node, { ...known, heartbeat: UNREAD, seenMs, ageMs });
  }
  return { ...renew(before, sentMs, now), nodes: NodeMap.of([...nodes.values()]), sentMs, readMs: now };
}

/** A heartbeat was answered. Whether in time decides whether this node may judge others. */
export function renew(before: Membership, sentMs: number, now: number): Membership {
  const { readMs, renewedMs, steadySinceMs } = before;
  const isInTime = usesGossip(before)
    ? now - renewedMs <= rareLeaseMsOf(before.self) - RARE_HEARTBEAT_MS
    : now - readMs <= lateMsOf(before.self);
  return {
    ...before,
    renewedMs: sentMs,
    tickedMs: now,
    steadySinceMs: isInTime && steadySinceMs !== undefined ? steadySinceMs : now,
  };
}

/** What is known of a node after what it has said about itself: the same object if that is no news. */
export function hearSelfRumor(
  known: KnownNode | undefined,
  { presence }: SelfRumor,
  { sentMs }: Membership,
  now: number,
): KnownNode {
  const isOlder = known && STATES.indexOf(known.presence.state) >= STATES.indexOf(presence.state);
  if (isOlder === true) return known;
  const unread = {
    heartbeat: UNREAD,
    seenMs: now,
    heartbeats: 0,
    sentAfterMs: sentMs,
    ageMs: 0,
    lapsedMs: -Infinity,
    isDead: false,
    incarnation: 0,
    suspicion: undefined,
  };
  return { ...(known ?? unread), presence };
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
    incarnation = 0,
    suspicion,
  } = known?.heartbeat === heartbeat
    ? known
    : {
        ...known,
        // Revives it.
        isDead: false,
        seenMs: now,
        sentAfterMs: isFirst ? -Infinity : before.sentMs,
        heartbeats: (known?.heartbeats ?? -1) + 1,
      };
  const ageMs = Math.max(sentMs - seenMs, Math.min(now - sentAfterMs, rowMs));
  // How old the heartbeat before can have become until this one arrived.
  const gapMs = now - before.sentMs;
  const reachedMs = (known?.ageMs ?? 0) + gapMs - rowMs;
  // It may have been followed by others that this node has not read.
  const isUnsure = isRare(known?.presence ?? presence) || (usesGossip(before) && gapMs > leaseMsOf(presence));
  // A node that was away before this one joined checks itself whether it still owns its runs.
  const hasLapsed =
    !isFirst &&
    (rowMs > rowLeaseMsOf(presence) ||
      (reachedMs > leaseMsOf(presence) && !isUnsure) ||
      (known?.isDead === true && !isDead));
  return {
    presence,
    heartbeat,
    seenMs,
    sentAfterMs,
    heartbeats,
    ageMs,
    lapsedMs: hasLapsed ? now : lapsedMs,
    isDead,
    incarnation,
    suspicion: suspicion && lookAt(suspicion, known?.heartbeat === heartbeat, now),
  };
}

/** A heartbeat that is new since the first look proves that its node has lived at some moment after it. */
function lookAt(suspicion: Suspicion, isSame: boolean, now: number): Suspicion {
  if (suspicion.readMs === undefined) return { ...suspicion, readMs: now };
  return isSame ? suspicion : { ...suspicion, sinceMs: now, readMs: now };
}
