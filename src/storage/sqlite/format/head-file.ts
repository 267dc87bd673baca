import { closeSync, constants, fdatasyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";

/** The newest transaction of a log. */
export interface Head {
  /** How many times the log was opened. */
  readonly epoch: number;
  /** Its number in the table `batch`; 0 before the first transaction. */
  readonly batch: number;
  /** Its hash; empty before the first transaction. */
  readonly hash: string;
}

/**
 * A small file beside the database that names the newest transaction. It shows when a database has lost
 * transactions.
 */
export interface HeadFile {
  /** Overwrites both places with a new head. */
  reset(head: Head): void;
  write(head: Head): void;
  /** Makes the writes survive a power failure. */
  sync(): void;
  close(): void;
}

/** Opens the head file for writing and creates it if needed. */
export function openHeadFile(path: string): HeadFile {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  return {
    reset(head) {
      for (const place of [0, 1]) writeSync(file, toLine(head), place * PLACE_BYTES, "latin1");
    },
    write(head) {
      // Writes alternate between two places: a torn write leaves the previous one intact.
      writeSync(file, toLine(head), (head.batch % 2) * PLACE_BYTES, "latin1");
    },
    sync: () => fdatasyncSync(file),
    close: () => closeSync(file),
  };
}

/** Reads a head file; `undefined` if there is none or nothing in it is valid. */
export function readHeadFile(path: string): Head | undefined {
  let text: string;
  try {
    text = readFileSync(path, "latin1");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const [first, second] = [parseLine(text), parseLine(text.slice(PLACE_BYTES))];
  if (first === undefined || second === undefined) return first ?? second;
  return first.batch > second.batch ? first : second;
}

const PLACE_BYTES = 256;

function toLine({ epoch, batch, hash }: Head): string {
  const line = `head ${epoch} ${batch} ${hash}`;
  return `${line} ${crc32(line)} `.padEnd(PLACE_BYTES - 1).concat("\n");
}

function parseLine(text: string): Head | undefined {
  const [, line, epoch, batch, hash, checksum] = /^(head (\d+) (\d+) ([0-9a-f]*)) (\d+) /.exec(text) ?? [];
  if (line === undefined || hash === undefined || crc32(line) !== Number(checksum)) return undefined;
  return { epoch: Number(epoch), batch: Number(batch), hash };
}
