import type { NodeEntry, NodeRow } from "../ports/node-directory.ts";

/** How long a row that is no longer in the table is kept, in milliseconds; as long as the table keeps one. */
const KEPT_MS = 3_600_000;

/** When an answer of the table of nodes was requested and when it arrived, by the monotonic clock of this node. */
export interface ReadTimes {
  readonly askedMs: number;
  readonly now: number;
}

/**
 * The newest beats that this node has read. The age of a beat comes from the engine's clock, and an administrator or NTP
 * may set that clock. So an age is corrected to what this node's own clock allows: a beat is at least as old as the time
 * for which this node has seen it, and was sent after this node requested the rows without it.
 */
export class Beats {
  readonly #seen = new Map<string, Seen>();
  #entries: readonly NodeEntry[] = [];
  #newest: ReadTimes = { askedMs: -Infinity, now: -Infinity };

  /** Takes the rows of an answer; returns them with the corrected ages. */
  read(rows: readonly NodeRow[], times: ReadTimes): readonly NodeEntry[] {
    const entries = rows.map((row) => this.#correct(row, times));
    const kept = this.#missing(rows, times);
    for (const node of this.#seen.keys())
      if (![...entries, ...kept].some((entry) => entry.node === node)) this.#seen.delete(node);
    this.#entries = [...entries, ...kept];
    this.#newest = times;
    return this.#entries;
  }

  /** How many new beats of a node this one has seen after the first. */
  changesOf(node: string): number {
    return this.#seen.get(node)?.changes ?? 0;
  }

  #correct({ beat, ...entry }: NodeRow, times: ReadTimes): NodeEntry {
    const before = this.#seen.get(entry.node);
    const isNew = before?.beat !== beat;
    const seen = isNew
      ? { beat, sinceMs: times.now, sentAfterMs: this.#newest.askedMs, changes: (before?.changes ?? -1) + 1 }
      : before;
    this.#seen.set(entry.node, seen);
    const mostMs = times.now - seen.sentAfterMs;
    const leastMs = times.askedMs - seen.sinceMs;
    return { ...entry, ageMs: Math.max(leastMs, Math.min(mostMs, entry.ageMs)) };
  }

  /**
   * The rows that are no longer there, although their nodes may live: the engine has forgotten them after a step of its
   * clock, or has lost them in a crash. A living node writes its row again.
   */
  #missing(rows: readonly NodeRow[], { askedMs }: ReadTimes): readonly NodeEntry[] {
    const elapsedMs = Math.max(0, askedMs - this.#newest.now);
    return this.#entries
      .filter(({ node }) => !rows.some((row) => row.node === node))
      .map((entry) => ({ ...entry, ageMs: entry.ageMs + elapsedMs }))
      .filter(({ ageMs }) => ageMs < KEPT_MS);
  }
}

/** The newest beat of a node. */
interface Seen {
  readonly beat: string;
  /** Since when this node knows it. */
  readonly sinceMs: number;
  /** When the newest rows without it were requested. */
  readonly sentAfterMs: number;
  readonly changes: number;
}
