/** @module-tag long */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { postgresLog } from "troupe/postgres";
import { needsPostgres, ownPostgres } from "../../machine/postgres.ts";
import { asRunId, nextEvents, startRun } from "../../../src/testing/event-log/subject.ts";
import { ask, askUntil, newDatabase } from "./databases.ts";
import { startProxy } from "./proxy.ts";

needsPostgres();

test(
  "a password that is given beside an address is used, and one that is missing is named",
  { tags: "long" },
  async (context) => {
    const server = await ownPostgres(context);
    await ask(server.url, "CREATE ROLE app LOGIN PASSWORD 'hidden'");
    await ask(server.url, "GRANT CREATE ON DATABASE postgres TO app");
    await server.kill();
    const rules = "local all troupe trust\nlocal all app scram-sha-256\n";
    writeFileSync(join(server.directory, "data", "pg_hba.conf"), rules);
    await server.start();
    const url = server.url.replace("troupe@", "app@");

    await expect(postgresLog({ url })).rejects.toMatchObject({
      code: "forbidden",
      details: { hint: expect.stringContaining("set PGPASSWORD") as string },
    });
    const log = await postgresLog({ url, listenUrl: url, password: async () => "hidden" });
    onTestFinished(() => log.close());
    expect((await log.claim("run")).cursor).toMatchObject({ head: 0 });
  },
);

test("an address that is not a URL is refused with a line that names the fix, without the password", async () => {
  for (const url of ["postgres://user:hid#den@host/db", "postgres://user:hid#den@one:1,two:2/db"]) {
    const error: unknown = await postgresLog({ url }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "invalid_request",
      message: "the address of the database cannot be used: Invalid URL",
      details: { hint: expect.stringContaining("%XX") as string },
    });
    expect(JSON.stringify(error)).not.toContain("den");
  }
});

test("a connection that breaks before its first statement fails nothing", async () => {
  const proxy = await startProxy(await newDatabase());
  onTestFinished(() => proxy.close());
  const log = await postgresLog({ url: proxy.url, max: 8 });
  onTestFinished(() => log.close());
  proxy.loseAnswersTo("statement_timeout");
  // Without an owner they are one statement.
  const found = await Promise.all(Array.from({ length: 8 }, () => log.run("run", "default")));
  expect(found).toEqual(Array.from({ length: 8 }, () => undefined));
  expect(proxy.lost).toBeGreaterThan(0);
});

test("the server plans a statement once for a connection, and each time where a pooler stands between", async () => {
  for (const [isPooler, most] of [
    [false, 1],
    [true, 3],
  ] as const) {
    const proxy = await startProxy(await newDatabase());
    onTestFinished(() => proxy.close());
    if (isPooler) proxy.pool();
    const log = await postgresLog({ url: proxy.url, max: 1 });
    onTestFinished(() => log.close());
    const heard = proxy.hear("FROM troupe.run WHERE run.id = $1 AND stored\0");
    for (let count = 0; count < 3; count += 1) expect(await log.run(asRunId("run"))).toBeUndefined();
    expect(heard.count).toBe(most);
  }
});

test("a node gives up the connections that only many questions at once have needed, while it works", async () => {
  const url = await newDatabase();
  const log = await postgresLog({ url });
  onTestFinished(() => log.close());
  const connections =
    "FROM pg_stat_activity WHERE application_name = 'troupe' AND datname = current_database()";
  const many = 8;
  const runIds = Array.from({ length: 10 * many }, (_, count) => asRunId(`run-${count}`));
  await Promise.all(runIds.map((runId) => log.run(runId, "default")));
  await askUntil(url, `SELECT count(*) >= ${many} ${connections}`);

  let isOver = false;
  const working = (async () => {
    let cursor = await startRun(log, "spoken", 1);
    const node = { node: log.node, url: "http://127.0.0.1:1", state: "active", agents: {} } as const;
    while (!isOver) {
      cursor = await log.append(cursor, nextEvents(cursor, 1));
      await log.nodes().heartbeat(node);
      await log.run(asRunId("spoken"));
    }
  })();
  // Six, and the one that listens.
  const most = 7;
  await askUntil(url, `SELECT count(*) <= ${most} ${connections}`);
  isOver = true;
  await working;
  const [row] = await ask(url, `SELECT count(*)::int AS count ${connections}`);
  expect(row?.["count"]).toBeLessThanOrEqual(most);
});
