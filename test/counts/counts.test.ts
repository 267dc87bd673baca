/** @module-tag long */
// What a chat costs, counted and not timed, so that it is the same on every machine and under every load. A change that makes a
// turn dearer fails here; one that makes it cheaper lowers the limits.
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { TestContext } from "vitest";
import { needsPostgres, ownPostgres } from "../machine/postgres.ts";
import { ask } from "../storage/postgres/databases.ts";
import { limits } from "./limits.ts";
import type { Counted } from "./limits.ts";

const SERVER = fileURLToPath(new URL("server.ts", import.meta.url));

/** The turns after which everything has been compiled and loaded, and those that are counted. */
const WARM_UP = 30;
const TURNS = 30;

/** Starts a server that counts, on the directory or at the address of its log. */
async function start(
  where: string,
  how: string,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const execArgv = ["--conditions=troupe-source", "--disable-warning=ExperimentalWarning"];
  const child = fork(SERVER, [where, how], { execArgv });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  const [{ url }] = (await once(child, "message")) as [{ readonly url: string }];
  return { child, url };
}

/**
 * Has some chats one after the other, and says what each of them has cost. `readWal` reads how much the database has added to its
 * write-ahead log.
 */
async function count(
  where: string,
  chats: string,
  readWal: () => Promise<number> = async () => 0,
): Promise<Counted> {
  const [how = "", input] = chats.split(" ");
  const { child, url } = await start(where, how);
  const chat = async (): Promise<void> => {
    const answer = await fetch(`${url}/speaker/stream_request`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      // As clients do. The id is as long as one that the runtime makes.
      body: JSON.stringify({ type: "ChatRequest", input, request_id: randomUUID().slice(-25) }),
    });
    expect(await answer.text()).toContain('"finish_reason":"success"');
  };
  for (let turn = 0; turn < WARM_UP; turn += 1) await chat();
  child.send("begin");
  await once(child, "message");
  const walBefore = await readWal();
  for (let turn = 0; turn < TURNS; turn += 1) await chat();
  child.send("end");
  const [counted] = (await once(child, "message")) as [Counted];
  const walBytes = (await readWal()) - walBefore;
  return Object.fromEntries(
    Object.entries({ ...counted, walBytes }).map(([name, total]: [string, number]) => [name, total / TURNS]),
  ) as unknown as Counted;
}

/** The counts that are above their limits, each with its limit. */
function above(counted: Counted, limit: Counted): readonly string[] {
  return Object.entries(limit).flatMap(([name, most]: [string, number]) => {
    const number = counted[name as keyof Counted] ?? 0;
    return number > most ? [`${name}: ${number}, which is more than ${most}`] : [];
  });
}

async function countSqlite(chats: string): Promise<Counted> {
  const directory = await mkdtemp(join(tmpdir(), "troupe-counts-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const counted = await count(directory, chats);
  const database = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  const rows = tables
    .map(({ name }) => database.prepare(`SELECT count(*) AS rows FROM "${String(name)}"`).get()?.["rows"])
    .reduce<number>((sum, number) => sum + Number(number), 0);
  database.close();
  return { ...counted, rows: rows / (WARM_UP + TURNS) };
}

/** A server has one write-ahead log for all its databases, so each count has a server of its own. */
async function countPostgres(chats: string, context: Pick<TestContext, "skip">): Promise<Counted> {
  const { url } = await ownPostgres(context);
  const readWal = async (): Promise<number> =>
    Number((await ask(url, "SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes"))[0]?.["bytes"]);
  const counted = await count(url, chats, readWal);
  // A new schema adds a row to a table of migrations, which is no cost of a chat.
  const tables = await ask(
    url,
    "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'troupe' AND tablename NOT IN ('migration', 'expansion')",
  );
  let rows = 0;
  for (const { name } of tables)
    rows += Number((await ask(url, `SELECT count(*) AS rows FROM ${String(name)}`))[0]?.["rows"]);
  return { ...counted, rows: rows / (WARM_UP + TURNS) };
}

describe("a chat on SQLite costs no more than its limits", () => {
  test.each(Object.entries(limits))("%s", async (chats, { sqlite }) => {
    // The thread that moves pages does it more often beside other work, which can only add to what is written, so a count that is
    // above a limit is made again, twice.
    let counted = await countSqlite(chats);
    for (let more = 2; more > 0 && above(counted, sqlite).length > 0; more -= 1)
      counted = await countSqlite(chats);
    expect(above(counted, sqlite)).toEqual([]);
  });
});

describe("a chat on PostgreSQL costs no more than its limits", () => {
  needsPostgres();
  test.for(Object.entries(limits))("%s", async ([chats, { postgres }], context) => {
    // A checkpoint or a vacuum in the middle adds to the write-ahead log.
    let counted = await countPostgres(chats, context);
    for (let more = 2; more > 0 && above(counted, postgres).length > 0; more -= 1)
      counted = await countPostgres(chats, context);
    expect(above(counted, postgres)).toEqual([]);
  });
});
