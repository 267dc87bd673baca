import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { anyOf, apiKeys, sharedToken } from "troupe/auth";
import type { ApiKey, ApiKeys } from "troupe/auth";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";
import { createRuntime } from "troupe";
import type { EventLog, SecretStore } from "troupe";
import { describe, expect, onTestFinished, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { memorySecrets } from "../../src/storage/memory/secrets.ts";
import { needsPostgres } from "../machine/postgres.ts";
import { newDatabase } from "../storage/postgres/databases.ts";
import { stopClocks } from "../machine/stopped-clocks.ts";
import { temporaryDirectory } from "../storage/directories.ts";
import { bearer, startServer } from "./server.ts";
import { shortened } from "../machine/long.ts";

const source = { address: "127.0.0.1" };
const TOKEN = "an-admin-token-of-a-test";

const principalOf = async (keys: ApiKeys, key: string) =>
  keys(new Request("http://localhost/", bearer(key)), source);

function storeOf(log: EventLog): SecretStore {
  const secrets = log.secrets?.();
  if (secrets === undefined) throw new Error("the log has no secret store");
  return secrets;
}

test("a key is its owner's, with its roles, until it expires or is revoked", async () => {
  let now = Date.UTC(2030, 0, 1);
  const keys = apiKeys(memorySecrets(), { now: () => now });
  const { key, info } = await keys.create({
    name: "nightly import",
    owner: "acme",
    roles: ["user", "finance"],
    expiresAt: now + 5_000,
  });
  expect(key).toMatch(/^trp_[0-9a-f]{16}_[\w-]{43}$/);
  expect(await principalOf(keys, key)).toMatchObject({
    id: `key:${info.id}`,
    owner: "acme",
    roles: ["user", "finance"],
    name: "nightly import",
    expiresAt: now + 5_000,
  });
  now += 5_000;
  expect(await principalOf(keys, key)).toBeUndefined();

  const other = await keys.create({ name: "other" });
  expect(await principalOf(keys, other.key)).toMatchObject({ owner: "default", roles: ["user"] });
  await keys.revoke(other.info.id);
  expect(await principalOf(keys, other.key)).toBeUndefined();
  const [newest, oldest] = await keys.list();
  expect(newest).toMatchObject({ id: other.info.id, revokedAt: now, lastUsedAt: now });
  expect(oldest).toMatchObject({ id: info.id, lastUsedAt: now - 5_000 });
});

/** The last part of a key; it may have underscores itself. */
function secretOf(key: string): string {
  return key.split("_").slice(2).join("_");
}

test("a text that is not exactly the key is nobody's", async () => {
  const keys = apiKeys(memorySecrets());
  const { key, info } = await keys.create({ name: "one" });
  const other = await keys.create({ name: "other" });
  const secret = secretOf(key);
  const wrong = [
    key.slice(0, -1),
    `${key}x`,
    key.toUpperCase(),
    key.replace(info.id, other.info.id),
    `trp_${info.id}_`,
    `trp_${info.id}`,
    `trp_${"0".repeat(16)}_${secret}`,
    `trp_../${info.id}_${secret}`,
    key.replace(/.$/, (last) => (last === "A" ? "B" : "A")),
  ];
  for (const text of wrong) expect([text, await principalOf(keys, text)]).toEqual([text, undefined]);
  expect(await principalOf(keys, key)).toBeDefined();
});

test.each([
  [{ name: "" }, /name needs 1 to 128/],
  [{ name: "a\u001b[2J" }, /name needs 1 to 128/],
  [{ name: "x", owner: "two words" }, /owner needs 1 to 128/],
  [{ name: "x", owner: "shared" }, /owner needs/],
  [{ name: "x", roles: [] }, /roles/],
  [{ name: "x", roles: ["a b"] }, /roles/],
  [{ name: "x", expiresAt: 1 }, /expire in the past/],
  [{ name: "x", expiresAt: Number.NaN }, /expire in the past/],
])("the key %o is not made", async (key, message) => {
  await expect(apiKeys(memorySecrets()).create(key)).rejects.toThrow(message);
});

test("keys survive a restart with SQLite, and its files have only a hash of them", async () => {
  const directory = temporaryDirectory();
  const log = sqliteLog(directory);
  const { key, info } = await apiKeys(storeOf(log)).create({ name: "import", owner: "acme" });
  await log.close();

  const again = sqliteLog(directory);
  const keys = apiKeys(storeOf(again));
  // A start sweeps the secrets that no run refers to; keys are not among them.
  const runtime = createRuntime({ agents: [echo], log: again, secrets: storeOf(again) });
  await runtime.ready();
  expect(await principalOf(keys, key)).toMatchObject({ owner: "acme" });
  await keys.revoke(info.id);
  await runtime.close();
  const secret = secretOf(key);
  for (const file of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    expect(readFileSync(join(file.parentPath, file.name), "latin1")).not.toContain(secret);
  }
});

describe("two nodes on PostgreSQL", () => {
  needsPostgres();

  test(
    "a key of one node works on the other, and does not after it was revoked",
    { tags: "long" },
    async () => {
      const url = await newDatabase();
      const open = async (): Promise<ApiKeys> => {
        const log = await postgresLog({ url, nodes: "several", secretsKey: "k".repeat(32) });
        onTestFinished(() => log.close());
        return apiKeys(storeOf(log));
      };
      const [one, other] = [await open(), await open()];
      const { key, info } = await one.create({ name: "import", owner: "acme" });
      expect(await principalOf(other, key)).toMatchObject({ owner: "acme" });
      await one.revoke(info.id);
      await expect.poll(() => principalOf(other, key), { timeout: 5_000 }).toBeUndefined();
    },
  );
});

test("an admin makes, lists and revokes keys at /keys; nobody else does", async () => {
  await using server = await startServer(anyOf(sharedToken(TOKEN), apiKeys(memorySecrets())));
  const post = (token: string, body: unknown): Promise<Response> =>
    server.ask("/keys", {
      method: "POST",
      headers: { ...bearer(token).headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const made = await post(TOKEN, { name: "import", owner: "acme", expires_at: "2999-01-01T00:00:00Z" });
  expect([made.status, made.headers.get("cache-control")]).toEqual([201, "no-store"]);
  const { key, ...info } = (await made.json()) as { readonly key: string; readonly id: string };
  expect(info).toMatchObject({ name: "import", owner: "acme", expires_at: "2999-01-01T00:00:00.000Z" });

  expect((await server.ask("/echo/describe", key)).status).toBe(200);
  const listed = (await (await server.ask("/keys", TOKEN)).json()) as readonly ApiKey[];
  expect(listed).toMatchObject([{ id: info.id, roles: ["user"] }]);
  expect(JSON.stringify(listed)).not.toMatch(/hash|trp_/);

  expect((await post(key, { name: "mine" })).status).toBe(403);
  expect((await server.ask("/keys", key)).status).toBe(403);
  expect((await server.ask("/keys")).status).toBe(401);
  expect((await post("wrong", { name: "x" })).status).toBe(401);
  expect((await post(TOKEN, { name: "x", hash: "y" })).status).toBe(400);
  expect((await post(TOKEN, ["x"])).status).toBe(400);
  expect((await post(TOKEN, { name: "x".repeat(70_000) })).status).toBe(413);
  expect((await post(TOKEN, { name: "x", expires_at: "tomorrow" })).status).toBe(400);

  const end = { method: "DELETE", ...bearer(TOKEN) };
  expect((await server.ask("/keys/0000000000000000", end)).status).toBe(404);
  expect((await server.ask(`/keys/${info.id}`, end)).status).toBe(200);
  expect((await server.ask("/echo/describe", key)).status).toBe(401);
});

test.each(shortened(["revoked", "expired"], 1))(
  "an open stream ends within 5 s when its key is %s",
  async (how) => {
    const clocks = stopClocks();
    const keys = apiKeys(memorySecrets());
    await using server = await startServer(anyOf(sharedToken(TOKEN), keys));
    const { key, info } = await keys.create({
      name: "reader",
      roles: ["admin"],
      ...(how === "expired" && { expiresAt: Date.now() + 2_000 }),
    });
    const reader = await server.ask("/runs?stream=true", key);
    const other = await server.ask("/runs?stream=true", TOKEN);
    expect([reader.status, reader.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    if (how === "revoked") await keys.revoke(info.id);
    // The server looks at its clock every second, and this is what it sees last.
    clocks.advance(4_000);
    await reader.text();
    expect((await server.ask("/runs?stream=true", key)).status).toBe(401);
    await other.body?.cancel();
  },
);

test("wrong keys of a peer are limited; right ones are not", async () => {
  const keys = apiKeys(memorySecrets());
  await using server = await startServer(keys);
  const { key } = await keys.create({ name: "x" });
  const wrong = `trp_${"0".repeat(16)}_${"A".repeat(43)}`;
  const statuses: number[] = [];
  for (let time = 0; time < 12; time += 1) statuses.push((await server.ask("/runs", wrong)).status);
  expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
  expect((await server.ask("/runs", key)).status).toBe(200);
});
