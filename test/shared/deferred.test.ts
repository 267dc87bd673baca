import { expect, test } from "vitest";
import { Deferred } from "../../src/shared/deferred.ts";

test("whoever waits gets the first value, whether before or after it is given", async () => {
  const deferred = new Deferred<string>();
  const early = deferred.promise;
  deferred.resolve("one");
  deferred.resolve("two");
  expect(await early).toBe("one");
  expect(await deferred.promise).toBe("one");
  const unseen = new Deferred<string | undefined>();
  unseen.resolve(undefined);
  unseen.resolve("late");
  expect(await unseen.promise).toBeUndefined();
});
