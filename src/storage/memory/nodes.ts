import type { NodeDirectory, NodeEntry, NodePresence } from "../../ports/node-directory.ts";

/** A row without a beat for this long is removed, in milliseconds. */
const FORGET_MS = 3_600_000;

/** The table of nodes in memory. */
export function memoryNodes(now: () => number): NodeDirectory {
  const rows = new Map<string, { readonly self: NodePresence; readonly atMs: number }>();
  return {
    async beat(self) {
      const nowMs = now();
      rows.set(self.node, { self, atMs: nowMs });
      const entries: NodeEntry[] = [];
      for (const [node, { self: row, atMs }] of rows) {
        if (nowMs - atMs > FORGET_MS) rows.delete(node);
        else entries.push({ ...row, ageMs: nowMs - atMs });
      }
      return entries;
    },
  };
}
