/** @module-tag long */
import { expect, test } from "vitest";
import { needsPostgres } from "../machine/postgres.ts";
import { skipWithoutProxies } from "../machine/skip-without.ts";
import { newDatabase } from "../storage/postgres/databases.ts";
import { PROXIES, findProxy } from "./proxy.ts";
import { roll } from "./roll.ts";

needsPostgres();

// `npm run test:proxies` plays it behind each proxy, for twenty rounds.
test("no request fails and no stream has a gap while three nodes behind a proxy are restarted in turn", async ({
  skip,
}) => {
  const proxy = PROXIES.find((name) => findProxy(name) !== undefined);
  if (proxy === undefined) skipWithoutProxies(skip);
  const { [proxy]: report } = await roll(await newDatabase(), { proxies: [proxy], rounds: 1, requests: 100 });
  expect(report?.failures).toEqual([]);
  expect(report?.restarts).toBeGreaterThanOrEqual(3);
});
