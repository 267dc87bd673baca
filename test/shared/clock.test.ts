import { expect, test } from "vitest";
import { every, pause, pauseUnlessAborted, unlessAborted, within } from "../../src/shared/clock.ts";
import { manualEnvironment } from "../../src/testing/manual-environment.ts";

const never = new Promise<string>(() => {});

test("within gives the result, or nothing after the time limit, and keeps no timer", async () => {
  const clock = manualEnvironment();
  expect(await within(clock, 1_000, Promise.resolve("done"))).toBe("done");
  const late = within(clock, 1_000, never);
  await clock.advance(1_000);
  expect(await late).toBeUndefined();
  const failed = within(clock, 1_000, Promise.reject(new Error("broken")));
  await expect(failed).rejects.toThrow("broken");
  expect(clock.timers).toBe(0);
});

test("a pause rejects with the reason of an abort, or ends early if it is only to be shorter", async () => {
  const clock = manualEnvironment();
  const over = new AbortController();
  const waits = [pause(clock, 1_000, over.signal), unlessAborted(never, over.signal)];
  const shorter = pauseUnlessAborted(clock, 1_000, over.signal);
  over.abort(new Error("enough"));
  for (const wait of waits) await expect(wait).rejects.toThrow("enough");
  await shorter;
  await pauseUnlessAborted(clock, 1_000, over.signal);
  expect(clock.timers).toBe(0);
});

test("a repetition begins its next pause when its work is over, and ends when it is stopped", async () => {
  const clock = manualEnvironment();
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let runs = 0;
  const stop = every(clock, 1_000, () => begun[runs++]?.promise);
  await clock.advance(5_000);
  expect(runs).toBe(1);
  begun[0]?.resolve();
  await clock.advance(1_000);
  expect(runs).toBe(2);
  begun[1]?.resolve();
  stop();
  await clock.advance(5_000);
  expect([runs, clock.timers]).toEqual([2, 0]);
});
