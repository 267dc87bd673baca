/** The number of letters to add, remove or replace to make one text of the other (Levenshtein distance). */
export function editsBetween(from: string, to: string): number {
  let edits = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 0; row < from.length; row += 1) {
    const next = [row + 1];
    for (let at = 0; at < to.length; at += 1) {
      const replaced = (edits[at] ?? 0) + (from[row] === to[at] ? 0 : 1);
      next.push(Math.min(replaced, (edits[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    edits = next;
  }
  return edits[to.length] ?? 0;
}
