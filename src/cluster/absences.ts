import type { NodeEntry } from "../ports/node-directory.ts";

/** How long a message of a node may be late, in milliseconds; a transport delivers no older one. */
const LATE_MS = 120_000;

/** The living nodes that another node may have judged dead a short time ago: their messages may be late. */
export class Absences {
  readonly #deadMs: number;
  /** When each of them was last noticed, by the monotonic clock of this node. */
  readonly #noticedMs = new Map<string, number>();

  /** `deadMs` is the age of its newest beat at which a node is dead. */
  constructor(deadMs: number) {
    this.#deadMs = deadMs;
  }

  /** Compares the rows of the table of nodes with the rows before them, which were requested at `askedMs`. */
  notice(
    rows: readonly NodeEntry[],
    { before, askedMs, now }: { before: readonly NodeEntry[]; askedMs: number; now: number },
  ): void {
    for (const [node, noticedMs] of this.#noticedMs)
      if (now - noticedMs > LATE_MS) this.#noticedMs.delete(node);
    // A sender that was away before this node joined checks itself whether it still owns its runs.
    if (before.length === 0) return;
    for (const { node, ageMs } of rows) {
      const ageBefore = before.find((row) => row.node === node)?.ageMs ?? 0;
      // How old its previous beat can have become before the newest one arrived.
      const reachedMs = ageBefore + now - askedMs - ageMs;
      if (Math.max(ageMs, reachedMs) >= this.#deadMs) this.#noticedMs.set(node, now);
    }
  }

  has(node: string): boolean {
    return this.#noticedMs.has(node);
  }
}
