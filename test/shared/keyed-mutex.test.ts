import { expect, test } from "vitest";
import { KeyedMutex } from "../../src/shared/keyed-mutex.ts";

test("the work of one key begins when the work before it has ended, however it ended", async () => {
  const mutex = new KeyedMutex();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const work =
    (name: string, until: Promise<void> = Promise.resolve()) =>
    async (): Promise<string> => {
      seen.push(name);
      await until;
      return name;
    };
  const one = mutex.run("a", work("one", first.promise));
  const two = mutex.run("a", work("two"));
  const other = mutex.run("b", work("other"));
  expect(await other).toBe("other");
  expect(seen).toEqual(["one", "other"]);
  first.reject(new Error("failed"));
  await expect(one).rejects.toThrow("failed");
  expect(await two).toBe("two");
  expect(await mutex.run("a", work("three"))).toBe("three");
  expect(seen).toEqual(["one", "other", "two", "three"]);
});
