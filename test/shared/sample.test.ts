import fc from "fast-check";
import { expect, test } from "vitest";
import { sample } from "../../src/shared/sample.ts";
import { createRandom } from "../../src/testing/event-log/random.ts";

test("a sample has as many different items of the list as were asked for, or all of them", () => {
  fc.assert(
    fc.property(fc.nat(20), fc.nat(25), fc.integer(), (length, count, seed) => {
      const random = createRandom(seed);
      const items = Array.from({ length }, (_, at) => at);
      const some = sample(items, count, () => random.below(1_000) / 1_000);
      expect(new Set(some).size).toBe(Math.min(length, count));
      for (const item of some) expect(items).toContain(item);
      expect(items).toEqual(Array.from({ length }, (_, at) => at));
    }),
  );
});

test("each item is as likely as any other one", () => {
  const random = createRandom(1);
  const counts = [0, 0, 0, 0, 0];
  for (let times = 0; times < 5_000; times += 1)
    for (const item of sample([0, 1, 2, 3, 4], 2, () => random.below(2 ** 30) / 2 ** 30))
      counts[item] = (counts[item] ?? 0) + 1;
  for (const count of counts) expect(Math.abs(count - 2_000)).toBeLessThan(200);
});
