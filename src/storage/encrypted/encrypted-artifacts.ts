import type { ArtifactReader, ArtifactStore, StoredArtifact } from "../../ports/artifact-store.ts";
import type { ArtifactId, RunId } from "../../protocol/ids.ts";
import { draftOf } from "../shared/new-artifact.ts";
import { unlessUnreadable } from "./encrypted-reader.ts";
import { SEAL_BYTES, decrypt, encrypt } from "./key-ring.ts";
import type { KeyRing, NamedKey } from "./key-ring.ts";

/**
 * Files of which a store gets only encrypted names and bytes. The bytes begin with the name of the key; then follow chunks, each
 * encrypted with its place, the last one marked as such, so that none can be left out.
 */
export function encryptedArtifacts(
  store: ArtifactStore,
  ring: KeyRing,
  ownerOfRun: (runId: RunId) => Promise<string>,
): ArtifactStore {
  return {
    ...passedOn(store),
    ...decryptedArtifacts(store, ring),
    async put(artifact) {
      const { artifactId, runId, owner: given } = artifact;
      const owner = given ?? (runId === undefined ? undefined : await ownerOfRun(runId));
      const key = owner === undefined ? undefined : await ring.newest(owner);
      if (owner === undefined || key === undefined) return store.put(artifact);
      const draft = draftOf(artifact);
      let sizeBytes = 0;
      const stored = await store.put({
        ...artifact,
        name: async () => {
          const { name } = draft.toStored(sizeBytes, undefined);
          return `${PREFIX}${owner} ${await ring.seal(owner, `name ${artifactId}`, name)}`;
        },
        body: sealBody(draft.body, artifactId, key, (bytes) => {
          sizeBytes += bytes;
        }),
        limitBytes: Infinity,
      });
      return openInfo(ring, stored);
    },
    async *list(options) {
      for await (const info of store.list(options)) yield await openInfo(ring, info);
    },
  };
}

/** Reads files of which a store has only encrypted names and bytes. */
export function decryptedArtifacts(store: ArtifactReader, ring: KeyRing): ArtifactReader {
  return {
    async get(artifactId) {
      const info = await store.get(artifactId);
      return info && openInfo(ring, info);
    },
    async *read(artifactId) {
      const info = await store.get(artifactId);
      const sealed = info && readName(info.name);
      if (sealed === undefined) yield* store.read(artifactId);
      else yield* openBody(store.read(artifactId), artifactId, (id) => ring.find(sealed.owner, id));
    },
  };
}

async function openInfo(ring: KeyRing, info: StoredArtifact): Promise<StoredArtifact> {
  const { artifactId, name: stored, sizeBytes } = info;
  const sealed = readName(stored);
  if (sealed === undefined) return info;
  const name = await ring
    .open(sealed.owner, `name ${artifactId}`, sealed.name)
    .catch(unlessUnreadable(() => undefined));
  return { ...info, name: name ?? "unreadable", sizeBytes: toPlainBytes(sizeBytes) };
}

/** What needs neither names nor bytes. */
function passedOn(store: ArtifactStore): Omit<ArtifactStore, "get" | "list" | "put" | "read"> {
  return {
    attach: (artifactIds, runId) => store.attach(artifactIds, runId),
    detach: (runId) => store.detach(runId),
    removeUnattached: (before) => store.removeUnattached(before),
    unattached: () => store.unattached(),
    size: (runId) => store.size(runId),
    has: (runId) => store.has(runId),
    removeRun: (runId) => store.removeRun(runId),
    close: () => store.close(),
  };
}

/** An encrypted name as a store has it, with its owner. */
function readName(stored: string): { readonly owner: string; readonly name: string } | undefined {
  const [, owner = "", name = ""] = /^encrypted ([\x21-\x7e]{1,128}) (e1\.[\w.-]+)$/.exec(stored) ?? [];
  return name === "" ? undefined : { owner, name };
}

async function* sealBody(
  body: AsyncIterable<Uint8Array>,
  artifactId: ArtifactId,
  key: NamedKey,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void> {
  yield new TextEncoder().encode(key.id);
  for await (const { bytes, index, isLast } of inChunks(body, CHUNK_BYTES)) {
    count(bytes.byteLength);
    yield await encrypt(key, placeOf(artifactId, index, isLast), bytes);
  }
}

async function* openBody(
  body: AsyncIterable<Uint8Array>,
  artifactId: ArtifactId,
  findKey: (id: string) => Promise<NamedKey>,
): AsyncGenerator<Uint8Array, void> {
  let key: NamedKey | undefined;
  const rest = async function* (): AsyncGenerator<Uint8Array, void> {
    let start = new Uint8Array(0);
    for await (const chunk of body) {
      if (key !== undefined) {
        yield chunk;
        continue;
      }
      start = joined([start, chunk]);
      if (start.byteLength < KEY_BYTES) continue;
      key = await findKey(new TextDecoder().decode(start.subarray(0, KEY_BYTES)));
      yield start.subarray(KEY_BYTES);
    }
  };
  for await (const { bytes, index, isLast } of inChunks(rest(), CHUNK_BYTES + SEAL_BYTES)) {
    if (key === undefined) return;
    yield await decrypt(key, placeOf(artifactId, index, isLast), bytes);
  }
}

/** Divides bytes into chunks of a size; the last one is shorter or full, and empty only if there are no bytes. */
async function* inChunks(body: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Chunk, void> {
  let kept: Uint8Array[] = [];
  let length = 0;
  let index = 0;
  for await (const bytes of body) {
    // A copy, because the caller may reuse the memory of a chunk.
    kept.push(bytes.slice());
    length += bytes.byteLength;
    // A full chunk is kept back until it is known whether it is the last one.
    if (length <= size) continue;
    const all = joined(kept);
    let at = 0;
    for (; all.byteLength - at > size; at += size, index += 1)
      yield { bytes: all.slice(at, at + size), index, isLast: false };
    kept = [all.slice(at)];
    length = all.byteLength - at;
  }
  yield { bytes: joined(kept), index, isLast: true };
}

interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly index: number;
  readonly isLast: boolean;
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

function placeOf(artifactId: ArtifactId, index: number, isLast: boolean): string {
  return `file ${artifactId} ${index}${isLast ? " end" : ""}`;
}

/** The bytes of a file of which a store has so many. */
function toPlainBytes(stored: number): number {
  const body = stored - KEY_BYTES;
  return body - SEAL_BYTES * Math.max(1, Math.ceil(body / (CHUNK_BYTES + SEAL_BYTES)));
}

const PREFIX = "encrypted ";
const CHUNK_BYTES = 65_536;

/** The name of a key, in the bytes before the chunks. */
const KEY_BYTES = 8;
