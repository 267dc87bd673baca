import type { SecretStore } from "../../ports/secret-store.ts";

/** Secrets in memory; they are lost with the process. */
export function memorySecrets(): SecretStore {
  const values = new Map<string, string>();
  return {
    get: async (name) => values.get(name),
    async put(added) {
      for (const [name, value] of Object.entries(added)) values.set(name, value);
    },
    async replace(name, before, value) {
      if (values.get(name) !== before) return false;
      values.set(name, value);
      return true;
    },
    names: async () => [...values.keys()],
    async remove(names) {
      for (const name of names) values.delete(name);
    },
  };
}
