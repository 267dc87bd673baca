import { clusterRouter, memoryLog } from "troupe";
import { httpTransport, nodeEnvironment } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { findFreeUrl } from "../../machine/free-port.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { temporaryDirectory } from "../../storage/directories.ts";
import { newSchema, openSchema } from "../../storage/postgres/logs.ts";
import { bodyOf, routesOf } from "../server.ts";
import { LISTS, MAKING, OWN, REQUESTS } from "./requests.ts";
import { CANARY, call, expectOwnThings, expectWalls, openScene, textOf, textUntil } from "./scene.ts";
import type { NodeParts, Scene } from "./scene.ts";
import { outsiders } from "./tokens.ts";
import { runsLong } from "../../machine/long.ts";

/** How many requests; `npm run test:walls` makes 200,000 of them. */
const CASES = Number(process.env["WALLS_CASES"] ?? (runsLong ? 2_000 : 100));
/** How many of them with a database: `npm run test:walls` makes a tenth. */
const STORED_CASES = Math.max(500, CASES / 10);

test("every route is among the requests that strangers make", async () => {
  const { apps } = await openScene([{ log: memoryLog() }]);
  // What is there for one agent is there for each.
  const anyAgent = (route: string): string =>
    route.replace(/(?<!inspect\/agents)\/(?:payments|board)(?=\/|$)/, "");
  const made = [
    ...[...REQUESTS, ...MAKING].map(([method, path]) => `${method} ${path.replace(/\?.*/, "")}`),
    ...LISTS.map((path) => `GET ${path.replace(/\?.*/, "")}`),
  ].map(anyAgent);
  const missing = apps
    .flatMap(routesOf)
    .map(anyAgent)
    .filter((route) => !OWN.includes(route))
    .filter((route) => {
      const pattern = new RegExp(`^${route.replaceAll(/:\w+\{\.\+\}/g, ".+").replaceAll(/:\w+/g, "[^/]+")}$`);
      return !made.some((request) => pattern.test(request));
    });
  expect(missing).toEqual([]);
});

test(`of ${CASES} requests as the wrong owner and as no one, none gets a byte of another owner, and each answer is that for what does not exist`, async () => {
  const scene = await openScene([{ log: memoryLog() }]);
  await expectWalls(scene, CASES);
  await expectLists(scene);
  await expectOwnChanges(scene);
  await expectOwnThings(scene);
  expect(new Set(await statusesOf(scene))).toEqual(new Set(["waiting"]));
});

test(`the same holds on SQLite, for ${STORED_CASES} requests`, { tags: "long" }, async () => {
  const log = sqliteLog(temporaryDirectory(), { durability: "relaxed" });
  onTestFinished(() => log.close());
  const scene = await openScene([{ log }]);
  await expectWalls(scene, STORED_CASES);
  await expectLists(scene);
  await expectOwnChanges(scene);
  await expectOwnThings(scene);
  expect(new Set(await statusesOf(scene))).toEqual(new Set(["waiting"]));
});

needsPostgres();

test(
  `the same holds on two nodes with PostgreSQL, for ${STORED_CASES} requests`,
  { tags: "long" },
  async () => {
    const schema = newSchema();
    const openNode = async (): Promise<NodeParts> => {
      const log = await openSchema(schema, { secretsKey: "a key of thirty-two characters .." });
      onTestFinished(() => log.close());
      const transport = httpTransport({ url: await findFreeUrl(), secret: "shared by both nodes" });
      const environment = nodeEnvironment();
      return { log, environment, router: clusterRouter({ log, transport, environment }) };
    };
    const scene = await openScene([await openNode(), await openNode()]);
    await expectWalls(scene, STORED_CASES);
    await expectLists(scene);
    await expectOwnThings(scene);
    expect(new Set(await statusesOf(scene))).toEqual(new Set(["waiting"]));
  },
);

/** Lists have nothing of another owner in them. */
async function expectLists({ apps, runs }: Scene): Promise<void> {
  for (const app of apps) {
    for (const path of LISTS) {
      for (const caller of ["bob", ...outsiders] as const) {
        const text = await textOf(await call(app, "GET", path, caller));
        for (const foreign of [CANARY, ...runs]) expect(text).not.toContain(foreign);
      }
    }
  }
}

/** A stream says what is there and what changes, in this order: up to his own run, which is the newest. */
async function expectOwnChanges({ apps: [app], runs }: Scene): Promise<void> {
  if (app === undefined) return;
  const stream = await call(app, "GET", "/runs?stream=true", "bob");
  const pay = async (who: "ann" | "bob"): Promise<string> => {
    const request = { type: "ChatRequest", input: `pay 30 to ${who === "ann" ? CANARY : who}` };
    const paid = await bodyOf(await call(app, "POST", "/payments/process?wait=completed", who, request));
    return paid["run_id"] as string;
  };
  const [foreign, newest] = [await pay("ann"), await pay("bob")];
  const said = await textUntil(stream, newest);
  expect(said).toContain(newest);
  for (const text of [CANARY, foreign, ...runs]) expect(said).not.toContain(text);
}

/** What has become of Ann's request, as each server says. */
async function statusesOf({ apps }: Scene): Promise<readonly unknown[]> {
  return Promise.all(
    apps.map(async (app) => (await bodyOf(await call(app, "GET", "/request/order-1", "ann")))["status"]),
  );
}
