/** Some of several items at random, each at most once: all of them in a random order if they are no more than `count`. */
export function sample<Item>(items: readonly Item[], count: number, random: () => number): Item[] {
  // A shuffle that ends after `count` steps, with the moved items beside the list, so that a long list is not copied for few of it.
  const moved = new Map<number, Item>();
  const itemAt = (at: number): Item => moved.get(at) ?? (items[at] as Item);
  return Array.from({ length: Math.min(count, items.length) }, (_, taken) => {
    const at = Math.floor(random() * (items.length - taken));
    const item = itemAt(at);
    moved.set(at, itemAt(items.length - taken - 1));
    return item;
  });
}
