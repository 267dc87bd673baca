/** @module-tag long */
import { writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SCHEMA_VERSION } from "../../../src/storage/postgres/schema/migrate.ts";
import { needsPostgres, ownPostgres, ownStandby } from "../../machine/postgres.ts";
import { agentSaying, createProject, startCommand } from "../../cli/command.ts";
import { ask, askUntil, newDatabase } from "./databases.ts";
import { openProxy } from "./logs.ts";

needsPostgres();

const KEY = "a key of thirty-two characters ..";

test("a server keeps its runs in a database, and another one shows them after it has stopped", async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const env = { TROUPE_LOG: await newDatabase(), TROUPE_SECRETS_KEY: KEY };
  const first = startCommand(["serve", "--port=0"], { cwd, env });
  const [url] = await first.match(/http:\/\/127\.0\.0\.1:\d+/);
  const call = startCommand(["chat", "speaker", "hi", "--url", url], { cwd });
  expect(await call.exited).toBe(0);
  expect(call.output()).toContain("hello");

  const second = startCommand(["serve", "--port=0"], { cwd, env });
  expect(await second.exited).toBe(78);
  expect(second.output()).toContain("troupe: another node has the log in this database open");
  first.kill();
  expect(await first.exited).toBe(0);

  const third = startCommand(["serve", "--port=0"], { cwd, env });
  const [again] = await third.match(/http:\/\/127\.0\.0\.1:\d+/);
  const runs = startCommand(["runs", "--url", again], { cwd });
  expect(await runs.exited).toBe(0);
  expect(runs.output()).toContain("speaker");

  const fourth = startCommand(["serve", "--port=0", "--single"], { cwd, env });
  await fourth.match(/http:\/\/127\.0\.0\.1:\d+/);
});

test(
  "each wrong database is refused with a line that names the fix, and never with the password",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    const good = await newDatabase();
    const wrong: readonly (readonly [env: Readonly<Record<string, string>>, code: number, lines: RegExp])[] =
      [
        [
          { TROUPE_LOG: "mysql://u:hidden@h/d" },
          78,
          /is not the URL of a PostgreSQL database\nuse --log postgres:/,
        ],
        [
          { TROUPE_LOG: "postgres://u:hidden@127.0.0.1:1/d" },
          69,
          /cannot be reached: d at 127\.0\.0\.1:1 as u: ECONNREFUSED\nstart it/,
        ],
        [{ TROUPE_LOG: good.replace(/\w+$/, "nowhere") }, 78, /no such database: nowhere at .*\ncreate it/],
        [
          { TROUPE_LOG: withUser(good, "stranger:hidden") },
          78,
          /refuses the user or the password: .* as stranger: role "stranger" does not exist\nset PGPASSWORD/,
        ],
        [
          { TROUPE_LOG: "postgres://u:hid#den@127.0.0.1/d" },
          78,
          /is not the URL of a PostgreSQL database\n.*give the password as PGPASSWORD/,
        ],
        [
          { TROUPE_LOG: "postgres://u@one,two/d" },
          78,
          /the address of the database has several hosts\ngive one host/,
        ],
        [
          { TROUPE_LOG: `${good}?sslmode=verify-full&sslrootcert=/none.pem` },
          78,
          /address of the database cannot be used: ENOENT.*none\.pem.*\ncorrect it; sslrootcert/,
        ],
        [
          { TROUPE_LOG: good, TROUPE_LOG_LISTEN: "postgres://u:hidden@127.0.0.1:1/d" },
          69,
          /cannot be reached: d at 127\.0\.0\.1:1 as u \(the address for listening\): ECONNREFUSED\nstart it/,
        ],
        [
          { TROUPE_LOG: withUser(good, "").replace("@", ""), USER: "", PGUSER: "" },
          78,
          new RegExp(`refuses the user .* as ${userInfo().username}: role .* does not exist`),
        ],
        [{ TROUPE_LOG: good, TROUPE_LOG_LISTEN: "127.0.0.1" }, 78, /\nuse TROUPE_LOG_LISTEN=postgres:/],
        [
          { TROUPE_LOG: good, TROUPE_SECRETS_KEY: "short" },
          78,
          /key of the secrets has fewer than 32 characters\nmake one/,
        ],
        [
          { TROUPE_LOG: "postgres://?service=unknown" },
          78,
          /no service "unknown".*\nadd a section \[unknown\]/,
        ],
      ];
    for (const [env, code, lines] of wrong) {
      const server = startCommand(["serve", "--port=0"], { cwd, env });
      expect(await server.exited).toBe(code);
      expect(server.output()).toMatch(lines);
      expect(server.output()).not.toContain("hidden");
    }
    const visible = startCommand(["serve", "--port=0", "--log=postgres://u:hidden@h/d"], { cwd });
    expect(await visible.exited).toBe(78);
    expect(visible.output()).toMatch(/--log has a password.*\nset the URL as TROUPE_LOG/);
    expect(visible.output()).not.toContain("hidden");
  },
);

test(
  "a role without rights, and a newer schema, are refused; troupe migrate mends the first",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    const owner = await newDatabase();
    const role = `plain_${Date.now()}`;
    await ask(owner, `CREATE ROLE ${role} LOGIN`);
    const plain = withUser(owner, role);
    const isRefused = async (reason: RegExp): Promise<void> => {
      const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_LOG: plain } });
      expect([await server.exited, server.output()]).toEqual([78, expect.stringMatching(reason)]);
      expect(server.output().trim().split("\n")).toHaveLength(2);
      const doctor = startCommand(["doctor", "--json"], { cwd, env: { TROUPE_LOG: plain } });
      expect([await doctor.exited, doctor.output()]).toEqual([1, expect.stringContaining("troupe migrate")]);
    };
    await isRefused(
      /^troupe: the user lacks rights in the database: .*: permission denied .*\nrun `troupe migr/,
    );

    const migrate = startCommand(["migrate", "--log", owner], { cwd });
    expect(await migrate.exited).toBe(0);
    expect(migrate.output()).toContain(
      `The database has schema ${SCHEMA_VERSION} now; it had no tables of a log.`,
    );
    await isRefused(/permission denied for schema troupe\n/);
    await ask(
      owner,
      `REVOKE ALL ON ALL FUNCTIONS IN SCHEMA troupe FROM PUBLIC; GRANT USAGE ON SCHEMA troupe TO ${role};
    GRANT SELECT ON ALL TABLES IN SCHEMA troupe TO ${role}`,
    );
    await isRefused(/permission denied for sequence epoch \(and for \d+ more\)\n/);
    await ask(
      owner,
      `GRANT ALL ON ALL TABLES IN SCHEMA troupe TO ${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA troupe TO ${role}`,
    );
    await isRefused(/permission denied for function append_1 \(and for \d+ more\)\n/);
    await ask(owner, `GRANT ALL ON ALL FUNCTIONS IN SCHEMA troupe TO ${role}`);
    const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_LOG: plain } });
    const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    expect(await startCommand(["chat", "speaker", "hi", "--url", url], { cwd }).exited).toBe(0);
    server.kill();
    await server.exited;
    await ask(owner, `REASSIGN OWNED BY ${role} TO troupe; DROP OWNED BY ${role}; DROP ROLE ${role}`);

    await ask(owner, "INSERT INTO troupe.migration VALUES (99, now())");
    const newer = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_LOG: owner } });
    expect(await newer.exited).toBe(78);
    expect(newer.output()).toMatch(
      new RegExp(
        `has schema 99, and this version of troupe knows ${SCHEMA_VERSION} and older\\nnpm install troupe@latest`,
      ),
    );
  },
);

test("a database whose schema is another one, or lacks a table, is refused", { tags: "long" }, async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const foreign = await newDatabase();
  await ask(foreign, "CREATE SCHEMA troupe; CREATE TABLE troupe.run (id integer)");
  const torn = await newDatabase();
  const env = { TROUPE_LOG: torn };
  const listed = startCommand(["nodes"], { cwd, env });
  expect(await listed.exited).toBe(78);
  expect(listed.output()).toMatch(/^troupe: the database has no tables of a log: .*\nrun `troupe migrate`/);
  expect(await startCommand(["migrate"], { cwd, env }).exited).toBe(0);
  await ask(torn, "DROP TABLE troupe.request");
  for (const [url, reason] of [
    [foreign, 'relation "run" already exists'],
    [torn, "table request is missing"],
  ] as const) {
    const server = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_LOG: url } });
    expect(await server.exited).toBe(78);
    expect(server.output()).toMatch(
      new RegExp(`^troupe: the schema .* not that of a log, or not all of it: .*: ${reason}\nuse another`),
    );
  }
  const doctor = startCommand(["doctor"], { cwd, env });
  expect([await doctor.exited, doctor.output()]).toEqual([1, expect.stringContaining("request is missing")]);
});

test(
  "a connection that hears no notifications is refused, as behind a pooler",
  { tags: "long" },
  async () => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    const direct = await newDatabase();
    const pooler = await openProxy(direct);
    pooler.loseNotifications();
    const refused = startCommand(["serve", "--port=0"], { cwd, env: { TROUPE_LOG: pooler.url } });
    // A pooler would keep the lock of a connection that it shares, and the next start would be refused.
    await askUntil(
      direct,
      "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_notify%'",
    );
    expect(
      await ask(
        direct,
        "SELECT pid FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE datname = current_database() AND locktype = 'advisory'",
      ),
    ).toEqual([]);
    expect(await refused.exited).toBe(78);
    const explained = /hears no notifications, as behind a pooler.*\n.*TROUPE_LOG_LISTEN/;
    expect(refused.output()).toMatch(explained);
    const doctor = startCommand(["doctor"], { cwd, env: { TROUPE_LOG: pooler.url } });
    expect([await doctor.exited, doctor.output()]).toEqual([1, expect.stringMatching(explained)]);

    const env = { TROUPE_LOG: pooler.url, TROUPE_LOG_LISTEN: direct };
    const content = startCommand(["doctor"], { cwd, env });
    expect([await content.exited, content.output()]).toEqual([0, expect.stringContaining("database  ")]);
    await startCommand(["serve", "--port=0"], { cwd, env }).match(/http:\/\/127\.0\.0\.1:\d+/);
  },
);

test(
  "a server whose commits are not synced says so when it starts, when it is ready, and to the doctor",
  { tags: "long" },
  async (context) => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    const own = await ownPostgres(context);
    await ask(own.url, "ALTER ROLE troupe SET synchronous_commit = off");
    const env = { TROUPE_LOG: own.url };
    const server = startCommand(["serve", "--port=0"], { cwd, env });
    const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
    const warning =
      "synchronous_commit is off: a crash of the server loses acknowledged events; set it to on";
    expect(server.output()).toContain(warning);
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([
      200,
      {
        status: "degraded",
        parts: expect.arrayContaining([{ name: "log", state: "degraded", detail: warning }]) as unknown,
      },
    ]);
    expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ durability: "relaxed" });
    const doctor = startCommand(["doctor", "--json"], { cwd, env });
    expect(await doctor.exited).toBe(1);
    expect(doctor.output()).toContain('"fix":"set it to on"');
  },
);

test(
  "an asynchronous standby is named before it is promoted, and no longer when it is synchronous",
  { tags: "long" },
  async (context) => {
    const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
    const own = await ownPostgres(context);
    const env = { TROUPE_LOG: own.url };
    const [url = ""] = await startCommand(["serve", "--port=0"], { cwd, env }).match(
      /http:\/\/127\.0\.0\.1:\d+/,
    );
    const log = async (): Promise<unknown> => {
      const answer = await fetch(`${url}/readyz`);
      const { parts } = (await answer.json()) as { readonly parts: readonly { readonly name: string }[] };
      return [answer.status, ...parts.filter(({ name }) => name === "log")];
    };
    await expect.poll(log).toEqual([200, { name: "log", state: "ready" }]);
    await ownStandby(context, own);
    const detail =
      "a standby is asynchronous: acknowledged events are lost if it is promoted; set synchronous_standby_names";
    await expect.poll(log).toEqual([200, { name: "log", state: "degraded", detail }]);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^troupe_parts_degraded 1$/m);
    const doctor = startCommand(["doctor", "--json", "--log="], { cwd });
    expect(await doctor.exited).toBe(1);
    expect(doctor.output()).toContain('"subject":"log","ok":false,"message":"a standby is asynchronous');
    await ask(own.url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await ask(own.url, "SELECT pg_reload_conf()");
    await expect.poll(log).toEqual([200, { name: "log", state: "ready" }]);
  },
);

test("a service file gives the address", async () => {
  const cwd = await createProject({ "agents/speaker.ts": agentSaying("hello") });
  const { hostname, port, pathname } = new URL(await newDatabase());
  const file = join(cwd, "services");
  const host = decodeURIComponent(hostname);
  const lines = [
    "# ours",
    "[agents]",
    `host=${host}`,
    `port=${port || 5432}`,
    `dbname=${pathname.slice(1)}`,
    "user=troupe",
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  const env = { TROUPE_LOG: "postgres://?service=agents", PGSERVICEFILE: file };
  const server = startCommand(["serve", "--port=0"], { cwd, env });
  // This line comes after the address.
  await server.match(/^data /m);
  expect(server.output()).toContain("(in PostgreSQL)");
});

/** The same address for another user. */
function withUser(url: string, user: string): string {
  return url.replace(/\/\/[^@]*@/, `//${user}@`);
}
