import { describe, expect, test } from "vitest";
import type { SecretStore } from "../../ports/secret-store.ts";

/** A store under test. */
export interface SecretStoreSubject {
  /** The name of the store in the test report. */
  readonly name: string;
  /** Opens an empty store. */
  open(): Promise<SecretStore>;
}

/** Checks a store against the guarantees of `SecretStore`. Call it in a vitest file. */
export function testSecretStore(subject: SecretStoreSubject): void {
  describe(`secrets in ${subject.name}`, () => {
    test("are found by name until they are removed", async () => {
      const secrets = await subject.open();
      await secrets.put({ "one.token": "a", "one.key": "b", "two.token": "c" });
      await secrets.put({ "three.token": "d" });
      expect(await secrets.get("one.token")).toBe("a");
      const names = ["one.key", "one.token", "three.token", "two.token"];
      expect((await secrets.names()).toSorted()).toEqual(names);
      await secrets.remove(["one.token", "one.key", "three.token", "unknown"]);
      expect(await secrets.names()).toEqual(["two.token"]);
      expect(await secrets.get("one.token")).toBeUndefined();
      expect(await secrets.get("two.token")).toBe("c");
    });

    test("are replaced by new values of their names", async () => {
      const secrets = await subject.open();
      await secrets.put({ token: "old", key: "kept" });
      await secrets.put({ token: "new" });
      expect(await Promise.all(["token", "key"].map((name) => secrets.get(name)))).toEqual(["new", "kept"]);
      expect(await secrets.names()).toHaveLength(2);
    });

    test("are read back unchanged", async () => {
      const secrets = await subject.open();
      const values = { empty: "", "ü.~1.0": "é€😀 \u0000 \n", long: "x".repeat(100_000) };
      await secrets.put(values);
      for (const [name, value] of Object.entries(values)) expect(await secrets.get(name)).toBe(value);
    });

    test("are replaced in one step: of several that saw the same value, one succeeds", async (context) => {
      const secrets = await subject.open();
      if (secrets.replace === undefined) {
        context.skip();
        return;
      }
      const race = (before: string | undefined, ...values: readonly string[]): Promise<readonly boolean[]> =>
        Promise.all(values.map(async (value) => (await secrets.replace?.("token", before, value)) ?? false));
      expect((await race(undefined, "a", "b", "c", "d")).filter(Boolean)).toHaveLength(1);
      const first = await secrets.get("token");
      expect((await race(first, "e", "f", "g", "h")).filter(Boolean)).toHaveLength(1);
      expect(await secrets.replace("token", "never stored", "x")).toBe(false);
      expect(await secrets.replace("token", undefined, "x")).toBe(false);
      expect(await secrets.replace("token", await secrets.get("token"), "x")).toBe(true);
      expect(await secrets.get("token")).toBe("x");
      expect(await secrets.replace("other", "never stored", "x")).toBe(false);
      expect(await secrets.names()).toEqual(["token"]);
    });

    test("that change at the same time are all kept", async () => {
      const secrets = await subject.open();
      const names = Array.from({ length: 20 }, (_, index) => `name-${index}`);
      await Promise.all(names.map((name) => secrets.put({ [name]: name })));
      expect((await secrets.names()).toSorted()).toEqual(names.toSorted());
    });
  });
}
