import type { ArtifactId, RunId } from "../protocol/ids.ts";

/** Stores the bytes of artifacts. A stored artifact never changes. */
export interface ArtifactStore {
  /**
   * Stores the bytes and resolves when they are as durable as the store makes them. Storing an id again
   * replaces the old bytes, so that an interrupted put can be repeated. Fails with `too_large` above
   * `limitBytes`, and then stores nothing.
   */
  put(artifact: NewArtifact): Promise<StoredArtifact>;

  /** Finds an artifact; `undefined` when there is none. */
  get(artifactId: ArtifactId): Promise<StoredArtifact | undefined>;

  /** Lists all artifacts, in any order. */
  list(): AsyncIterable<StoredArtifact>;

  /** Reads the bytes in chunks; fails with `not_found` if there are none. */
  read(artifactId: ArtifactId): AsyncIterable<Uint8Array>;

  /** Adds a run to the runs of artifacts, of which there can be thousands; skips those that do not exist. */
  attach(artifactIds: readonly ArtifactId[], runId: RunId): Promise<void>;

  /** Removes a run from the runs of its artifacts, which stay, also those that no other run has. */
  detach(runId: RunId): Promise<void>;

  /**
   * Detaches the reservations made before a time: runs whose id is `reserved_`, 16 digits of milliseconds since 1970 and
   * more. Then removes the artifacts without a run that were created before that time or at an unknown time. Returns the number of artifacts without a run that remain.
   */
  removeUnattached(before: number): Promise<number>;

  /** The total bytes of all artifacts, or of those that only this run has, which go when it is removed. */
  size(runId?: RunId): Promise<number>;

  /** Removes a run from the runs of its artifacts, and the artifacts that no other run has. */
  removeRun(runId: RunId): Promise<void>;

  close(): Promise<void>;
}

/**
 * The id of a reservation: artifacts are attached to it like to a run, until they are attached to the run of a request.
 * Such ids are in the order of their time, in milliseconds since 1970.
 */
export function reservationId(at: number, unique: string): RunId {
  return `${oldestReservation(at)}_${unique}` as RunId;
}

/** The ids of reservations made before a time are from `RESERVED` on and before this one. */
export function oldestReservation(at: number): string {
  const ms = Math.min(Math.max(Math.trunc(at), 0), Number.MAX_SAFE_INTEGER);
  return `${RESERVED}${String(ms).padStart(16, "0")}`;
}

/** The start of the ids of reservations. The ids of runs start differently. */
export const RESERVED = "reserved_";

/** The bytes of a new artifact and its metadata. */
export interface NewArtifact {
  readonly artifactId: ArtifactId;
  /** The first run it belongs to, if any. */
  readonly runId?: RunId;
  /** In milliseconds since 1970. */
  readonly createdAt?: number;
  /** A name for humans; never used as a file name. A function is called once, when all bytes were read. */
  readonly name: string | (() => Promise<string>);
  readonly mimeType: string;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  readonly limitBytes: number;
}

/** The metadata of an artifact. */
export interface StoredArtifact {
  readonly artifactId: ArtifactId;
  /** The runs it belongs to, and the reservations. It is stored as long as there is one. */
  readonly runIds: readonly RunId[];
  /** In milliseconds since 1970; absent if unknown. */
  readonly createdAt?: number;
  readonly name: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
}
