import { expect, test } from "vitest";
import { pagesOf } from "../../src/shared/pages.ts";

const PAGES: Readonly<Record<string, { readonly rows: readonly number[]; readonly next?: string }>> = {
  first: { rows: [1, 2], next: "second" },
  second: { rows: [3], next: "third" },
  third: { rows: [] },
};

async function read({ cursor = "first" }: { readonly cursor?: string }): Promise<{
  readonly rows: readonly number[];
  readonly next?: string;
}> {
  return PAGES[cursor] ?? { rows: [] };
}

test("other work of the process comes between two pages of a list that answers at once", async () => {
  const order: string[] = [];
  const tasks: (() => void)[] = [];
  const walk = (async () => {
    for await (const { rows } of pagesOf(read, { macrotask: (run) => void tasks.push(run) }))
      order.push(rows.join());
    order.push("end");
  })();
  while (!order.includes("end")) {
    await Promise.race([walk, new Promise(setImmediate)]);
    order.push("other");
    tasks.shift()?.();
  }

  expect(order.slice(0, order.indexOf("end"))).toEqual(["1,2", "other", "3", "other", ""]);
  expect(tasks).toEqual([]);
});

test("a walk begins after the rows of a page before, and ends when its reader does", async () => {
  const macrotask = (run: () => void): void => void setImmediate(run);
  const found: number[] = [];
  for await (const { rows } of pagesOf(read, { macrotask }, "second")) {
    found.push(...rows);
    if (rows.length > 0) break;
  }
  expect(found).toEqual([3]);
});
