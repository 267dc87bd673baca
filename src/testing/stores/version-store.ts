import { describe, expect, test } from "vitest";
import type { KeptVersion, VersionStore } from "../../ports/version-store.ts";

/** A store under test. */
export interface VersionStoreSubject {
  /** The name of the store in the test report. */
  readonly name: string;
  /** Opens an empty store. */
  open(): Promise<VersionStore>;
}

/** Checks a store against the guarantees of `VersionStore`. Call it in a vitest file. */
export function testVersionStore(subject: VersionStoreSubject): void {
  describe(`versions in ${subject.name}`, () => {
    test("are listed, the newest first, with their files", async () => {
      const store = await subject.open();
      expect(await store.list()).toEqual([]);
      const one = await versionOf("1", 1_000, { "agents/order.ts": "one", "lib/words.ts": "shared" });
      const two = await versionOf("2", 2_000, { "agents/order.ts": "two", "lib/words.ts": "shared" });
      await store.keep(one.version, one.read);
      await store.keep(two.version, two.read);
      expect(await store.list()).toEqual([two.version, one.version]);
      for (const [path, digest] of Object.entries(one.version.files))
        expect([...(await store.read(digest))]).toEqual([...(await one.read(path))]);
    });

    test("that are kept again get the new time, and equal files are not read again", async () => {
      const store = await subject.open();
      const { version, read } = await versionOf("1", 1_000, { "agents/order.ts": "one" });
      await store.keep(version, read);
      const later = { ...version, keptAt: 3_000 };
      await store.keep(later, async () => {
        throw new Error("it is read again");
      });
      expect(await store.list()).toEqual([later]);
    });

    test("are kept whole or not at all", async () => {
      const store = await subject.open();
      const { version, read } = await versionOf("1", 1_000, {
        "agents/order.ts": "one",
        "lib/words.ts": "w",
      });
      const keeping = store.keep(version, async (path) => {
        if (path.startsWith("lib")) throw new Error("it is gone");
        return read(path);
      });
      await expect(keeping).rejects.toThrow("it is gone");
      expect(await store.list()).toEqual([]);
    });

    test("are removed with the files that no other one has", async () => {
      const store = await subject.open();
      const one = await versionOf("1", 1_000, { "agents/order.ts": "one", "lib/words.ts": "shared" });
      const two = await versionOf("2", 2_000, { "agents/order.ts": "two", "lib/words.ts": "shared" });
      await store.keep(one.version, one.read);
      await store.keep(two.version, two.read);
      await store.remove([one.version.id, "0".repeat(64)]);
      expect(await store.list()).toEqual([two.version]);
      await expect(store.read(one.version.files["agents/order.ts"] ?? "")).rejects.toMatchObject({
        code: "unavailable",
      });
      for (const digest of Object.values(two.version.files)) await store.read(digest);
    });

    test("are listed while others are removed", async () => {
      const store = await subject.open();
      const kept = await versionOf("kept", 5_000, { "agents/order.ts": "kept" });
      await store.keep(kept.version, kept.read);
      for (let round = 0; round < 5; round += 1) {
        const ids: string[] = [];
        for (let index = 0; index < 20; index += 1) {
          const { version, read } = await versionOf(`${round} ${index}`, 1_000, {
            "agents/order.ts": "gone",
          });
          await store.keep(version, read);
          ids.push(version.id);
        }
        let isRemoving = true;
        const removing = store.remove(ids).finally(() => (isRemoving = false));
        // It is asked again and again, so that some of it comes between the removal of two of them.
        while (isRemoving) expect(await store.list()).toContainEqual(kept.version);
        await removing;
        expect(await store.list()).toEqual([kept.version]);
      }
    });
  });
}

interface GivenVersion {
  readonly version: KeptVersion;
  read(path: string): Promise<Uint8Array>;
}

/** A version with these files, by their paths. */
async function versionOf(
  name: string,
  keptAt: number,
  contents: Readonly<Record<string, string>>,
): Promise<GivenVersion> {
  const files: Record<string, string> = {};
  for (const [path, content] of Object.entries(contents)) files[path] = await digestOf(content);
  const agents = [{ name: "order", version: name, compatible: [] }];
  return {
    version: { id: await digestOf(name), keptAt, entry: "agents/order.ts", agents, files },
    read: async (path) => new TextEncoder().encode(contents[path]),
  };
}

async function digestOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
