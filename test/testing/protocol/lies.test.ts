/** @module-tag long */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runConformance } from "../../../src/testing/protocol/conformance.ts";
import type { CaseResult } from "../../../src/testing/protocol/conformance.ts";
import { startServer } from "../../flows/server.ts";
import { lies } from "./lies.ts";
import { serveLies } from "./lying-proxy.ts";
import type { Lie } from "./lying-proxy.ts";

let server: { url: string; close(): Promise<void> };
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

test("a proxy that changes nothing passes every case", { tags: "long" }, async () => {
  const told = new Set(lies.flatMap(([, cases]) => cases));
  const results = await hold({}, [told], 60_000);
  expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
  expect(results).toHaveLength(told.size);
});

test.each(lies)("the suite fails when %s", async (_, cases, make) => {
  // All cases at once, because some of them wait for what does not come.
  const results = await hold(
    make(),
    cases.map((id) => new Set([id])),
  );
  expect(results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id)).toEqual(
    expect.arrayContaining([...cases]),
  );
});

/** Runs groups of cases against the server at once, through one proxy; the cases of a group run one after the other. */
async function hold(
  lie: Lie,
  groups: readonly ReadonlySet<string>[],
  timeoutMs = 2_000,
): Promise<readonly CaseResult[]> {
  const proxy = await serveLies(server.url, lie);
  try {
    const reports = await Promise.all(
      groups.map((ids) => runConformance({ baseUrl: proxy.url, timeoutMs, filter: ({ id }) => ids.has(id) })),
    );
    return reports.flatMap(({ results }) => results);
  } finally {
    proxy.close();
  }
}
