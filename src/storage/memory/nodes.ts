import type { NodeDirectory, NodePresence, NodeRow } from "../../ports/node-directory.ts";

/** A row without a beat for this long is removed, in milliseconds. */
const FORGET_MS = 3_600_000;

/** The table of nodes in memory. */
export function memoryNodes(now: () => number): NodeDirectory {
  const rows = new Map<
    string,
    { readonly self: NodePresence; readonly beat: string; readonly atMs: number }
  >();
  let beats = 0;
  return {
    async beat(self) {
      const nowMs = now();
      beats += 1;
      rows.set(self.node, { self, beat: String(beats), atMs: nowMs });
      const entries: NodeRow[] = [];
      for (const [node, { self: row, beat, atMs }] of rows) {
        if (nowMs - atMs > FORGET_MS) rows.delete(node);
        else entries.push({ ...row, beat, ageMs: nowMs - atMs });
      }
      return entries;
    },
  };
}
