import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { AgentError } from "../../../../src/errors.ts";
import { Unavailable } from "../../../../src/ports/event-log.ts";
import type { RunId } from "../../../../src/protocol/ids.ts";
import { sqliteLog } from "../../../../src/storage/sqlite/index.ts";
import { events, nextEvents, row, asRunId, startRun } from "../../../../src/testing/event-log/subject.ts";
import { skipWithoutSmallDisk } from "../../../machine/skip-without.ts";
import { startLogChild, temporaryDirectory } from "../../directories.ts";

// Mounts a disk that only one process sees; not every system allows that.
const SMALL_DISK = ["unshare", "--map-root-user", "--mount", "sh", "-c"];
const canMountSmallDisk =
  spawnSync(SMALL_DISK[0] ?? "", [...SMALL_DISK.slice(1), "mount -t tmpfs tmpfs /mnt"]).status === 0;

type Mode = Parameters<typeof startLogChild>[0];

/** Runs a child to its end behind a command, and returns the values that it printed. */
async function runChild(mode: Mode, directory: string, command: readonly string[]): Promise<unknown[]> {
  const child = startLogChild(mode, directory, { command });
  const said: unknown[] = [];
  for await (const line of child.lines) said.push(JSON.parse(line));
  expect(await child.ended).toBe(0);
  return said;
}

async function runOnSmallDisk(mode: Mode): Promise<unknown[]> {
  const directory = temporaryDirectory();
  const script = `mount -t tmpfs -o size=6m tmpfs ${directory} && exec "$0" "$@"`;
  return runChild(mode, directory, [...SMALL_DISK, script]);
}

test(
  "on a full disk appends fail, reads work, and appends work again when there is space",
  { tags: "long" },
  async ({ skip }) => {
    if (!canMountSmallDisk) skipWithoutSmallDisk(skip);
    const said = await runOnSmallDisk("fill");
    expect(said).toEqual([
      {
        refused: "Unavailable",
        health: { writable: false, reason: "the disk is full" },
        again: "Unavailable",
        readable: true,
      },
      { stale: "Fenced", kept: true, grown: 1 },
    ]);
  },
);

test("when pages cannot be moved on a full disk, the first append after there is space again is accepted", async ({
  skip,
}) => {
  if (!canMountSmallDisk) skipWithoutSmallDisk(skip);
  const said = await runOnSmallDisk("crowd");
  const refused = { type: "failed", reason: "the disk is full" };
  expect(said).toEqual([[{ type: "committed" }, refused, { type: "committed" }]]);
});

test("after a failed write nothing is appended until the log is reopened, and nothing is lost", async () => {
  const directory = temporaryDirectory();
  const limited = ["sh", "-c", `trap "" XFSZ; ulimit -f 6000; exec "$0" "$@"`];
  const said = await runChild("exceed", directory, limited);
  const [outcome] = said as { readonly heads: readonly (readonly [RunId, number])[] }[];
  expect(outcome).toMatchObject({
    refused: ["Unavailable", "Unavailable", "Unavailable", "Unavailable"],
    health: { writable: false, reason: "a commit failed: disk I/O error" },
    readable: true,
    afterClaim: "Unavailable",
  });
  const log = sqliteLog(directory);
  for (const [run, head] of outcome?.heads ?? []) {
    const page = await log.read(run, { after: 0 });
    expect(page.head).toBeGreaterThanOrEqual(head);
    expect(page.events).toHaveLength(page.head);
  }
  const { cursor } = await log.claim(asRunId("run"));
  await log.append(cursor, nextEvents(cursor, 1));
  await log.close();
});

test("a log that another process wrote to accepts no more appends", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursor = await startRun(log, "run", 2);
  const other = new DatabaseSync(join(directory, "log.db"), { timeout: 5_000 });
  other.exec("INSERT INTO batch (n, epoch, hash) SELECT max(n) + 1, 99, 'other' FROM batch");
  other.close();

  const append = log.append(cursor, nextEvents(cursor, 1));
  await expect(append).rejects.toBeInstanceOf(Unavailable);
  expect(log.health()).toEqual({
    writable: false,
    reason: "another process has written to the data directory",
  });
  expect((await log.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 2));
  await log.close();
});

test("a log whose thread could not start accepts no appends, and closes", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const { cursor } = await log.claim(asRunId("run"));
  const head = join(directory, "head");
  rmSync(head);
  mkdirSync(head);

  await expect(async () => log.append(cursor, nextEvents(cursor, 1))).rejects.toBeInstanceOf(Unavailable);
  // The thread ends shortly after this is known, long before another one has started and ended.
  await once(new Worker("", { eval: true }), "exit");
  await log.close();
  rmSync(head, { recursive: true });
  expect(() => sqliteLog(directory)).toThrow("the head file is missing or damaged");
});

test("a path that cannot be a data directory is refused with a clear error", () => {
  const directory = temporaryDirectory();
  const file = join(directory, "file");
  writeFileSync(file, "");
  mkdirSync(join(directory, "odd", "log.db"), { recursive: true });

  expect(() => sqliteLog(file)).toThrow(AgentError);
  expect(() => sqliteLog(file)).toThrow(/file cannot be opened: EEXIST/);
  expect(() => sqliteLog(join(file, "below"))).toThrow(/below cannot be opened: ENOTDIR/);
  expect(() => sqliteLog(join(directory, "odd"))).toThrow(/odd cannot be opened for writing/);
});

test("only the owner can read the files", async () => {
  const directory = join(temporaryDirectory(), "deep", "data");
  const log = sqliteLog(directory);
  await startRun(log, "run", 2);

  expect(statSync(directory).mode & 0o777).toBe(0o700);
  for (const name of ["log.db", "log.db-wal", "log.db-shm", "head", "lock"]) {
    expect([name, statSync(join(directory, name)).mode & 0o777]).toEqual([name, 0o600]);
  }
  await log.close();
});

test("concurrent appends share a commit, up to a limit", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const cursors = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => (await log.claim(asRunId(`r-${index}`))).cursor),
  );
  const started = await Promise.all(cursors.map(async (cursor) => log.append(cursor, nextEvents(cursor, 1))));
  await Promise.all(
    started.map(async (cursor) => log.append(cursor, { ...nextEvents(cursor, 100), run: row() })),
  );
  await log.close();

  const database = new DatabaseSync(join(directory, "log.db"));
  const rows = database.prepare("SELECT count(*) AS count FROM batch").get();
  database.close();
  // One for the start, one for 60 events, six for 6,000.
  expect(rows?.["count"]).toBe(8);
});

test("the space of a removed run is freed, for a run of any length", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  let cursor = await startRun(log, "run", 1);
  for (let batch = 0; batch < 300; batch += 1) {
    cursor = await log.append(cursor, nextEvents(cursor, 1));
  }
  await log.remove(cursor);

  const database = new DatabaseSync(join(directory, "log.db"), { readOnly: true });
  const count = database.prepare("SELECT count(*) AS count FROM chunk");
  await expect.poll(() => count.get()?.["count"]).toBe(0);
  database.close();
  await log.close();
});
