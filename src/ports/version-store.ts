import type { AgentVersion } from "./agent-version.ts";

/** Keeps the files of versions of agents, so that a turn can be continued by code that is no longer served. */
export interface VersionStore {
  /** The kept versions, the newest first. */
  list(): Promise<readonly KeptVersion[]>;

  /**
   * Keeps a version whole, or not at all. Files that are kept already are not read again. A version that is kept already only
   * gets the new time.
   */
  keep(version: KeptVersion, read: (path: string) => Promise<Uint8Array>): Promise<void>;

  /** The content of a file of a kept version, which has this digest; rejects if it is not there, or damaged. */
  read(digest: string): Promise<Uint8Array>;

  /** Removes versions, and the files that no other version has. */
  remove(ids: readonly string[]): Promise<void>;
}

/** A version of the code of some agents, as it was served. */
export interface KeptVersion {
  /** The digest of its code. */
  readonly id: string;
  /** When it was served last at a start, in milliseconds since 1970. */
  readonly keptAt: number;
  /** The file that exports the agents, by its path. */
  readonly entry: string;
  readonly agents: readonly KeptAgent[];
  /** The SHA-256 of each file, by its path below the folder of the project, with `/` between the parts. */
  readonly files: { readonly [path: string]: string };
}

/** An agent of a kept version. */
export interface KeptAgent extends AgentVersion {
  readonly name: string;
}
