/** A name as each store can have it: U+0000 and halves of surrogate pairs, which a database cannot store, are replaced. */
export function toStoredName(name: string): string {
  return name.toWellFormed().replaceAll("\u0000", "\uFFFD");
}
