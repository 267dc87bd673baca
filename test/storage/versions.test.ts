import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fsVersions } from "../../src/storage/fs/versions.ts";
import { parseKeptVersion } from "../../src/storage/shared/kept-version.ts";
import { testVersionStore } from "../../src/testing/stores/version-store.ts";
import { temporaryDirectory } from "./directories.ts";

testVersionStore({
  name: "a directory",
  open: async () => fsVersions(join(temporaryDirectory(), "versions")),
});

const DIGEST = "a".repeat(64);

test("a file that has changed in the directory is not read", async () => {
  const directory = temporaryDirectory();
  const store = fsVersions(directory);
  const files = { "order.ts": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae" };
  const version = { id: DIGEST, keptAt: 1, entry: "order.ts", agents: [], files };
  await store.keep(version, async () => Buffer.from("foo"));
  const [name = ""] = await readdir(join(directory, "files"));
  expect(String(await store.read(name))).toBe("foo");
  await writeFile(join(directory, "files", name), "other");
  await expect(store.read(name)).rejects.toThrow("a kept file is damaged");
});

test.each([
  "../order.ts",
  "/etc/order.ts",
  "lib/../../order.ts",
  "lib//order.ts",
  ".env",
  "lib/.hidden",
  "C:order.ts",
  "lib\\order.ts",
  "order.ts\0",
  "",
])("a version with the path %j is none", (path) => {
  const version = { id: DIGEST, keptAt: 1, entry: path, agents: [], files: { [path]: DIGEST } };
  expect(parseKeptVersion(JSON.stringify(version))).toBeUndefined();
  const good = { ...version, entry: "lib/order.ts", files: { "lib/order.ts": DIGEST } };
  expect(parseKeptVersion(JSON.stringify(good))).toEqual(good);
});
