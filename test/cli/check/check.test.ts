/** @module-tag long */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent, Turn } from "troupe";
import { createRuntime, defineAgent } from "troupe";
import { postgresLog } from "troupe/postgres";
import { serve } from "troupe/node";
import { collect } from "troupe/testing";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { countOne } from "../../../src/ports/statistics.ts";
import { row } from "../../../src/testing/event-log/subject.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { ask, newDatabase } from "../../storage/postgres/databases.ts";
import { createProject, startCommand } from "../command.ts";

/** An agent file with this handler. */
function toFile(handler: string, name = "order"): string {
  return `import { writeFileSync } from "node:fs";
import { defineAgent } from "troupe";
export const agent = defineAgent({ name: "${name}", purpose: "Takes an order.", async chat(_input, turn) {
  ${handler}
} });
`;
}

const ASKS = `await turn.text("One moment.");
  await turn.waitForInput({ ok: "Is it right?" });
  writeFileSync("behind", "");`;

const asks = defineAgent({
  name: "order",
  purpose: "Takes an order.",
  async chat(_input, turn: Turn) {
    await turn.text("One moment.");
    await turn.waitForInput({ ok: "Is it right?" });
    return "Thanks.";
  },
});

/** Makes turns that wait, and one that has ended. */
async function fill(log: EventLog, agents: readonly Agent[] = [asks]): Promise<void> {
  const runtime = createRuntime({ agents, log });
  for (const request_id of ["a", "b", "c", "d"])
    await collect(runtime, "order", { type: "ChatRequest", input: "", request_id });
  await collect(runtime, "order", { type: "ResumeWithInput", request_id: "d", request_keys: { ok: true } });
  await runtime.close();
}

async function check(cwd: string, ...args: readonly string[]) {
  const { exited, output } = startCommand(["check", ...args], { cwd });
  return { code: await exited, output: output() };
}

/** The names, times and contents of all files below a directory. */
function contentOf(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    const text = entry.isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex") : "";
    return `${path} ${statSync(path).mtimeMs} ${text}`;
  });
}

test("says before a deploy which open turns fit, changes nothing, and has a status for a pipeline", async () => {
  const cwd = await createProject({ "agents/order.ts": toFile(ASKS) });
  await fill(sqliteLog(join(cwd, ".troupe")));
  const before = contentOf(join(cwd, ".troupe"));
  const same = await check(cwd);
  expect(same.output).toMatch(/^order +3 +0 +0 +0$/m);
  expect(same.output).toMatch(/^3 open turns of \.troupe in .* All fit\.$/m);
  expect(same.code).toBe(0);
  expect(contentOf(join(cwd, ".troupe"))).toEqual(before);
  expect(readdirSync(cwd)).not.toContain("behind");

  writeFileSync(join(cwd, "agents/order.ts"), toFile(ASKS.replace("moment", "minute")));
  const other = await check(cwd);
  expect(other.output).toMatch(/^order +0 +0 +3 +0$/m);
  expect(other.output).toMatch(/^order: 3 turns would be held \(nondeterministic\) at agents\/order\.ts:4$/m);
  expect(other.output).toMatch(/^ +the log has: +text "One moment\."$/m);
  expect(other.output).toMatch(/^ +the code does: +text "One minute\."$/m);
  expect(other.code).toBe(1);

  const { code, output } = await check(cwd, "--json", "--finished", "9");
  expect(JSON.parse(output)).toMatchObject({
    fits: false,
    turns: 1,
    agents: [{ agent: "order", fits: 0, older: 0, held: 1, undecided: 0 }],
    misfits: [{ agent: "order", code: "nondeterministic", at: "agents/order.ts:4", turns: 1 }],
  });
  expect(code).toBe(1);
});

test(
  "says if what owners have spent cannot be right, in a directory and in a database",
  { tags: "long" },
  async () => {
    needsPostgres();
    const cwd = await createProject({ "agents/order.ts": toFile(ASKS) });
    const url = await newDatabase();
    const day = Math.floor(Date.now() / 86_400_000);
    const spent = { tokens: 120, cost: 0.5, raisedTokens: 0, raisedCost: 0 };
    for (const [place, open] of [
      [".troupe", () => sqliteLog(join(cwd, ".troupe"))],
      [url, () => postgresLog({ url })],
    ] as const) {
      await fill(await open());
      const log = await open();
      await log.spending.put([
        { owner: "acme", day, ...spent },
        { owner: "acme", agent: "order", day, ...spent },
      ]);
      await log.close();
      const right = await check(cwd, place);
      expect(right.output).toMatch(/^Spending: 2 days of owners and agents\. Nothing is wrong\.$/m);
      expect(right.code).toBe(0);

      const again = await open();
      await again.spending.put([
        { owner: "acme", day, ...spent, tokens: -5 },
        { owner: "bolt", agent: "order", day: day + 40, ...spent },
      ]);
      await again.close();
      const wrong = await check(cwd, place);
      expect(wrong.output).toMatch(
        /^spending of acme on [\d-]+: -5 tokens and a cost of 0\.5 cannot be spent$/m,
      );
      expect(wrong.output).toMatch(/^spending of agent order of bolt on [\d-]+: the day is in the future/m);
      expect(wrong.code).toBe(1);
      const { output } = await check(cwd, place, "--json");
      expect(JSON.parse(output)).toMatchObject({ fits: true, spending: { days: 3, faults: { length: 2 } } });
    }
  },
);

test(
  "says if the statistics of a log are not what was counted, or lack the end of a turn",
  { tags: "long" },
  async () => {
    needsPostgres();
    const cwd = await createProject({ "agents/order.ts": toFile(ASKS) });
    const url = await newDatabase();
    const before = Math.floor(Date.now() / 86_400_000) * 24 - 240;
    const turn = { owner: "acme", kind: "turn", agent: "order", name: "chat", outcome: "success" } as const;
    const entries = [0, 1, 30, 200].map((hour) => ({
      ...turn,
      hour: before + hour,
      ...countOne(5),
    }));
    const endsAt = async (log: EventLog, id: string, hour: number): Promise<void> => {
      const at = new Date((before + hour) * 3_600_000 + 60_000).toISOString();
      const lastTurn = {
        request_id: id,
        operation: "chat",
        started_at: at,
        ended_at: at,
        finish_reason: "success",
      } as const;
      const { cursor } = await log.claim(id);
      log.release(
        await log.append(cursor, { events: [], records: [], run: row({ agent: "order", lastTurn }) }),
      );
    };
    const damage = "UPDATE statistic_sum SET count = count + 1 WHERE span = 24";
    for (const [place, open, change] of [
      [
        ".troupe",
        () => sqliteLog(join(cwd, ".troupe")),
        async () => {
          using database = new DatabaseSync(join(cwd, ".troupe/log.db"));
          database.exec(damage);
        },
      ],
      [url, () => postgresLog({ url }), () => ask(url, damage.replace("statistic", "troupe.statistic"))],
    ] as const) {
      const log = await open();
      await log.statistics.put(entries);
      await log.indexed?.();
      await endsAt(log, "run_counted", 30);
      await log.close();
      const right = await check(cwd, place);
      expect(right.output).toMatch(/^Statistics: 4 rows of hours, .* turns of 1 runs\. Nothing is wrong\.$/m);
      expect(right.code).toBe(0);

      const again = await open();
      await endsAt(again, "run_lost", 90);
      await again.close();
      await change();
      const wrong = await check(cwd, place);
      expect(wrong.output).toMatch(
        /^statistics by agent, order \(turn, success\): the sums have 6, and the hours 4$/m,
      );
      expect(wrong.output).toMatch(
        /^statistics run run_lost: the end of its newest turn \(order, success\) was not counted in its hour$/m,
      );
      expect(wrong.code).toBe(1);
    }
  },
);

test("reads a log while a server writes it", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/order.ts": toFile(ASKS) });
  const log = sqliteLog(join(cwd, ".troupe"));
  const runtime = createRuntime({ agents: [asks], log });
  await collect(runtime, "order", { type: "ChatRequest", input: "", request_id: "a" });
  const { code, output } = await check(cwd);
  expect(output).toMatch(/^1 open turns? of \.troupe in .* All fit\.$/m);
  expect(code).toBe(0);
  await collect(runtime, "order", { type: "ResumeWithInput", request_id: "a", request_keys: { ok: 1 } });
  await runtime.close();
});

test(
  "code that loops without end is stopped, and the other turns are checked",
  { tags: "long" },
  async () => {
    const cwd = await createProject({
      "agents/order.ts": toFile(`for (;;) if (turn.request.requestId !== "b") break; ${ASKS}`),
    });
    await fill(sqliteLog(join(cwd, ".troupe")));
    const { code, output } = await check(cwd, "--limit", "1");
    expect(output).toMatch(/^order +2 +0 +0 +1$/m);
    expect(output).toMatch(/^ +the code does not give back control within 1000 ms$/m);
    expect(code).toBe(1);
  },
);

test(
  "the open turns of a running server are checked by its address, for an admin alone",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/order.ts": toFile(ASKS) });
    const runtime = createRuntime({ agents: [asks], log: sqliteLog(join(cwd, "elsewhere")) });
    for (const request_id of ["a", "b", "c"])
      await collect(runtime, "order", { type: "ChatRequest", input: "", request_id });
    await collect(runtime, "order", { type: "ResumeWithInput", request_id: "a", request_keys: { ok: 1 } });
    const { url, close } = await serve(runtime, {
      port: 0,
      drain: false,
      token: "token-of-the-server",
    });
    const refused = await check(cwd, url);
    expect(refused.output).toMatch(/gives no copy of its open turns \(401\)/);
    expect(refused.code).toBe(2);
    const env = { TROUPE_TOKEN: "token-of-the-server" };
    const { exited, output } = startCommand(["check", url], { cwd, env });
    expect(await exited).toBe(0);
    expect(output()).toMatch(/^order +2 +0 +0 +0$/m);
    expect(output()).toContain(`2 open turns of ${url} in`);
    await close();
    await runtime.close();
  },
);

test.each<[string, readonly string[], Readonly<Record<string, string>>, RegExp]>([
  ["no server answers", ["http://127.0.0.1:1"], {}, /^troupe: no server answers at http:\/\/127\.0\.0\.1:1/m],
  [
    "a server gives no ended turns",
    ["http://127.0.0.1:1", "--finished=1"],
    {},
    /a server gives its open turns alone/,
  ],
  ["there is no log", ["none"], { "agents/order.ts": toFile(ASKS) }, /^troupe: there is no log in none$/m],
  ["an agent ends its thread", [], { "agents/order.ts": "process.exit(0)" }, /has ended its thread/],
])("the status is 2 when %s", async (_what, args, files, message) => {
  const cwd = await createProject(files);
  await fill(sqliteLog(join(cwd, ".troupe")));
  const { code, output } = await check(cwd, ...args);
  expect(output).toMatch(message);
  expect(code).toBe(2);
});

test("checks the turns of a database while servers use it", { tags: "long" }, async () => {
  needsPostgres();
  const cwd = await createProject({ "agents/order.ts": toFile(ASKS.replace("moment", "minute")) });
  const url = await newDatabase();
  await fill(await postgresLog({ url }));
  const { code, output } = await check(cwd, url);
  expect(output).toMatch(/^order +0 +0 +3 +0$/m);
  expect(code).toBe(1);
});

test(
  "a version that a server has kept continues the turns that the new code does not fit",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/order.ts": toFile(ASKS) });
    const server = startCommand(["serve", "--port=0"], { cwd });
    const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    await server.match(/^wires/m);
    await fetch(`${url}/order/process?wait=completed`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ type: "ChatRequest", input: "", request_id: "a" }),
    });
    writeFileSync(join(cwd, "agents/order.ts"), toFile(ASKS.replace("moment", "minute")));
    // The server still runs.
    const { code, output } = await check(cwd);
    expect(output).toMatch(/^order +0 +1 +0 +0$/m);
    expect(code).toBe(0);
    const without = await check(cwd, "--no-keep-versions");
    expect(without.output).toMatch(/^order +0 +0 +1 +0$/m);
    expect(without.code).toBe(1);
    // The server itself is asked in place of its log.
    const remote = await check(cwd, url);
    expect(remote.output).toMatch(/^order +0 +1 +0 +0$/m);
    expect(remote.code).toBe(0);
    const remoteWithout = await check(cwd, url, "--no-keep-versions", "--json");
    expect(JSON.parse(remoteWithout.output)).toMatchObject({
      agents: [{ agent: "order", fits: 0, older: 0, held: 1, undecided: 0 }],
      misfits: [{ code: "nondeterministic", at: "agents/order.ts:4" }],
    });
    server.kill();
    await server.exited;
  },
);
