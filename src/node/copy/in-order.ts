/**
 * Works on several items at once and yields the results in the order of the items. After a failure it starts nothing more
 * and ends when all that it has started is over.
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
      // A failure is reported when it is the turn of this item.
      result.catch(() => {});
      running.push(result);
      if (running.length === limit) for (const first of running.splice(0, 1)) yield await first;
    }
    for (const result of running) yield await result;
  } finally {
    await Promise.allSettled(running);
  }
}
