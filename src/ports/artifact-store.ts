import type { ArtifactId, RunId } from "../protocol/ids.ts";

/** Keeps the bytes of artifacts. An artifact never changes once it is put. */
export interface ArtifactStore {
  /**
   * Stores the bytes and resolves when they are as durable as the store makes them. Putting an id
   * again replaces what was there, so that an interrupted put can be repeated. Fails with `too_large`
   * when `limitBytes` is passed, and then keeps nothing.
   */
  put(artifact: NewArtifact): Promise<StoredArtifact>;

  /** Finds an artifact; `undefined` when there is none. */
  get(artifactId: ArtifactId): Promise<StoredArtifact | undefined>;

  /** The bytes, in chunks; fails with `not_found` when there are none. */
  read(artifactId: ArtifactId): AsyncIterable<Uint8Array>;

  /** Makes an artifact without a run part of this one; nothing happens to an artifact of a run, or to none. */
  attach(artifactId: ArtifactId, runId: RunId): Promise<void>;

  /** Removes the artifacts without a run that were created before a time, or nobody said when; tells how many stay. */
  removeUnattached(before: number): Promise<number>;

  /** How many bytes all artifacts have together, or those of a run. */
  size(runId?: RunId): Promise<number>;

  /** Removes all artifacts of a run. */
  removeRun(runId: RunId): Promise<void>;

  close(): Promise<void>;
}

/** Bytes to be kept, and what is known of them. */
export interface NewArtifact {
  readonly artifactId: ArtifactId;
  /** The run it belongs to, if any. */
  readonly runId?: RunId;
  /** In milliseconds since 1970. */
  readonly createdAt?: number;
  /** A name for humans; never used as a file name. */
  readonly name: string;
  readonly mimeType: string;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  readonly limitBytes: number;
}

/** What is known of an artifact. */
export interface StoredArtifact {
  readonly artifactId: ArtifactId;
  readonly runId?: RunId;
  /** In milliseconds since 1970; absent if that was never said. */
  readonly createdAt?: number;
  readonly name: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
}
