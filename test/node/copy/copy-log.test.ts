/** @module-tag long */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { copyLog } from "../../../src/node/copy/copy-log.ts";
import type { CopiedItem, Store } from "../../../src/node/copy/copy-log.ts";
import { Unavailable } from "../../../src/ports/event-log.ts";
import type { StoredArtifact } from "../../../src/ports/artifact-store.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import type { Batch } from "../../../src/ports/log-batch.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import { nextEvents, row, asRunId, startRun } from "../../../src/testing/event-log/subject.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { needsPostgres } from "../../machine/postgres.ts";
import { temporaryDirectory } from "../../storage/directories.ts";
import { contentOf, fill } from "./content.ts";
import { KINDS, memoryStore } from "./stores.ts";
import { shortened } from "../../machine/long.ts";

type Kind = keyof typeof KINDS;

const pairs: readonly (readonly [from: Kind, to: Kind])[] = [
  ["memory", "memory"],
  ["SQLite", "PostgreSQL"],
  ["PostgreSQL", "SQLite"],
  ["SQLite", "SQLite"],
  ["PostgreSQL", "PostgreSQL"],
];

describe.each(shortened(pairs, 3))("a copy from %s to %s", (source, target) => {
  if (source === "PostgreSQL" || target === "PostgreSQL") needsPostgres();

  test("has everything, and a second copy adds nothing", async () => {
    const [from, to] = [await KINDS[source](), await KINDS[target]()];
    await fill(from);
    const content = await contentOf(from);
    const first = await copyAll(from, to);
    expect(await contentOf(to)).toEqual(content);
    expect(await contentOf(from)).toEqual(content);
    expect(first.every(({ isNew }) => isNew)).toBe(true);
    // A log in memory keeps no versions.
    const versions = source === "memory" ? {} : { version: 2 };
    expect(countOf(first)).toEqual({
      run: 8,
      "removed run": 3,
      artifact: 3,
      secret: 3,
      spending: 1,
      statistics: 1,
      audit: 1,
      ...versions,
    });
    expect(first.find(({ id }) => id === "z-idle")).toMatchObject({ kind: "run", events: 31 });

    const second = await copyAll(from, to);
    expect(second).toEqual(first.map((copied) => ({ ...copied, isNew: false })));
    expect(await contentOf(to)).toEqual(content);
  });

  test("adds to what the target has, and names a run that differs there", async () => {
    const [from, to] = [await KINDS[source](), await KINDS[target]()];
    await startRun(to.log, "own", 2);
    for (const id of ["a", "b", "c"]) await startRun(from.log, id, 2);
    await copyAll(from, to);
    expect(await to.log.runIds({ limit: 9 })).toEqual(["own", "a", "b", "c"]);

    const { cursor } = await to.log.claim(asRunId("b"));
    await to.log.append(cursor, nextEvents(cursor, 1));
    const refusal = {
      code: "conflict",
      message:
        "run b cannot be copied: it is in both logs and differs: it has 2 events in the source and has 3 events in the target",
    };
    await expect(copyAll(from, to)).rejects.toMatchObject(refusal);
    expect(await to.log.read(asRunId("b"), { after: 0 })).toMatchObject({ head: 3 });
  });
});

describe("a log of a version that stored fractions of milliseconds", () => {
  needsPostgres();

  test.for<Kind>(["memory", "SQLite", "PostgreSQL"])(
    "is copied to %s, with the next whole one",
    async (target) => {
      const data = join(temporaryDirectory(), "data");
      const earlier = sqliteLog(data);
      const requests = [
        { requestId: "sleeps", phase: "running", createdAt: 1, accepted: { n: 1, after: 0 }, wakeAt: 88_000 },
      ] as const;
      const { cursor } = await earlier.claim(asRunId("older"));
      await earlier.append(cursor, {
        ...nextEvents(cursor, 1),
        run: row({ status: "running", started: "sleeps" }),
        requests,
      });
      await earlier.close();
      const database = new DatabaseSync(join(data, "log.db"));
      database.exec("UPDATE request SET wake = 88000.4");
      database.close();

      const log = sqliteLog(data);
      onTestFinished(() => log.close());
      const to = await KINDS[target]();
      await copyAll({ log, artifacts: log.artifacts(), secrets: log.secrets() }, to);
      expect(await to.log.waking({})).toMatchObject([{ requestId: "sleeps", wakeAt: 88_001 }]);
      expect(await to.log.run(asRunId("older"))).toMatchObject({ wakeAt: 88_001 });
    },
  );
});

const differences: Readonly<Record<string, Partial<Batch>>> = {
  "the events": { events: [JSON.stringify({ id: 1, type: "Other" }), JSON.stringify({ id: 2 })] },
  "the number of events": { events: [JSON.stringify({ id: 1, type: "TextOutput" })] },
  "a record": { records: [{ n: 1, after: 1, type: "B" }] },
  "its row": { run: row({ updatedAt: 7 }) },
  "a request": { requests: [{ requestId: "r", phase: "queued", createdAt: 1 }] },
  "an alias": { alias: { agent: "echo", name: "x" } },
  "a reference": { references: [{ thing: "x" }] },
  "a wait": { waits: [{ waitId: 1, requestId: "r", openedAt: 3 }] },
  "the outbox": { outbox: [{ requestId: "r", kind: "reply", event: 1 }] },
  "the dead letters": { outbox: [{ requestId: "r", kind: "dead", event: 1 }] },
  "the snapshot": { snapshot: {} },
};

test.each(Object.entries(differences))("a run that differs in %s is found", async (_, difference) => {
  const [from, to] = [memoryStore(), memoryStore()];
  const records = [{ n: 1, after: 1, type: "A" }];
  const one = (await from.log.claim(asRunId("run"))).cursor;
  const same: Batch = { ...nextEvents(one, 2), records };
  await from.log.append(one, same);
  const other = (await to.log.claim(asRunId("run"))).cursor;
  await to.log.append(other, { ...same, ...difference });
  await expect(copyAll(from, to)).rejects.toMatchObject({ code: "conflict" });
  await expect(copyAll(to, from)).rejects.toMatchObject({ code: "conflict" });
});

test("a file that an earlier version has stored under a name that no database can have is copied", async () => {
  needsPostgres();
  const [from, to] = [memoryStore(), await KINDS.PostgreSQL()];
  await from.artifacts.put({
    artifactId: "file",
    name: "plain",
    mimeType: "text/plain",
    limitBytes: 9,
    body: Buffer.from("bytes"),
  });
  const named = async function* (): AsyncGenerator<StoredArtifact, void> {
    for await (const file of from.artifacts.list()) yield { ...file, name: "a\u0000b \ud83d" };
  };
  const earlier = { ...from, artifacts: { ...from.artifacts, list: named } };
  await copyAll(earlier, to);
  await copyAll(earlier, to);
  expect(await to.artifacts.get("file")).toMatchObject({ name: "a\uFFFDb \uFFFD", sizeBytes: 5 });
});

test("a run that was removed in one of the logs, and a file or a secret that differs, are named", async () => {
  const [from, to] = [memoryStore(), memoryStore()];
  const cursor = await startRun(from.log, "run", 1);
  await to.log.remove(await startRun(to.log, "run", 1));
  await expect(copyAll(from, to)).rejects.toThrow(
    "run run cannot be copied: it is in both logs and differs: it has 1 event in the source and was removed in the target",
  );
  await expect(copyAll(to, from)).rejects.toThrow(/was removed in the source and has 1 event in the target/);
  await from.log.remove(cursor);
  await copyAll(from, to);

  const file = { artifactId: "file", name: "n", mimeType: "m", limitBytes: 9 } as const;
  await from.artifacts.put({ ...file, body: Buffer.from("one") });
  await to.artifacts.put({ ...file, body: Buffer.from("two") });
  await expect(copyAll(from, to)).rejects.toThrow(
    "artifact file cannot be copied: it is in both stores and differs",
  );
  await from.secrets.put({ key: "one" });
  await to.secrets.put({ key: "two" });
  await expect(copyAll(from, to)).rejects.toThrow("secret key is in both stores and differs");
});

test(
  "a copy that is interrupted at any write, before or after it, is completed by the next one",
  { tags: "long" },
  async () => {
    const from = memoryStore();
    await fill(from);
    const content = await contentOf(from);
    for (const isWritten of [false, true]) {
      let writes = 0;
      for (let fault = 1; ; fault += 1) {
        const to = memoryStore();
        writes = 0;
        const interrupted = interruptedAt(to, fault, isWritten, () => (writes += 1));
        const isWhole = await copyAll(from, interrupted).then(
          () => true,
          (error: unknown) => {
            expect(error).toBeInstanceOf(Unavailable);
            return false;
          },
        );
        await copyAll(from, to);
        expect(await contentOf(to), `write ${fault}`).toEqual(content);
        if (isWhole) break;
      }
      expect(writes).toBeGreaterThan(25);
    }
  },
);

test("a long run is copied in small appends", async () => {
  const [from, to] = [memoryStore(), memoryStore()];
  let { cursor } = await from.log.claim(asRunId("long"));
  for (let at = 0; at < 300; at += 1) {
    const event = JSON.stringify({ id: at + 1, content: "x".repeat(100_000) });
    cursor = await from.log.append(cursor, { events: [event], records: [], run: row() });
  }
  const sizes: number[] = [];
  const append: EventLog["append"] = (at, batch) => {
    sizes.push(toEncoded(batch.events).reduce((sum, text) => sum + text.length, 0));
    return to.log.append(at, batch);
  };
  await copyAll(from, { ...to, log: { ...to.log, append } });
  expect(sizes.length).toBeGreaterThan(25);
  expect(Math.max(...sizes)).toBeLessThan(1_200_000);
});

async function copyAll(from: Store, to: Store): Promise<readonly CopiedItem[]> {
  const all: CopiedItem[] = [];
  for await (const copied of copyLog(from, to)) all.push(copied);
  return all;
}

function countOf(all: readonly CopiedItem[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { kind } of all) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** A store whose process dies at a write: nothing is written from then on. */
function interruptedAt(to: Store, fault: number, isWritten: boolean, count: () => number): Store {
  let isDead = false;
  const write =
    <Args extends readonly unknown[], Result>(work: (...args: Args) => Result | Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const isLast = !isDead && count() === fault;
      if (isDead || (isLast && !isWritten)) {
        isDead = true;
        throw new Unavailable("the process has died");
      }
      isDead = isLast;
      const result = await work(...args);
      if (isLast) throw new Unavailable("the process has died");
      return result;
    };
  return {
    log: { ...to.log, append: write(to.log.append), remove: write(to.log.remove) },
    artifacts: { ...to.artifacts, put: write(to.artifacts.put), attach: write(to.artifacts.attach) },
    secrets: { ...to.secrets, put: write(to.secrets.put) },
  };
}
