import { expect, test } from "vitest";
import { Gathered } from "../../src/shared/gathered.ts";

/** Work whose ends the test decides. */
function heldWork() {
  const works: { readonly items: readonly number[]; readonly end: PromiseWithResolvers<void> }[] = [];
  const work = (items: readonly number[]): Promise<void> => {
    const end = Promise.withResolvers<void>();
    works.push({ items, end });
    return end.promise;
  };
  return { works, work };
}

test("what comes while work runs goes together into the next, and each gets the end of its own work", async () => {
  const { works, work } = heldWork();
  const gathered = new Gathered(work);
  const first = Promise.all([gathered.add(1), gathered.add(2)]);
  await Promise.resolve();
  const second = [gathered.add(3), gathered.add(4)];
  works[0]?.end.resolve();
  await first;
  expect(works.map(({ items }) => items)).toEqual([
    [1, 2],
    [3, 4],
  ]);
  works[1]?.end.reject(new Error("failed"));
  expect((await Promise.allSettled(second)).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const third = gathered.add(5);
  await Promise.resolve();
  works[2]?.end.resolve();
  await third;
});

test("items of one work weigh no more than the limit, except a single one", async () => {
  const taken: (readonly number[])[] = [];
  const gathered = new Gathered<number>(async (items) => void taken.push(items), {
    weigh: (item) => item,
    limit: 10,
  });
  await Promise.all([3, 4, 5, 99, 1, 9].map((item) => gathered.add(item)));
  expect(taken).toEqual([[3, 4], [5], [99], [1, 9]]);
});
