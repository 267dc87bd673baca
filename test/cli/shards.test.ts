import { expect, test } from "vitest";
import { needsPostgres } from "../machine/postgres.ts";
import { newDatabase } from "../storage/postgres/databases.ts";
import { agentSaying, createProject, startCommand } from "./command.ts";

needsPostgres();

test(
  "the databases of a log are listed with their shards, and one that is added gets some",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    const [a, b, c] = [await newDatabase(), await newDatabase(), await newDatabase()];
    const two = { TROUPE_LOG: `${a} ${b}` };
    const three = { TROUPE_LOG: `${a} ${b} ${c}` };
    const output = async (
      args: readonly string[],
      env: Readonly<Record<string, string>>,
      code = 0,
    ): Promise<string> => {
      const command = startCommand(args, { cwd, env });
      expect([await command.exited, command.output()]).toEqual([code, command.output()]);
      return command.output();
    };
    await output(["migrate"], { TROUPE_LOG: a });
    expect(await output(["shards"], { TROUPE_LOG: a }, 78)).toContain(
      "a log in one database is copied into several",
    );
    const server = startCommand(["serve", "--port=0"], { cwd, env: two });
    const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    await output(["chat", "speaker", "hi", "--url", url], {});
    expect(await output(["shards"], two)).toMatch(
      /DATABASE +SHARDS +MOVING +RUNS +MB +ADDRESS\n1 +2,048 +0 +[01] .*\n2 +2,048 +0 +[01] /,
    );
    expect(await output(["shards", "move", "--to=3"], three, 78)).toContain(
      "the database has no tables of a log",
    );
    server.kill();
    expect(await server.exited).toBe(0);

    const again = startCommand(["serve", "--port=0"], { cwd, env: three });
    const [address] = await again.match(/http:\/\/127\.0\.0\.1:\d+/);
    const moved = JSON.parse(
      await output(["shards", "move", "--to=3", "--count=3", "--json"], three),
    ) as object;
    expect(moved).toMatchObject({ shards: 3 });
    const lines = (await output(["shards", "--json"], three)).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { number: 1, shards: 2_046, moving: 0 },
      { number: 2, shards: 2_047, moving: 0 },
      { number: 3, shards: 3, moving: 0 },
    ]);
    expect(await output(["shards", "move", "--to=3", "--from=1", "--count=1"], three)).toMatch(
      /^Moved 1 shard with \d runs? to database 3 in .*\. No run waited for longer than \d+ ms\.\n$/,
    );
    expect(await output(["runs", "--url", address], {})).toContain("speaker");
    expect(await output(["shards", "move", "--to=9"], three, 78)).toContain("the log has no database 9");
    expect(await output(["shards", "move"], three, 2)).toContain("--to <number>");
  },
);
