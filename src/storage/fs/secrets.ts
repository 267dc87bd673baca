import { readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory, createDirectory } from "./files.ts";
import { AgentError } from "../../errors.ts";
import type { SecretStore } from "../../ports/secret-store.ts";

/**
 * Secrets in a JSON file that only its owner can read. Each change writes a new file and renames it; changes
 * run one after the other.
 */
export function fsSecrets(path: string): SecretStore {
  createDirectory(dirname(path));
  let values: ReadonlyMap<string, string> = load(path);
  let last: Promise<void> = Promise.resolve();

  function change(
    toChanged: (values: ReadonlyMap<string, string>) => ReadonlyMap<string, string>,
  ): Promise<void> {
    const done = last.then(async () => {
      const changed = toChanged(values);
      if (changed === values) return;
      await save(path, changed);
      values = changed;
    });
    // The caller gets the error of a failed change; the next change starts from the file's content.
    last = done.catch(() => {});
    return done;
  }

  return {
    get: async (name) => values.get(name),
    put: (added) => change((before) => new Map([...before, ...Object.entries(added)])),
    async replace(name, before, value) {
      let isReplaced = false;
      await change((known) => {
        isReplaced = known.get(name) === before;
        return isReplaced ? new Map([...known, [name, value]]) : known;
      });
      return isReplaced;
    },
    names: async () => [...values.keys()],
    remove: (names) =>
      change((before) => {
        const after = new Map(before);
        for (const name of names) after.delete(name);
        return after;
      }),
  };
}

function load(path: string): Map<string, string> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return new Map();
    throw new AgentError("unavailable", `${path} cannot be read: ${code}`, { cause });
  }
  const values = toValues(text);
  if (values) return values;
  throw new AgentError("unavailable", `${path} cannot be read: it is damaged`, {
    hint: "restore it from a backup, or remove it and configure the secrets again",
  });
}

/** The values of a file; `undefined` for a file that `save` did not write. */
function toValues(text: string): Map<string, string> | undefined {
  try {
    const values = JSON.parse(text) as unknown;
    if (typeof values !== "object" || values === null || Array.isArray(values)) return undefined;
    const entries = Object.entries(values as Readonly<Record<string, unknown>>);
    const isWhole = entries.every((entry): entry is [string, string] => typeof entry[1] === "string");
    return isWhole ? new Map(entries) : undefined;
  } catch {
    return undefined;
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
