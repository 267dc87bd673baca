/** The number of runs that are processed concurrently: enough that each commit contains many of them. */
const AT_ONCE = 64;

/** Processes all items in order, at most `limit` of them at once. */
export async function inLanes<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
  limit: number = AT_ONCE,
): Promise<void> {
  if (items.length === 0) return;
  const left = items.values();
  const lane = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
}
