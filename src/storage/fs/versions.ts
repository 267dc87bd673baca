import { hash } from "node:crypto";
import { open, readFile, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AgentError, fieldOf } from "../../errors.ts";
import type { KeptVersion, VersionStore } from "../../ports/version-store.ts";
import { parseKeptVersion } from "../shared/kept-version.ts";
import { createDirectory, syncDirectory } from "./files.ts";

/**
 * Versions in a directory that only its owner can read: each file once, named by its digest, and a list for each version. A
 * list is written after its files.
 */
export function fsVersions(directory: string): VersionStore {
  const lists = join(directory, "lists");
  const contents = join(directory, "files");

  async function list(): Promise<readonly KeptVersion[]> {
    const names = await namesIn(lists);
    const read = names.filter((name) => name.endsWith(LIST)).map((name) => readVersion(join(lists, name)));
    return (await Promise.all(read))
      .filter((version) => version !== undefined)
      .toSorted((a, b) => b.keptAt - a.keptAt);
  }

  return {
    list,
    async keep(version, read) {
      createDirectory(lists);
      createDirectory(contents);
      const known = new Set(await namesIn(contents));
      for (const [path, digest] of Object.entries(version.files)) {
        if (known.has(digest)) continue;
        await write(join(contents, digest), await read(path));
        known.add(digest);
      }
      await syncDirectory(contents);
      await write(join(lists, `${version.id}${LIST}`), JSON.stringify(version));
      await syncDirectory(lists);
    },
    async read(digest) {
      const bytes = await readFile(join(contents, digest)).catch((cause: unknown) => {
        throw new AgentError("unavailable", `a kept file cannot be read: ${String(fieldOf(cause, "code"))}`, {
          cause,
        });
      });
      if (hash("sha256", bytes) !== digest) throw new AgentError("unavailable", "a kept file is damaged");
      return bytes;
    },
    async remove(ids) {
      if (ids.length === 0) return;
      for (const id of ids) await rm(join(lists, `${id}${LIST}`), { force: true });
      const used = new Set((await list()).flatMap(({ files }) => Object.values(files)));
      for (const name of await namesIn(contents))
        if (!used.has(name)) await rm(join(contents, name), { force: true });
    },
  };
}

const LIST = ".json";

async function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((error: unknown) => {
    if (fieldOf(error, "code") === "ENOENT") return [];
    throw error;
  });
}

/** `undefined` for a version that was removed after its name was read, and for one that cannot be understood. */
async function readVersion(path: string): Promise<KeptVersion | undefined> {
  try {
    return parseKeptVersion(await readFile(path, "utf8"));
  } catch (error) {
    if (fieldOf(error, "code") === "ENOENT") return undefined;
    throw error;
  }
}

/** Writes a file whole, or not at all. */
async function write(path: string, content: Uint8Array | string): Promise<void> {
  const temporary = `${path}.new`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
