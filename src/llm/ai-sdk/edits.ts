/**
 * The number of letters to add, remove, replace or swap with the next one to make one text of the other (the optimal string
 * alignment distance).
 */
export function editsBetween(from: string, to: string): number {
  let before: readonly number[] = [];
  let edits = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 0; row < from.length; row += 1) {
    const next = [row + 1];
    for (let at = 0; at < to.length; at += 1) {
      const replaced = (edits[at] ?? 0) + (from[row] === to[at] ? 0 : 1);
      const isSwap = row > 0 && at > 0 && from[row] === to[at - 1] && from[row - 1] === to[at];
      const swapped = isSwap ? (before[at - 1] ?? 0) + 1 : Infinity;
      next.push(Math.min(replaced, swapped, (edits[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    before = edits;
    edits = next;
  }
  return edits[to.length] ?? 0;
}
