/**
 * Works on several items at once and yields the results in the order of the items. At most `limit` results wait for their
 * reader, so the memory that it takes does not depend on the number of items. A failure is thrown in the place of its result;
 * then no other work starts, and the generator ends when all started work is over.
 */
export async function* mapConcurrent<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  limit: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void> {
  const running: Promise<Result>[] = [];
  try {
    for await (const item of items) {
      const result = work(item);
      // A failure is thrown below, in the order of the items.
      result.catch(() => {});
      running.push(result);
      if (running.length === limit) for (const first of running.splice(0, 1)) yield await first;
    }
    for (const result of running) yield await result;
  } finally {
    await Promise.allSettled(running);
  }
}

/**
 * Works on at most `limit` items at once, without results: the next item begins when the work on any other one ends, so one
 * that takes long does not hold back the others. Rejects with the first failure.
 */
export async function forEachConcurrent<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  if (items.length === 0) return;
  const left = items.values();
  const worker = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
