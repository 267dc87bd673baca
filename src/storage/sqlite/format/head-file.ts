import { closeSync, constants, fdatasyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";

/** The newest batch of a log. */
export interface Head {
  /** How many times the log had been opened. */
  readonly epoch: number;
  /** Its number, 0 before the first one. */
  readonly batch: number;
  /** Its hash, empty before the first one. */
  readonly hash: string;
}

/** A small file beside the database that names the newest batch, so that a database that lost some is noticed. */
export interface HeadFile {
  /** Forgets whatever the file named before. */
  reset(head: Head): void;
  write(head: Head): void;
  /** Makes what was written survive a loss of power. */
  sync(): void;
  close(): void;
}

/** Opens the head file for writing and creates it if need be. */
export function openHeadFile(path: string): HeadFile {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  return {
    reset(head) {
      for (const place of [0, 1]) writeSync(file, toLine(head), place * PLACE_BYTES, "latin1");
    },
    write(head) {
      // Two places in turn: a write that a loss of power tears leaves the one before it whole.
      writeSync(file, toLine(head), (head.batch % 2) * PLACE_BYTES, "latin1");
    },
    sync: () => fdatasyncSync(file),
    close: () => closeSync(file),
  };
}

/** Reads a head file; `undefined` when there is none, or nothing in it can be trusted. */
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
