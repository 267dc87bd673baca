import { expect, test } from "vitest";
import { Semaphore } from "../../src/shared/semaphore.ts";

test("at most so much is done at once, in order, and a failure frees its place", async () => {
  const semaphore = new Semaphore(2);
  const { signal } = new AbortController();
  const begun: number[] = [];
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<number>());
  const done = ends.map(({ promise }, at) =>
    semaphore.run(() => {
      begun.push(at);
      return promise;
    }, signal),
  );
  expect(begun).toEqual([0, 1]);
  ends[1]?.reject(new Error("no"));
  await expect(done[1]).rejects.toThrow("no");
  expect(begun).toEqual([0, 1, 2]);
  for (const at of [0, 2, 3]) ends[at]?.resolve(at);
  expect(await Promise.all([done[0], done[2], done[3]])).toEqual([0, 2, 3]);
  expect(await semaphore.run(async () => "free", signal)).toBe("free");
});

test("who leaves while it waits does nothing and holds nobody back", async () => {
  const semaphore = new Semaphore(1);
  const held = Promise.withResolvers<void>();
  const first = semaphore.run(() => held.promise, new AbortController().signal);
  const leaving = new AbortController();
  let hasBegun = false;
  const left = semaphore.run(async () => void (hasBegun = true), leaving.signal);
  const last = semaphore.run(async () => "last", new AbortController().signal);
  leaving.abort(new Error("enough"));
  await expect(left).rejects.toThrow("enough");
  held.resolve();
  await first;
  expect(await last).toBe("last");
  expect(hasBegun).toBe(false);
  await expect(semaphore.run(async () => "late", leaving.signal)).rejects.toThrow("enough");
});
