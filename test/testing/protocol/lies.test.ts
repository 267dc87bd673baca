import { afterAll, beforeAll, expect, test } from "vitest";
import { runConformance } from "../../../src/testing/protocol/conformance.ts";
import type { Report } from "../../../src/testing/protocol/conformance.ts";
import { startServer } from "../../flows/server.ts";
import { lies } from "./lies.ts";
import { serveLies } from "./lying-proxy.ts";
import type { Lie } from "./lying-proxy.ts";

let server: { url: string; close(): Promise<void> };
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

test("a proxy that changes nothing passes every case", async () => {
  const told = new Set(lies.flatMap(([, cases]) => cases));
  const { results } = await hold({}, [...told], 60_000);
  expect(results.filter(({ outcome }) => outcome !== "passed")).toEqual([]);
  expect(results).toHaveLength(told.size);
});

test.each(lies)("the suite fails when %s", async (_, cases, make) => {
  const { results } = await hold(make(), cases);
  expect(results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id)).toEqual(
    expect.arrayContaining([...cases]),
  );
});

/** Runs some cases against the server, through a proxy. */
async function hold(lie: Lie, cases: readonly string[], timeoutMs = 2_000): Promise<Report> {
  const proxy = await serveLies(server.url, lie);
  try {
    return await runConformance({
      baseUrl: proxy.url,
      timeoutMs,
      filter: ({ id }) => cases.includes(id),
    });
  } finally {
    proxy.close();
  }
}
