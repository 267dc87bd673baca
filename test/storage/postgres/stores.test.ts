/** @module-tag long */
import { expect, onTestFinished, test } from "vitest";
import { asRunId, startRun } from "../../../src/testing/event-log/subject.ts";
import { testArtifactStore } from "../../../src/testing/stores/artifact-store.ts";
import { testSecretStore } from "../../../src/testing/stores/secret-store.ts";
import { testVersionStore } from "../../../src/testing/stores/version-store.ts";
import type { VersionStore } from "../../../src/ports/version-store.ts";
import { postgresArtifacts, postgresSecrets } from "troupe/postgres";
import { needsPostgres, postgresUrl } from "../../machine/postgres.ts";
import { openEmpty, openSchema, query, schemaOf } from "./logs.ts";

needsPostgres();

const KEY = "a key of thirty-two characters ..";

testArtifactStore({
  name: "PostgreSQL",
  async open() {
    const log = await openEmpty();
    onTestFinished(() => log.close());
    return postgresArtifacts({ url: await postgresUrl(), schema: schemaOf(log) });
  },
});

testSecretStore({
  name: "PostgreSQL",
  async open() {
    const log = await openEmpty();
    const secrets = await postgresSecrets(KEY, { url: await postgresUrl(), schema: schemaOf(log) });
    onTestFinished(() => Promise.all([log.close(), secrets.close()]).then(() => {}));
    return secrets;
  },
});

async function openVersions(schema?: string, secretsKey = KEY): Promise<VersionStore> {
  const log = await (schema === undefined ? openEmpty({ secretsKey }) : openSchema(schema, { secretsKey }));
  onTestFinished(() => log.close());
  const versions = log.versions?.();
  if (versions === undefined) throw new Error("the log keeps no versions");
  return versions;
}

testVersionStore({ name: "PostgreSQL", open: () => openVersions() });

test("a version that was changed in the database, or kept under another key, is none", async () => {
  const log = await openEmpty({ secretsKey: KEY });
  onTestFinished(() => log.close());
  const schema = schemaOf(log);
  const files = { "order.ts": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" };
  const version = { id: "a".repeat(64), keptAt: 1, entry: "order.ts", agents: [], files };
  await log.versions?.().keep(version, async () => Buffer.from("foo"));
  expect(await (await openVersions(schema)).list()).toEqual([version]);
  expect(await (await openVersions(schema, `${KEY} another`)).list()).toEqual([]);
  await query(`UPDATE ${schema}.version SET content = replace(content, 'order.ts', 'other.ts')`);
  expect(await log.versions?.().list()).toEqual([]);
});

test("a log without a key for secrets keeps no versions, because nothing would show who wrote them", async () => {
  const log = await openEmpty();
  onTestFinished(() => log.close());
  expect(log.versions).toBeUndefined();
});

test("a large artifact is stored in chunks of 256 KiB, and read on another node", async () => {
  const log = await openEmpty();
  const other = await openSchema(schemaOf(log));
  onTestFinished(() => Promise.all([log.close(), other.close()]).then(() => {}));
  const body = Buffer.alloc(1_000_000, "0123456789");
  const file = { artifactId: "large", name: "large", mimeType: "text/plain", body, limitBytes: 1_000_000 };
  await log.artifacts?.().put(file);
  const chunks: Uint8Array[] = [];
  for await (const chunk of other.artifacts?.().read("large") ?? []) chunks.push(chunk);
  expect(chunks.map(({ byteLength }) => byteLength)).toEqual([262_144, 262_144, 262_144, 213_568]);
  expect(Buffer.concat(chunks).equals(body)).toBe(true);
});

test("the read of a file that is removed meanwhile fails, and does not end early", async () => {
  const log = await openEmpty();
  onTestFinished(() => log.close());
  const artifacts = log.artifacts?.();
  const body = Buffer.alloc(600_000);
  const file = { artifactId: "file", name: "file", mimeType: "text/plain", body, limitBytes: 1_000_000 };
  await artifacts?.put({ ...file, runId: "run" });
  const chunks = artifacts?.read("file")[Symbol.asyncIterator]();
  await chunks?.next();
  await artifacts?.removeRun("run");
  await expect(chunks?.next()).rejects.toMatchObject({ code: "not_found" });
});

test("a file for which the disk of the database has no room is refused, and the log still takes events", async () => {
  const log = await openEmpty();
  onTestFinished(() => log.close());
  const schema = schemaOf(log);
  await query(`CREATE FUNCTION ${schema}.no_room() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$`);
  await query(`CREATE TRIGGER no_room BEFORE INSERT ON ${schema}.artifact_chunk
    FOR EACH ROW EXECUTE FUNCTION ${schema}.no_room()`);
  const body = Buffer.alloc(600_000);
  const file = { artifactId: "file", name: "file", mimeType: "text/plain", body, limitBytes: 1_000_000 };
  for (const given of [
    body,
    (async function* pieces() {
      yield body;
    })(),
  ])
    await expect(log.artifacts?.().put({ ...file, body: given })).rejects.toMatchObject({
      code: "insufficient_storage",
      message: "the file is not stored: the disk of the database is full",
    });
  expect(await log.artifacts?.().get("file")).toBeUndefined();
  log.release(await startRun(log, "run", 3));
});

test("a file whose type the database cannot store is refused as the fault of its sender", async () => {
  const log = await openEmpty();
  onTestFinished(() => log.close());
  const file = { artifactId: "file", name: "file", body: Buffer.from("some bytes"), limitBytes: 100 };
  await expect(log.artifacts?.().put({ ...file, mimeType: "text/\u0000" })).rejects.toMatchObject({
    code: "invalid_request",
  });
});

test("slow uploads leave the other connections to the log and to the files of agents", async () => {
  const log = await openEmpty({ max: 2, settleMs: 0 });
  const rest = Promise.withResolvers<void>();
  onTestFinished(() => {
    rest.resolve();
    return log.close();
  });
  const upload = async (artifactId: string): Promise<void> => {
    const slow = Promise.withResolvers<void>();
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(600_000);
      slow.resolve();
      await rest.promise;
    }
    const file = { artifactId, name: "slow", mimeType: "text/plain", body: body(), limitBytes: 1_000_000 };
    uploads.push(log.artifacts?.().put(file));
    await slow.promise;
  };
  const uploads: unknown[] = [];
  await Promise.all([upload("one"), upload("two")]);

  expect(await log.list({ limit: 1 })).toEqual({ runs: [] });
  const ofAgent = { artifactId: "file", name: "file", mimeType: "text/plain", limitBytes: 1_000_000 };
  expect(await log.artifacts?.().put({ ...ofAgent, body: Buffer.alloc(600_000) })).toMatchObject({
    sizeBytes: 600_000,
  });
  async function* more(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(600_000);
  }
  const third = log.artifacts?.().put({ ...ofAgent, artifactId: "three", body: more() });
  await expect(third).rejects.toMatchObject({
    code: "overloaded",
    message: "2 files are already being stored on this node",
    details: { retryAfterS: 1 },
  });
  rest.resolve();
  expect(await Promise.all(uploads)).toMatchObject([{ sizeBytes: 600_000 }, { sizeBytes: 600_000 }]);
});

test("a removal of files that stops in the middle is continued by the next one", async () => {
  const log = await openEmpty({ settleMs: 0 });
  onTestFinished(() => log.close());
  const file = { mimeType: "text/plain", limitBytes: 100, body: Buffer.from("bytes"), runId: asRunId("run") };
  // A hundred of them are removed together.
  for (let number = 101; number <= 250; number += 1)
    await log.artifacts?.().put({ ...file, name: "file", artifactId: String(number) });
  const schema = schemaOf(log);
  await query(`CREATE FUNCTION ${schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'too slow' USING ERRCODE = '57014'; END $$`);
  await query(`CREATE TRIGGER refuse BEFORE DELETE ON ${schema}.artifact_chunk
    FOR EACH ROW WHEN (OLD.artifact = '220') EXECUTE FUNCTION ${schema}.refuse()`);
  await expect(log.artifacts?.().removeRun(asRunId("run"))).rejects.toMatchObject({ code: "unavailable" });
  expect(
    await query(`SELECT min(artifact) AS first, count(*)::int AS count FROM ${schema}.artifact_chunk`),
  ).toEqual([{ first: "201", count: 50 }]);

  await query(`DROP TRIGGER refuse ON ${schema}.artifact_chunk`);
  await log.artifacts?.().removeRun(asRunId("run"));
  expect(
    await query(`SELECT id AS left FROM ${schema}.artifact UNION ALL SELECT artifact FROM ${schema}.artifact_run
    UNION ALL SELECT artifact FROM ${schema}.artifact_chunk`),
  ).toEqual([]);
});

test("a secret is encrypted in the database, and needs the key and the name that it was stored with", async () => {
  const log = await openEmpty({ secretsKey: KEY });
  const other = await openSchema(schemaOf(log), { secretsKey: "another key of as many characters" });
  const without = await openSchema(schemaOf(log));
  onTestFinished(() => Promise.all([log, other, without].map((node) => node.close())).then(() => {}));
  await log.secrets?.().put({ token: "hidden", key: "also hidden" });
  const rows = await query(`SELECT value FROM ${schemaOf(log)}.secret`);
  expect(Buffer.concat(rows.map(({ value }) => value as Buffer)).includes("hidden")).toBe(false);

  expect(await log.secrets?.().get("token")).toBe("hidden");
  for (const node of [other, without]) {
    await expect(node.secrets?.().get("token")).rejects.toMatchObject({
      code: "unavailable",
      details: { hint: expect.stringContaining("TROUPE_SECRETS_KEY") as string },
    });
  }
  await expect(without.secrets?.().put({ token: "x" })).rejects.toMatchObject({ code: "unavailable" });
  await query(
    `UPDATE ${schemaOf(log)}.secret SET value = (SELECT value FROM ${schemaOf(log)}.secret WHERE name = 'key')`,
  );
  await expect(log.secrets?.().get("token")).rejects.toMatchObject({ code: "unavailable" });
  expect(await log.secrets?.().get("key")).toBe("also hidden");
});

test("what is under an earlier key gets the first one in the background, and then the earlier one is not needed", async () => {
  const [earlier, later] = [KEY, "a later key of as many characters"];
  const before = await openEmpty({ secretsKey: earlier });
  const schema = schemaOf(before);
  const values = Object.fromEntries(
    Array.from({ length: 250 }, (_, index) => [`secret-${index}`, `value ${index}`]),
  );
  await before.secrets?.().put(values);
  const files = { "order.ts": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" };
  const version = { id: "a".repeat(64), keptAt: 1, entry: "order.ts", agents: [], files };
  await before.versions?.().keep(version, async () => Buffer.from("foo"));
  await before.close();

  // Opened only to read, it changes nothing.
  const reader = await openSchema(schema, { secretsKey: [later, earlier], migrate: false });
  expect(await reader.secrets?.().get("secret-7")).toBe("value 7");
  await reader.close();
  const still = await openSchema(schema, { secretsKey: earlier });
  expect(await still.secrets?.().get("secret-249")).toBe("value 249");
  await still.close();

  const both = await openSchema(schema, { secretsKey: [later, earlier] });
  const replaced = Promise.all(
    Object.entries(values).map(async ([name, value]) =>
      both.secrets?.().replace?.(name, value, `${value} again`),
    ),
  );
  await expect
    .poll(() => both.health().parts)
    .toEqual([
      { name: "secrets", state: "ready", detail: expect.stringContaining("drop the others") as string },
    ]);
  expect(new Set(await replaced)).toEqual(new Set([true]));
  await both.close();

  const after = await openSchema(schema, { secretsKey: later });
  onTestFinished(() => after.close());
  for (const [name, value] of Object.entries(values))
    expect(await after.secrets?.().get(name)).toBe(`${value} again`);
  expect(await after.versions?.().list()).toEqual([version]);
  expect(after.health().parts).toBeUndefined();

  // The earlier key was dropped too early for one of them.
  await query(`UPDATE ${schema}.secret SET value = '\\x00' WHERE name = 'secret-90'`);
  const late = await openSchema(schema, { secretsKey: later });
  onTestFinished(() => late.close());
  await expect
    .poll(() => late.health().parts)
    .toEqual([
      {
        name: "secrets",
        state: "degraded",
        detail: expect.stringMatching(/^1 stored secret .* not readable/) as string,
      },
    ]);
});
