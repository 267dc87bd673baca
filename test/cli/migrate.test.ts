/** @module-tag long */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { VERSION } from "../../src/storage/sqlite/format/schema.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { newDatabase } from "../storage/postgres/databases.ts";
import { agentSaying, createProject, startCommand } from "./command.ts";
import type { CommandOptions } from "./command.ts";

const EARLIER = 24;

test("a data directory goes back to an earlier format and is opened again, but not when something would be lost", async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const first = startCommand(["serve", "--port=0"], { cwd });
  const [url] = await first.match(/http:\/\/127\.0\.0\.1:\d+/);
  expect(await startCommand(["chat", "speaker", "hi", "--url", url], { cwd }).exited).toBe(0);
  const back = ["migrate", "--data", ".troupe", "--to"];
  expect(await run([...back, String(EARLIER)], { cwd })).toEqual([
    75,
    "troupe: .troupe is in use by another process\nstop the server that uses it, then migrate\n",
  ]);
  first.kill();
  expect(await first.exited).toBe(0);

  expect(await run([...back, String(EARLIER)], { cwd })).toEqual([
    0,
    `.troupe has format ${EARLIER} now; it had format ${VERSION}.\n`,
  ]);
  using database = new DatabaseSync(join(cwd, ".troupe/log.db"), { readOnly: true });
  expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: EARLIER });
  database.close();
  const refused = [
    ["22", "format 22 cannot hold what is there: 1 rows of statistics\nnothing was changed"],
    ["20", `there is no way back from format ${EARLIER} to 20, only to 22\nrestore a copy`],
    [
      String(VERSION),
      `the log has format ${EARLIER} already, which is older than ${VERSION}\nrun \`troupe migrate\` without --to`,
    ],
    ["99", `this version of troupe knows format ${VERSION} and older\nrun`],
  ] as const;
  for (const [to, reason] of refused)
    expect(await run([...back, to], { cwd })).toEqual([73, expect.stringContaining(`troupe: ${reason}`)]);
  expect(await run([...back, "nowhere"], { cwd })).toEqual([
    2,
    expect.stringContaining("The value must be a number above 0."),
  ]);
  expect(await run(["migrate", "--data", "nothing"], { cwd })).toEqual([
    66,
    expect.stringContaining("there is no log in nothing"),
  ]);

  expect(await run(["migrate", "--data", ".troupe"], { cwd })).toEqual([
    0,
    `.troupe has format ${VERSION} now; it had format ${EARLIER}.\n`,
  ]);
  const again = startCommand(["serve", "--port=0"], { cwd });
  const [address] = await again.match(/http:\/\/127\.0\.0\.1:\d+/);
  expect((await run(["runs", "--url", address], { cwd }))[1]).toContain("speaker");
});

describe("with PostgreSQL", () => {
  needsPostgres();

  test(
    "a database goes back to an earlier schema when its nodes have stopped",
    { tags: "long" },
    async () => {
      const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
      const env = { TROUPE_LOG: await newDatabase() };
      expect(await run(["migrate", "--to", "13"], { cwd, env })).toEqual([
        78,
        expect.stringContaining("troupe: the database has no tables of a log"),
      ]);
      const first = startCommand(["serve", "--port=0"], { cwd, env });
      const [url] = await first.match(/http:\/\/127\.0\.0\.1:\d+/);
      expect(await startCommand(["chat", "speaker", "hi", "--url", url], { cwd }).exited).toBe(0);
      expect(await run(["migrate", "--to", "13"], { cwd, env })).toEqual([
        75,
        "troupe: a node has the log in this database open\nstop all nodes, then migrate\n",
      ]);
      first.kill();
      expect(await first.exited).toBe(0);
      expect(await run(["migrate", "--to", "13"], { cwd, env })).toEqual([
        0,
        expect.stringMatching(/^The database has schema 13 now; it had schema \d+\.\n$/),
      ]);
      expect((await run(["doctor"], { cwd, env }))[1]).toMatch(/schema 13, and this version needs \d+/);
      const again = startCommand(["serve", "--port=0"], { cwd, env });
      const [address] = await again.match(/http:\/\/127\.0\.0\.1:\d+/);
      expect((await run(["runs", "--url", address], { cwd }))[1]).toContain("speaker");
    },
  );
});

/** The exit code and the output of a command. */
async function run(args: readonly string[], options: CommandOptions): Promise<readonly [unknown, string]> {
  const command = startCommand(args, options);
  return [await command.exited, command.output()];
}
