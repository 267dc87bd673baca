import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { asRunId, startRun } from "../../../src/testing/event-log/subject.ts";
import { needsPostgres, postgresUrl } from "../../machine/postgres.ts";
import { openEmpty, schemaOf } from "./logs.ts";

needsPostgres();

test("a node beats also while slow reads have all its connections", async () => {
  const log = await openEmpty();
  onTestFinished(() => log.close());
  await startRun(log, "run", 1);
  const other = new pg.Client({ connectionString: await postgresUrl() });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query(`BEGIN; LOCK TABLE ${schemaOf(log)}.run`);
  let read = 0;
  const reads = Array.from({ length: 20 }, async () => {
    // Without an owner they are one statement.
    await log.run(asRunId("run"), "default");
    read += 1;
  });
  const node = { node: log.node ?? "", url: "http://127.0.0.1:1", state: "active", agents: {} } as const;
  for (let beat = 0; beat < 3; beat += 1) expect(await log.nodes?.().heartbeat(node)).toMatchObject([node]);
  expect(read).toBe(0);
  await other.query("COMMIT");
  await Promise.all(reads);
});
