/** @module-tag long */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { postgresLog } from "troupe/postgres";
import type { EventLog } from "../../../src/ports/event-log.ts";
import type { VersionStore } from "../../../src/ports/version-store.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { events, row, asRunId } from "../../../src/testing/event-log/subject.ts";
import { ask, newDatabase } from "../../storage/postgres/databases.ts";
import { openProxy } from "../../storage/postgres/logs.ts";
import type { Proxy } from "../../storage/postgres/proxy.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { contentOf, fill } from "../../node/copy/content.ts";
import { agentSaying, chat, createProject, startCommand } from "../command.ts";
import type { RunningCommand } from "../command.ts";

const KEY = "a key of thirty-two characters ..";

type StoredLog = EventLog & Required<Pick<EventLog, "artifacts" | "secrets">>;

describe("troupe copy between directories", () => {
  test("copies everything and says how much; a second copy finds it there", async () => {
    const cwd = await createProject({});
    const content = await withLog(sqliteLog(join(cwd, "old")), async (store) => {
      await fill(store);
      return contentOf(store);
    });
    const first = copy(cwd, "old", "new");
    expect(await first.exited).toBe(0);
    expect(first.output()).toMatch(/^ +RUNS +REMOVED +EVENTS +ARTIFACTS +SECRETS +VERSIONS +BYTES$/m);
    expect(first.output()).toMatch(/^copied +8 +3 +6,039 +3 +3 +2 +[\d,]+$/m);
    expect(first.output()).toMatch(/^there already +0 +0 +0 +0 +0 +0 +0$/m);
    expect(first.output()).toMatch(/The target has all of it, compared by SHA-256, in .*\.$/m);
    expect(await withLog(sqliteLog(join(cwd, "new")), contentOf)).toEqual(content);

    const second = copy(cwd, "old", "new", ["--json"]);
    expect(await second.exited).toBe(0);
    const { copied, present } = JSON.parse(second.output()) as Record<string, object>;
    expect(copied).toEqual({
      runs: 0,
      removed: 0,
      events: 0,
      artifacts: 0,
      secrets: 0,
      versions: 0,
      bytes: 0,
    });
    expect(present).toMatchObject({
      runs: 8,
      removed: 3,
      events: 6_039,
      artifacts: 3,
      secrets: 3,
      versions: 2,
    });
  });

  test("refuses what cannot be copied, each with a line that names the fix", async () => {
    const cwd = await createProject({});
    mkdirSync(join(cwd, "empty"));
    writeFileSync(join(cwd, "file"), "");
    await withLog(sqliteLog(join(cwd, "log")), writeRun);
    await withLog(sqliteLog(join(cwd, "other")), async ({ log }) => {
      const { cursor } = await log.claim(asRunId("run"));
      await log.append(cursor, { events: events(1, 2), records: [], run: row() });
    });
    mkdirSync(join(cwd, "damaged"));
    writeFileSync(join(cwd, "damaged", "log.db"), "not a database, but some text".repeat(200));
    await withLog(sqliteLog(join(cwd, "secret")), writeRun);
    writeFileSync(join(cwd, "secret", "secrets.json"), "[1]");
    await withLog(sqliteLog(join(cwd, "torn")), fill);
    rmSync(join(cwd, "torn", "artifacts", "file-1.bytes"));
    const held = sqliteLog(join(cwd, "held"));
    const wrong: readonly (readonly [from: string, to: string, code: number, lines: RegExp])[] = [
      ["none", "new", 66, /^troupe: there is no log in none\ngive the directory/m],
      ["empty", "new", 66, /^troupe: there is no log in empty\n/m],
      ["log", "log", 78, /--from and --to are the same log\nname another target/],
      ["log", "./log/", 78, /--from and --to are the same log\n/],
      ["held", "new", 75, /held is in use by another process\nstop the server that uses it/],
      ["log", "held", 75, /held is in use by another process\nstop the server that uses it/],
      ["log", "file/below", 73, /cannot be .*\ncheck the directory, or use another one with --to/],
      ["secret", "new", 73, /secret\/secrets.json cannot be read: it is damaged\nrestore it from a backup/],
      ["log", "secret", 73, /secret\/secrets.json cannot be read: it is damaged\nrestore it from a backup/],
      ["damaged", "new", 74, /the log in damaged is damaged: .*\nrestore it from a backup/],
      [
        "mysql://h/d",
        "new",
        78,
        /"mysql:\/\/h\/d" is not the URL of a PostgreSQL database\nuse --from postgres:/,
      ],
      ["log", "mysql://h/d", 78, /is not the URL of a PostgreSQL database\nuse --to postgres:/],
      [
        "log",
        "postgres://u@127.0.0.1:1/d",
        69,
        /cannot be reached: d at 127.0.0.1:1 as u: ECONNREFUSED\nstart it/,
      ],
      ["log", "postgres://u:hidden@h/d", 78, /--to has a password.*\nset the password as PGPASSWORD/],
      [
        "torn",
        "new",
        69,
        /artifact file-1 cannot be copied: ENOENT.*\nwhat was copied stays; run the command again/,
      ],
      [
        "log",
        "other",
        73,
        /run run cannot be copied: .* has 1 event .* has 2 events in the target\nnothing of it/,
      ],
      ["log", "", 2, /--to is empty\ngive a data directory/],
    ];
    for (const [from, to, code, lines] of wrong) {
      const command = copy(cwd, from, to);
      expect([from, to, await command.exited, command.output()]).toEqual([
        from,
        to,
        code,
        expect.stringMatching(lines),
      ]);
      expect(command.output()).not.toContain("hidden");
    }
    await held.close();
    expect(await startCommand(["copy", "--from", "log"], { cwd }).exited).toBe(2);
    expect(
      await withLog(sqliteLog(join(cwd, "other")), async ({ log }) => log.read(asRunId("run"), { after: 0 })),
    ).toMatchObject({
      head: 2,
    });
  });
});

describe("troupe copy to a database and back", () => {
  needsPostgres();

  test(
    "a copy that is killed at several points is completed by the next one, in both directions",
    { tags: "long" },
    async () => {
      const cwd = await createProject({});
      const content = await withLog(sqliteLog(join(cwd, "old")), async (store) => {
        await fill(store);
        for (let n = 0; n < 120; n += 1) await writeRun(store, `run-${n}`);
        return contentOf(store);
      });
      const url = await newDatabase();
      const proxy = await openProxy(url);
      for (const run of ["run-5", "run-40", "run-100"]) {
        await isLeft(url);
        await killAt(proxy, run, () => copy(cwd, "old", proxy.url));
      }
      await isLeft(url);
      const last = copy(cwd, "old", url);
      expect([await last.exited, last.output()]).toEqual([0, expect.stringContaining("SHA-256")]);
      expect(await ask(url, "SELECT id FROM troupe.run WHERE owner IS NOT NULL")).toEqual([]);
      expect(await withLog(await postgresLog({ url, secretsKey: KEY }), contentOf)).toEqual(content);

      for (const run of ["run-5", "run-60"]) {
        await isLeft(url);
        await killAt(proxy, run, () => copy(cwd, proxy.url, "back"));
      }
      await isLeft(url);
      const back = copy(cwd, url, "back");
      expect([await back.exited, back.output()]).toEqual([0, expect.stringContaining("SHA-256")]);
      expect(await withLog(sqliteLog(join(cwd, "back")), contentOf)).toEqual(content);
    },
  );

  test(
    "a server on the copy has the runs of the original and recognises their requests",
    { tags: "long" },
    async () => {
      const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
      const [before, url] = await serve(cwd);
      const kept = await chat(url, "speaker", { request_id: "kept" });
      const { run_id: removed } = await chat(url, "speaker", { request_id: "removed" });
      expect(await startCommand(["remove", removed, "--url", url], { cwd }).exited).toBe(0);
      before.kill();
      expect(await before.exited).toBe(0);
      const database = await newDatabase();
      expect(await copy(cwd, ".troupe", database).exited).toBe(0);

      const [, copied] = await serve(cwd, { TROUPE_LOG: database });
      expect(await chat(copied, "speaker", { request_id: "kept" })).toEqual(kept);
      expect(await chat(copied, "speaker", { request_id: "removed" })).toMatchObject({ status: 410 });
      expect(await chat(copied, "speaker", { run_id: kept.run_id })).toMatchObject({ run_id: kept.run_id });
    },
  );

  test("refuses what cannot be copied, each with a line that names the fix", { tags: "long" }, async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    await withLog(sqliteLog(join(cwd, "log")), writeRun);
    await withLog(sqliteLog(join(cwd, "secret")), async ({ secrets }) => secrets.put({ one: "1", two: "2" }));
    const [good, newer, kept] = [await newDatabase(), await newDatabase(), await newDatabase()];
    expect(await startCommand(["migrate", "--log", newer], { cwd }).exited).toBe(0);
    await ask(newer, "INSERT INTO troupe.migration VALUES (99, now())");
    expect(await copy(cwd, "secret", kept).exited).toBe(0);
    const nowhere = good.replace(/\w+$/, "nowhere");
    const none = { TROUPE_SECRETS_KEY: "" };
    const other = { TROUPE_SECRETS_KEY: `not ${KEY}` };
    const wrong: readonly (readonly [from: string, to: string, code: number, lines: RegExp, env?: object])[] =
      [
        [good, "new", 66, /there is no log in .*\ncorrect the address/],
        [nowhere, "new", 78, /no such database: nowhere at .*\ncreate it/],
        ["log", nowhere, 78, /no such database: nowhere at .*\ncreate it/],
        [
          "log",
          newer,
          78,
          /has schema 99, and this version of troupe knows \d+ and older\nnpm install troupe@latest/,
        ],
        [
          newer,
          "new",
          78,
          /has schema 99, and this version of troupe knows \d+ and older\nnpm install troupe@latest/,
        ],
        [
          "secret",
          good,
          78,
          /has 2 secrets, and there is no key to encrypt them\nset TROUPE_SECRETS_KEY.*openssl/,
          none,
        ],
        [kept, "new", 78, /has 2 secrets, and there is no key to read them\nset TROUPE_SECRETS_KEY/, none],
        [kept, "new", 78, /does not decrypt: its key was another one\n/, other],
        [kept, kept, 78, /--from and --to are the same log/],
        [
          kept,
          `${kept}?application_name=x`,
          75,
          /another node has the log in this database open\nstop the server that uses it/,
        ],
      ];
    for (const [from, to, code, lines, env] of wrong) {
      const command = copy(cwd, from, to, [], env);
      expect([from, to, await command.exited, command.output()]).toEqual([
        from,
        to,
        code,
        expect.stringMatching(lines),
      ]);
    }
    expect(
      await withLog(await postgresLog({ url: good }), async ({ log }) => log.runIds({ limit: 1 })),
    ).toEqual([]);

    const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_LOG: good } });
    await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    for (const [from, to] of [
      [good, "new"],
      ["log", good],
    ] as const) {
      const command = copy(cwd, from, to);
      expect(await command.exited).toBe(75);
      expect(command.output()).toMatch(
        /another node has the log in this database open\nstop the server that uses it/,
      );
    }
  });
});

function copy(cwd: string, from: string, to: string, args: readonly string[] = [], env = {}): RunningCommand {
  const options = { cwd, env: { TROUPE_SECRETS_KEY: KEY, ...env } };
  return startCommand(["copy", "--from", from, "--to", to, ...args], options);
}

async function serve(cwd: string, env = {}): Promise<readonly [RunningCommand, url: string]> {
  const server = startCommand(["serve", "--port=0"], { cwd, env });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  return [server, url];
}

/** Resolves when the database has no connection of a process that had the log open. */
async function isLeft(url: string): Promise<void> {
  const connections =
    "SELECT FROM pg_stat_activity WHERE application_name = 'troupe' AND datname = current_database()";
  while ((await ask(url, connections)).length > 0) await setTimeout(5);
}

/** Works with a log and its stores, and closes them. */
async function withLog<Result>(
  log: StoredLog,
  work: (store: {
    readonly log: EventLog;
    readonly artifacts: ReturnType<StoredLog["artifacts"]>;
    readonly secrets: ReturnType<StoredLog["secrets"]>;
    readonly versions: VersionStore | undefined;
  }) => Promise<Result>,
): Promise<Result> {
  const artifacts = log.artifacts();
  try {
    return await work({ log, artifacts, secrets: log.secrets(), versions: log.versions?.() });
  } finally {
    await artifacts.close();
    await log.close();
  }
}

async function writeRun({ log }: { readonly log: EventLog }, id = "run"): Promise<void> {
  const { cursor } = await log.claim(asRunId(id));
  log.release(await log.append(cursor, { events: events(1, 1), records: [], run: row() }));
}

/** Starts a copy, and kills it when it reaches a run; until then the database answers it. */
async function killAt(proxy: Proxy, run: string, start: () => RunningCommand): Promise<void> {
  const reached = proxy.silenceAt(run);
  const command = start();
  const ended = command.exited.then(() => {
    throw new Error(`the copy has ended before ${run}:\n${command.output()}`);
  });
  await Promise.race([reached, ended]);
  command.kill("SIGKILL");
  expect(await command.exited).toBe("SIGKILL");
  proxy.mend();
}
