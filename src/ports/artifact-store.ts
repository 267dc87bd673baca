import type { ArtifactId, RunId } from "../protocol/ids.ts";

/** Stores the bytes of artifacts. A stored artifact never changes. */
export interface ArtifactStore {
  /**
   * Stores the bytes and resolves when they are as durable as the store makes them. Storing an id again
   * replaces the old bytes, so that an interrupted put can be repeated. Fails with `too_large` above
   * `limitBytes`, and with `insufficient_storage` if there is no room for files, and then stores nothing.
   */
  put(artifact: NewArtifact): Promise<StoredArtifact>;

  /** Finds an artifact; `undefined` when there is none. */
  get(artifactId: ArtifactId): Promise<StoredArtifact | undefined>;

  /**
   * Lists artifacts in any order: all, or with `waiting` those without a run, which a store finds without looking at the others.
   * Those that have only reservations are among them.
   */
  list(options?: { readonly waiting?: boolean }): AsyncIterable<StoredArtifact>;

  /** Reads the bytes in chunks; fails with `not_found` if there are none. */
  read(artifactId: ArtifactId): AsyncIterable<Uint8Array>;

  /** Adds a run to the runs of artifacts, of which there can be thousands; skips those that do not exist. */
  attach(artifactIds: readonly ArtifactId[], runId: RunId): Promise<void>;

  /** Removes a run from the runs of its artifacts, which stay, also those that no other run has. */
  detach(runId: RunId): Promise<void>;

  /**
   * Removes the artifacts without a run that were created before a time, or at an unknown time. Before that, it detaches
   * the reservations that were made before this time. The id of a reservation is `reserved_`, its time in milliseconds
   * since 1970 with 16 digits, `_` and any other text. Returns the number of artifacts that a later call may remove or
   * detach: those without a run, and those with a reservation.
   */
  removeUnattached(before: number): Promise<number>;

  /** The number and the bytes of the artifacts without a run. Those that have only reservations count. */
  unattached(): Promise<ArtifactFigures>;

  /** The total bytes of all artifacts, or of those that only this run has, which go when it is removed. */
  size(runId?: RunId): Promise<number>;

  /** Whether a run has artifacts, also such that other runs have too, or that are empty. */
  has(runId: RunId): Promise<boolean>;

  /** Removes a run from the runs of its artifacts, and the artifacts that no other run has. */
  removeRun(runId: RunId): Promise<void>;

  close(): Promise<void>;
}

/** The part of an artifact store that a reader needs. */
export type ArtifactReader = Pick<ArtifactStore, "get" | "read">;

/**
 * The id of a reservation. Artifacts are attached to it like to a run, until they are attached to the run of a request.
 * The ids of reservations are in the order of their times, in milliseconds since 1970.
 */
export function reservationId(at: number, unique: string): RunId {
  return `${oldestReservation(at)}_${unique}` as RunId;
}

/** The end of the range of ids of the reservations made before a time. The range starts with `RESERVED`. */
export function oldestReservation(at: number): string {
  const ms = Math.min(Math.max(Math.trunc(at), 0), Number.MAX_SAFE_INTEGER);
  return `${RESERVED}${String(ms).padStart(16, "0")}`;
}

/** The start of the ids of reservations. The ids of runs start differently. */
export const RESERVED = "reserved_";

/** Whether an id is that of a reservation, and not of a run. */
export function isReservation(runId: RunId): boolean {
  return runId.startsWith(RESERVED);
}

/** A number of artifacts and their bytes together. */
export interface ArtifactFigures {
  readonly files: number;
  readonly bytes: number;
}

/** The bytes of a new artifact and its metadata. */
export interface NewArtifact {
  readonly artifactId: ArtifactId;
  /** The first run it belongs to, if any. */
  readonly runId?: RunId;
  /** Whose file it is, if it belongs to no run yet. Not stored. */
  readonly owner?: string;
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
