import { readFileSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory, createDirectory } from "./files.ts";
import { AgentError } from "../../errors.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import { Gathered } from "../../shared/gathered.ts";

type Values = ReadonlyMap<string, string>;

/**
 * Secrets in a JSON file that only its owner can read. A change writes a new file and renames it; those that come meanwhile
 * are written together.
 */
export function fsSecrets(path: string): SecretStore {
  createDirectory(dirname(path));
  let values: Values = load(path);

  // The callers get the error of failed changes; the next ones start from the file's content.
  const changes = new Gathered<(values: Values) => Values>(async (toChanged) => {
    const changed = toChanged.reduce((before, change) => change(before), values);
    if (changed === values) return;
    await save(path, changed);
    values = changed;
  });
  const change = (toChanged: (values: Values) => Values): Promise<void> => changes.add(toChanged);

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
