import { mkdirSync, readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory } from "./sync-directory.ts";
import type { SecretStore } from "../../ports/secret-store.ts";

/**
 * Secrets in a JSON file that only its owner can read. Each change writes a new file and renames it; changes
 * run one after the other.
 */
export function fsSecrets(path: string): SecretStore {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let values = load(path);
  let last: Promise<void> = Promise.resolve();

  function change(toChanged: (values: ReadonlyMap<string, string>) => Map<string, string>): Promise<void> {
    const done = last.then(async () => {
      const changed = toChanged(values);
      await save(path, changed);
      values = changed;
    });
    // The caller gets the error of a failed change; the next change starts from the file's content.
    last = done.catch(() => {});
    return done;
  }

  return {
    get: (name) => values.get(name),
    put: (added) => change((before) => new Map([...before, ...Object.entries(added)])),
    names: () => values.keys(),
    remove: (names) =>
      change((before) => {
        const after = new Map(before);
        for (const name of names) after.delete(name);
        return after;
      }),
  };
}

function load(path: string): Map<string, string> {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(path, "utf8")) as Record<string, string>));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw new Error("the secrets file cannot be read", { cause: error });
  }
}

async function save(path: string, values: ReadonlyMap<string, string>): Promise<void> {
  const temporary = `${path}.new`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(JSON.stringify(Object.fromEntries(values)));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}
