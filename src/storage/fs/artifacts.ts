import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, statfs, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AgentError } from "../../errors.ts";
import { isReservation, oldestReservation } from "../../ports/artifact-store.ts";
import type {
  ArtifactFigures,
  ArtifactReader,
  ArtifactStore,
  NewArtifact,
  StoredArtifact,
} from "../../ports/artifact-store.ts";
import type { ArtifactId, RunId } from "../../protocol/ids.ts";
import { isId } from "../../protocol/ids.ts";
import { Gathered } from "../../shared/gathered.ts";
import { createDirectory, syncDirectory } from "./files.ts";
import { draftOf } from "../shared/new-artifact.ts";

/** What `fsArtifacts` takes. */
export interface FsArtifactsOptions {
  /**
   * The free bytes of the volume that files leave to the log: a file for which they would not remain is refused with
   * `insufficient_storage`. Default: 5 % of the volume, at most 1 GiB.
   */
  readonly minFreeBytes?: number;
}

/** Reads the artifacts in the directory of a store, which another process may have open. */
export function readArtifacts(directory: string): ArtifactReader {
  async function get(artifactId: ArtifactId): Promise<StoredArtifact | undefined> {
    if (!isId(artifactId)) return undefined;
    const text = await readFile(`${toPath(directory, artifactId)}.json`, "utf8").catch(missing);
    return text === undefined ? undefined : fromFile(JSON.parse(text) as ArtifactFile);
  }

  async function* read(artifactId: ArtifactId): AsyncIterable<Uint8Array> {
    if ((await get(artifactId)) === undefined) {
      throw new AgentError("not_found", `there is no artifact ${artifactId}`);
    }
    yield* createReadStream(`${toPath(directory, artifactId)}.bytes`) as AsyncIterable<Uint8Array>;
  }

  return { get, read };
}

/**
 * An artifact store in its own directory, which it creates if needed. File names consist only of ids; the
 * metadata of an artifact is in a second file beside its bytes.
 */
export function fsArtifacts(path: string, { minFreeBytes }: FsArtifactsOptions = {}): ArtifactStore {
  // The working directory of the process may be removed, below which Node's recursive mkdir never returns.
  const directory = resolve(path);
  // Unfinished uploads; after a crash these files belong to no artifact.
  const incoming = join(directory, "incoming");
  // For each run, a folder of empty files with the names of its artifacts.
  const runs = join(directory, "runs");
  // The same for artifacts without a run.
  const unattached = join(directory, "unattached");
  // Changes of metadata run one after the other, because each one depends on the one before.
  let last: Promise<unknown> = Promise.resolve();
  const ready = prepare();
  // A failure is reported by the calls that await it.
  ready.catch(() => {});
  const { get, read } = readArtifacts(directory);

  async function prepare(): Promise<void> {
    createDirectory(directory);
    await mkdir(runs, { recursive: true, mode: 0o700 });
    await mkdir(unattached, { recursive: true, mode: 0o700 });
    await rm(incoming, { recursive: true, force: true });
    await mkdir(incoming, { mode: 0o700 });
    const names = new Set(await readdir(directory));
    for (const name of await readdir(unattached)) {
      if (!names.has(`${name}.json`)) await rm(join(unattached, name), { force: true });
    }
    for (const name of names) {
      // Bytes without metadata: a crash came before the second file was written.
      const isLost = name.endsWith(".bytes") && !names.has(name.replace(/bytes$/, "json"));
      if (isLost) await rm(join(directory, name), { force: true });
    }
  }

  async function put(artifact: NewArtifact): Promise<StoredArtifact> {
    const { artifactId, runId } = artifact;
    const path = toPath(directory, artifactId);
    const draft = draftOf(artifact);
    await ready;
    await addTo(runId, artifactId);
    let sizeBytes: number;
    try {
      sizeBytes = await writeWhole(`${path}.bytes`, whileThereIsRoom(draft.body));
    } catch (error) {
      const isNew = runId === undefined && (await get(artifactId)) === undefined;
      if (isNew) await rm(join(unattached, artifactId), { force: true });
      throw error;
    }
    return change(async () => {
      const info = draft.toStored(sizeBytes, await get(artifactId));
      await write(info);
      await syncDirectory(directory);
      return info;
    });
  }

  /** Passes on the bytes of a file as long as the volume has room for them. */
  async function* whileThereIsRoom(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    let unchecked = Infinity;
    for await (const chunk of body) {
      unchecked += chunk.byteLength;
      if (unchecked >= ROOM_CHECK_BYTES) {
        await checkRoom(directory, chunk.byteLength, minFreeBytes);
        unchecked = 0;
      }
      yield chunk;
    }
  }

  function change<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = last.then(work);
    // The caller gets the error.
    last = done.catch(() => {});
    return done;
  }

  /** Writes the metadata of an artifact, which exists as soon as this file exists; `directory` is not synced yet. */
  async function write(info: StoredArtifact): Promise<void> {
    await writeWhole(`${toPath(directory, info.artifactId)}.json`, [Buffer.from(JSON.stringify(info))]);
  }

  /** Adds an artifact to the folder of its run, or of those without a run. */
  async function addTo(runId: RunId | undefined, artifactId: ArtifactId): Promise<void> {
    const folder = runId === undefined ? unattached : toPath(runs, runId);
    // Not with those above it: an artifact must not hide that the directory was removed.
    await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT")
        throw new AgentError("unavailable", `files cannot be kept: the directory ${directory} was removed`, {
          hint: "start the server again; what its data directory had is lost unless there is a copy",
          cause: error,
        });
      if (error.code !== "EEXIST") throw error;
    });
    await writeFile(join(folder, artifactId), "", { mode: 0o600 });
  }

  /** Writes a temporary file, syncs it and renames it into place. */
  async function writeWhole(
    path: string,
    body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  ): Promise<number> {
    const unfinished = join(incoming, randomUUID());
    try {
      const bytes = await writeAndSync(unfinished, body);
      await rename(unfinished, path);
      return bytes;
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  async function* list({ waiting = false } = {}): AsyncIterable<StoredArtifact> {
    await ready;
    for (const artifactId of await (waiting ? waitingIds() : allIds())) {
      const info = await get(artifactId);
      if (info !== undefined && (!waiting || info.runIds.every(isReservation))) yield info;
    }
  }

  async function attach(artifactIds: readonly ArtifactId[], runId: RunId): Promise<void> {
    await ready;
    await change(async () => {
      const attached: ArtifactId[] = [];
      await forEachOf(artifactIds, async (artifactId) => {
        const info = await get(artifactId);
        if (info === undefined || info.runIds.includes(runId)) return;
        attached.push(artifactId);
        // First the folder, so that the removal of the run finds the artifact.
        await addTo(runId, artifactId);
        await write({ ...info, runIds: [...info.runIds, runId] });
      });
      if (attached.length === 0) return;
      await syncDirectory(directory);
      await forEachOf(attached, (artifactId) => rm(join(unattached, artifactId), { force: true }));
    });
  }

  async function detach(runId: RunId): Promise<void> {
    await ready;
    await change(() =>
      removeFromRuns([runId], async (artifactId) => {
        // An upload that has failed is in the folder of its run, and has no artifact.
        if ((await get(artifactId)) !== undefined) await addTo(undefined, artifactId);
      }),
    );
  }

  async function removeUnattached(before: number): Promise<number> {
    await ready;
    const oldest = oldestReservation(before);
    const reserved = new Set<ArtifactId>();
    for (const name of (await readdir(runs)).filter(isReservation)) {
      if (name < oldest) await detach(name);
      else for (const artifactId of await idsOf(name)) reserved.add(artifactId);
    }
    return reserved.size + (await change(() => removeOld(before)));
  }

  async function removeOld(before: number): Promise<number> {
    let kept = 0;
    for (const name of await readdir(unattached)) {
      const artifactId = name as ArtifactId;
      const info = await get(artifactId);
      const stays = info === undefined || (info.createdAt ?? 0) >= before;
      if (info?.runIds.length === 0 && !stays) await remove(artifactId);
      if (stays) kept += 1;
      else await rm(join(unattached, artifactId), { force: true });
    }
    return kept;
  }

  async function unattachedFigures(): Promise<ArtifactFigures> {
    await ready;
    let [files, bytes] = [0, 0];
    await forEachOf(await waitingIds(), async (artifactId) => {
      const info = await get(artifactId);
      if (info === undefined || !info.runIds.every(isReservation)) return;
      files += 1;
      bytes += info.sizeBytes;
    });
    return { files, bytes };
  }

  async function size(runId?: RunId): Promise<number> {
    await ready;
    let bytes = 0;
    for (const artifactId of runId === undefined ? await allIds() : await idsOf(runId)) {
      const info = await get(artifactId);
      const isCounted = runId === undefined || info?.runIds.every((other) => other === runId);
      if (info !== undefined && isCounted) bytes += info.sizeBytes;
    }
    return bytes;
  }

  async function has(runId: RunId): Promise<boolean> {
    await ready;
    return (await idsOf(runId)).length > 0;
  }

  async function allIds(): Promise<readonly ArtifactId[]> {
    const names = await readdir(directory);
    return names.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5) as ArtifactId);
  }

  /** The artifacts without a run, and those with reservations. */
  async function waitingIds(): Promise<readonly ArtifactId[]> {
    const ids = new Set((await readdir(unattached)) as ArtifactId[]);
    for (const name of (await readdir(runs)).filter(isReservation))
      for (const artifactId of await idsOf(name)) ids.add(artifactId);
    return [...ids];
  }

  async function idsOf(runId: RunId): Promise<readonly ArtifactId[]> {
    return (await readdir(toPath(runs, runId)).catch(missing)) ?? [];
  }

  // Many runs that are removed at once share the sync of the directory.
  const removals = new Gathered<RunId>((runIds) => change(() => removeFromRuns(runIds, remove)), {
    limit: AT_ONCE,
  });

  async function removeRun(runId: RunId): Promise<void> {
    toPath(runs, runId);
    await ready;
    await removals.add(runId);
  }

  /** `release` gets each artifact that no other run has, and may remove it. */
  async function removeFromRuns(
    runIds: readonly RunId[],
    release: (artifactId: ArtifactId) => Promise<void>,
  ): Promise<void> {
    const held = await Promise.all(runIds.map(idsOf));
    const artifactIds = [...new Set(held.flat())];
    await forEachOf(artifactIds, async (artifactId) => {
      const before = await get(artifactId);
      const rest = before?.runIds.filter((other) => !runIds.includes(other)) ?? [];
      if (rest.length === 0) await release(artifactId);
      const info = await get(artifactId);
      if (info !== undefined && rest.length < info.runIds.length) await write({ ...info, runIds: rest });
    });
    if (artifactIds.length > 0) await syncDirectory(directory);
    await forEachOf(runIds, (runId) => rm(toPath(runs, runId), { recursive: true, force: true }));
  }

  async function remove(artifactId: ArtifactId): Promise<void> {
    const path = toPath(directory, artifactId);
    await rm(`${path}.json`, { force: true });
    await rm(`${path}.bytes`, { force: true });
  }

  return {
    put,
    get,
    list,
    read,
    attach,
    detach,
    removeUnattached,
    has,
    unattached: unattachedFigures,
    size,
    removeRun,
    close: () => ready,
  };
}

/** How much of a file is written between two looks at the free space of the volume. */
const ROOM_CHECK_BYTES = 1_048_576;

const RESERVE = { share: 0.05, mostBytes: 1_073_741_824 };

/** Throws `insufficient_storage` if the volume of a directory would have too little free space with more bytes. */
async function checkRoom(directory: string, bytes: number, minFreeBytes: number | undefined): Promise<void> {
  const { bavail, blocks, bsize } = await statfs(directory);
  const least = minFreeBytes ?? Math.min(blocks * bsize * RESERVE.share, RESERVE.mostBytes);
  if (bavail * bsize - bytes >= least) return;
  const kept = `the ${Math.ceil(least / 1_048_576)} MiB that are kept for events`;
  throw new AgentError(
    "insufficient_storage",
    `the file is not stored: the disk has no room beside ${kept}`,
    {
      hint: "free space on the disk, or have the server remove old runs with their files (--retain-days, --retain-mb)",
    },
  );
}

/** The number of artifacts that are processed concurrently, so that the file system writes them to the disk together. */
const AT_ONCE = 64;

/** Processes artifacts or runs; ends after all work it has started, also if some of it fails. */
async function forEachOf<Id extends string>(
  ids: readonly Id[],
  work: (id: Id) => Promise<void>,
): Promise<void> {
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const ended = await Promise.allSettled(ids.slice(start, start + AT_ONCE).map(work));
    for (const one of ended) if (one.status === "rejected") throw one.reason;
  }
}

/** The metadata as a file has it; older files name one run. */
type ArtifactFile = StoredArtifact & { readonly runId?: RunId };

function fromFile({ runId, ...info }: ArtifactFile): StoredArtifact {
  return { ...info, runIds: info.runIds ?? (runId === undefined ? [] : [runId]) };
}

function toPath(directory: string, id: string): string {
  if (!isId(id)) throw new AgentError("invalid_request", "an id may only have letters, digits, _ and -");
  return join(directory, id);
}

/** Writes the bytes of an artifact, up to its limit. */
async function writeAndSync(
  path: string,
  body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<number> {
  const file = await open(path, "wx", 0o600);
  try {
    let bytes = 0;
    for await (const chunk of body) {
      await file.writeFile(chunk);
      bytes += chunk.byteLength;
    }
    await file.sync();
    return bytes;
  } finally {
    await file.close();
  }
}

/** Returns `undefined` for the error of a file that does not exist. */
function missing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
