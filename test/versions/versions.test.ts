/** @module-tag long */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { needsPostgres } from "../machine/postgres.ts";
import { skipWithoutGit, skipWithoutHistory, skipWithoutProxies } from "../machine/skip-without.ts";
import { PROXIES, findProxy } from "../proxies/proxy.ts";
import { newDatabase } from "../storage/postgres/databases.ts";
import { findFormer } from "./former.ts";
import { alternate } from "./versions.ts";

needsPostgres();

// `npm run test:versions` plays it for an hour, also with nodes that are killed.
test("no request fails while nodes of this version and of the one before its newest schema replace each other on one database", async ({
  skip,
}) => {
  if (PROXIES.every((name) => findProxy(name) === undefined)) skipWithoutProxies(skip);
  if (spawnSync("git", ["--version"]).status !== 0) skipWithoutGit(skip);
  const former = (await findFormer()) ?? skipWithoutHistory(skip);
  const report = await alternate(await newDatabase(), former, { way: "stopped", minutes: 0 });
  expect(report.bad).toEqual([]);
  expect(report.replaced).toBeGreaterThanOrEqual(6);
});
