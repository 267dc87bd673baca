import { hash } from "node:crypto";
import { crc32 } from "node:zlib";

/** The position of a chunk: its run and the last event and record it contains. */
export interface ChunkPosition {
  readonly rid: number;
  /** The id of its first event; without events, the id after the run's newest event. */
  readonly first: number;
  /** The id of the run's newest event, including this chunk. */
  readonly last: number;
  /** The number of records of the run, including this chunk. */
  readonly records: number;
}

/** A checksum over a whole chunk, verified at every read. */
export function toChecksum(
  { rid, first, last, records }: ChunkPosition,
  body: Uint8Array,
  encodedRecords: string | null,
): number {
  const start = crc32(`${rid} ${first} ${last} ${records}`);
  const checksum = crc32(body, start);
  return encodedRecords === null ? checksum : crc32(encodedRecords, checksum);
}

/**
 * The hash of a transaction. It covers the checksums of its chunks, the recent events that are in no chunk, and, through
 * the previous hash, the whole history.
 */
export function toHash(
  previous: string,
  batch: number,
  checksums: readonly number[],
  recent: string | null,
): string {
  const own = `${previous} ${batch} ${checksums.join(" ")}`;
  return hash("sha256", recent === null ? own : `${own} ${recent}`);
}
