import { expect, test } from "vitest";
import { SingleFlight } from "../../src/shared/single-flight.ts";

test("a call while the work runs shares it, and a later one starts it again, also after a failure", async () => {
  const runs: PromiseWithResolvers<number>[] = [];
  const flight = new SingleFlight(() => {
    const run = Promise.withResolvers<number>();
    runs.push(run);
    return run.promise;
  });
  const [one, two] = [flight.run(), flight.run()];
  expect(two).toBe(one);
  expect(flight.running).toBe(one);
  runs[0]?.reject(new Error("failed"));
  await expect(one).rejects.toThrow("failed");
  expect(flight.running).toBeUndefined();
  const three = flight.run();
  expect(runs).toHaveLength(2);
  runs[1]?.resolve(3);
  expect(await three).toBe(3);
});
