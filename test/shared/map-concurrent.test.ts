import fc from "fast-check";
import { expect, test } from "vitest";
import { forEachConcurrent, mapConcurrent } from "../../src/shared/map-concurrent.ts";

/** Work on numbers that ends when the test says so; counts how much runs at once. */
class Work {
  readonly begun: number[] = [];
  readonly #running = new Map<number, PromiseWithResolvers<number>>();
  most = 0;

  readonly do = (item: number): Promise<number> => {
    const running = Promise.withResolvers<number>();
    this.begun.push(item);
    this.#running.set(item, running);
    this.most = Math.max(this.most, this.#running.size);
    return running.promise;
  };

  get running(): readonly number[] {
    return [...this.#running.keys()];
  }

  async end(item: number, error?: Error): Promise<void> {
    const running = this.#running.get(item);
    this.#running.delete(item);
    if (error) running?.reject(error);
    else running?.resolve(item * 10);
    // Lets everything go on that does not wait for other work.
    await new Promise(setImmediate);
  }
}

async function collect<Item>(items: AsyncIterable<Item>, into: Item[]): Promise<void> {
  for await (const item of items) into.push(item);
}

test("whatever ends first, all items are worked on, at most so many at once, and the results are in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 1, max: 5 }),
      fc.infiniteStream(fc.nat()),
      async (count, limit, picks) => {
        const items = Array.from({ length: count }, (_, at) => at);
        const [mapped, each] = [new Work(), new Work()];
        const results: number[] = [];
        const ended = Promise.all([
          collect(mapConcurrent(items, limit, mapped.do), results),
          forEachConcurrent(items, limit, each.do),
        ]);
        await new Promise(setImmediate);
        for (const work of [mapped, each])
          while (work.running.length > 0)
            await work.end(work.running[picks.next().value % work.running.length] as number);
        await ended;
        for (const work of [mapped, each]) {
          expect(work.begun).toEqual(items);
          expect(work.most).toBe(Math.min(limit, count));
        }
        expect(results).toEqual(items.map((item) => item * 10));
      },
    ),
    { numRuns: 50 },
  );
});

test("work that takes long holds no other work back where nobody waits for results", async () => {
  const work = new Work();
  const ended = forEachConcurrent([1, 2, 3, 4], 2, work.do);
  await work.end(2);
  await work.end(3);
  await work.end(4);
  expect(work.running).toEqual([1]);
  await work.end(1);
  await ended;
});

test("a failure takes the place of its result; nothing else begins, and what runs is waited for", async () => {
  const work = new Work();
  const results: number[] = [];
  let isOver = false;
  const ended = collect(mapConcurrent([1, 2, 3, 4, 5], 3, work.do), results).finally(() => (isOver = true));
  const outcome = Promise.allSettled([ended]);
  await new Promise(setImmediate);
  await work.end(2, new Error("broken"));
  expect(results).toEqual([]);
  await work.end(1);
  expect(results).toEqual([10]);
  for (const item of work.running.filter((item) => item !== 3)) await work.end(item);
  expect(isOver).toBe(false);
  await work.end(3);
  expect(await outcome).toMatchObject([{ status: "rejected", reason: { message: "broken" } }]);
  expect(work.begun).not.toContain(5);
});
