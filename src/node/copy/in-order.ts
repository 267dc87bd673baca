/**
 * Works on several items at once and yields the results in the order of the items. A failure is thrown in the place of
 * its result; then no other work starts, and the generator ends when all started work is over.
 */
export async function* inOrder<Item, Result>(
  items: AsyncIterable<Item>,
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
