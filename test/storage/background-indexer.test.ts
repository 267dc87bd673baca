import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BackgroundIndexer } from "../../src/storage/sql/background-indexer.ts";
import type { IndexProgress } from "../../src/storage/sql/background-indexer.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** An indexer, and how often it has written. `progress` is what each time ends with. */
function begin(progress: () => IndexProgress = () => "done") {
  const written = { times: 0 };
  const indexer = new BackgroundIndexer(async () => {
    written.times += 1;
    return progress();
  });
  return { indexer, written };
}

test("what goes on changing is written once in five seconds", async () => {
  const { indexer, written } = begin();
  for (let step = 0; step < 100; step += 1) {
    indexer.wake();
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(written.times).toBe(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(written.times).toBe(2);
});

test("128 changes are written at once, and others count for nothing", async () => {
  const { indexer, written } = begin();
  for (let change = 0; change < 127; change += 1) indexer.wake();
  for (let other = 0; other < 1_000; other += 1) indexer.wake(0);
  await vi.advanceTimersByTimeAsync(100);
  expect(written.times).toBe(0);
  indexer.wake();
  await vi.advanceTimersByTimeAsync(100);
  expect(written.times).toBe(1);
});

test("what changes while something is written is written later", async () => {
  const { indexer, written } = begin(() => {
    if (written.times === 1) indexer.wake();
    return "done";
  });
  indexer.wake();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(written.times).toBe(1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(written.times).toBe(2);
});

test("it goes on while there is more, and after a failure", async () => {
  const { indexer, written } = begin(() => {
    if (written.times === 3) throw new Error("the disk is full");
    return written.times < 5 ? "more" : "done";
  });
  indexer.wake();
  await vi.advanceTimersByTimeAsync(5_100);
  expect(written.times).toBe(3);
  await vi.advanceTimersByTimeAsync(10_100);
  expect(written.times).toBe(5);
});

test("a closed one writes nothing more", async () => {
  const { indexer, written } = begin();
  indexer.wake();
  await indexer.close();
  indexer.wake();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(written.times).toBe(0);
});
