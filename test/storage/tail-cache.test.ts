import { expect, test } from "vitest";
import type { RunId } from "../../src/protocol/ids.ts";
import { TailCache } from "../../src/storage/shared/tail-cache.ts";
import { collectGarbage } from "../machine/garbage.ts";

test("dropped runs use no memory", { tags: "long" }, () => {
  const cache = new TailCache(16 * 1024 * 1024);
  cache.add("kept", 1, ["first"], 5);
  comeAndGo(cache, 10_000);
  const before = heapBytes();
  comeAndGo(cache, 100_000);

  expect(heapBytes() - before).toBeLessThan(4 * 1024 * 1024);
  expect(cache.read("kept", { after: 0 })).toEqual(["first"]);
});

test("the oldest events are removed first, also after many runs were dropped", () => {
  const cache = new TailCache(10_000);
  cache.add("oldest", 1, ["first"], 5);
  cache.add("newer", 1, ["first"], 5);
  comeAndGo(cache, 5_000);
  cache.add("large", 1, ["much"], 9_300);

  expect(cache.read("oldest", { after: 0 })).toBeUndefined();
  expect(cache.read("newer", { after: 0 })).toBeDefined();
  cache.add("large", 2, ["more"], 100);
  expect(cache.read("newer", { after: 0 })).toBeUndefined();
  expect(cache.read("large", { after: 0 })).toEqual(["much", "more"]);
});

function comeAndGo(cache: TailCache, runs: number): void {
  for (let run = 0; run < runs; run += 1) {
    const runId = `run-${run}` as RunId;
    cache.add(runId, 1, ["event"], 5);
    cache.drop(runId);
  }
}

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
