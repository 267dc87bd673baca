import { expect, test } from "vitest";
import { createScheduleClient } from "troupe/client";
import { start } from "../client/servers.ts";
import { list } from "../runtime/actors/agents.ts";
import { createProject, startCommand } from "./command.ts";

test(
  "schedules are made, listed, paused, resumed, run and removed on the command line and by the client",
  { tags: "long" },
  async () => {
    await using server = await start({ agents: [list] });
    const cwd = await createProject({});
    const run = async (...args: readonly string[]): Promise<readonly [string | number, string]> => {
      const command = startCommand(["schedules", ...args, "--url", server.url], { cwd });
      return [await command.exited, command.output()];
    };
    expect(await run()).toEqual([0, expect.stringContaining("there is no schedule")]);
    const input = JSON.stringify({ item: "milk" });
    const of = ["make", "list", "add", "--key", "shop", "--id", "milk", "--input", input] as const;
    const made = await run(...of, "--cron", "0 8 * * *", "--timezone", "Europe/Berlin");
    expect(made).toEqual([0, expect.stringMatching(/schedule milk of list \(shop\) is next due at 20/)]);
    expect(await run(...of, "--every", "0.001")).toEqual([
      2,
      expect.stringContaining("use 100 ms to 100 years"),
    ]);
    expect(await run(...of)).toEqual([2, expect.stringContaining("a schedule needs a time")]);
    expect(await run(...of.slice(0, -1), "{", "--every", "5")).toEqual([
      2,
      expect.stringContaining("is no JSON"),
    ]);

    const [code, table] = await run("list", "--agent", "list");
    expect(code).toBe(0);
    expect(table).toMatch(/ID +ACTOR +WHAT +WHEN +NEXT +LAST/);
    expect(table).toMatch(/milk +list \(shop\) +add +0 8 \* \* \* Europe\/Berlin/);
    expect(await run("pause", "milk")).toEqual([0, expect.stringContaining("schedule milk is paused")]);
    const client = createScheduleClient(server.url);
    const { schedules } = await client.list({ agent: "list", key: "shop" });
    expect(schedules).toEqual([expect.objectContaining({ id: "milk", paused: true })]);
    expect(await run("resume", "milk")).toEqual([
      0,
      expect.stringContaining("milk is resumed, and is next due"),
    ]);
    expect(await run("run", "milk")).toEqual([0, expect.stringMatching(/has sent request req_/)]);
    await expect.poll(() => server.runtime.actor(list, "shop").ask("all", {})).toEqual({ items: ["milk"] });
    expect(await run("remove", "bread")).toEqual([66, expect.stringContaining("there is no schedule bread")]);

    await client.make("list", {
      key: "other",
      id: "milk",
      operation: "add",
      input: { item: "x" },
      after_ms: 6e6,
    });
    expect(await run("remove", "milk")).toEqual([
      2,
      expect.stringContaining("several actors have a schedule"),
    ]);
    expect(await run("remove", "milk", "--agent", "list", "--key", "shop")).toEqual([
      0,
      expect.stringContaining("schedule milk is removed"),
    ]);
    expect((await client.list()).schedules.map(({ key }) => key)).toEqual(["other"]);
  },
);
