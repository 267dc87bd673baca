import { hash } from "node:crypto";
import { crc32 } from "node:zlib";

/** Where a chunk stands: its run and how far the run's events and records go. */
export interface ChunkPosition {
  readonly rid: number;
  /** The id of its first event; of the event after the run's newest when it has records only. */
  readonly first: number;
  /** The id of the run's newest event, this chunk included. */
  readonly last: number;
  /** How many records the run has, this chunk included. */
  readonly records: number;
}

/** A checksum over all of a chunk, to be compared whenever it is read. */
export function toChecksum(
  { rid, first, last, records }: ChunkPosition,
  body: Uint8Array,
  encodedRecords: string | null,
): number {
  const start = crc32(`${rid} ${first} ${last} ${records}`);
  const checksum = crc32(body, start);
  return encodedRecords === null ? checksum : crc32(encodedRecords, checksum);
}

/** The hash of a batch: it covers the checksums of its chunks and, by the hash before it, all of the past. */
export function toHash(previous: string, batch: number, checksums: readonly number[]): string {
  return hash("sha256", `${previous} ${batch} ${checksums.join(" ")}`);
}
