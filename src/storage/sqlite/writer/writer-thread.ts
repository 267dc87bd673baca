import { join } from "node:path";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { Checkpoints, countPages } from "./checkpoints.ts";
import { openHeadFile } from "../format/head-file.ts";
import type { FromWriter, ToWriter, WriterData } from "./message.ts";
import { openDatabase } from "../format/schema.ts";
import { isFull, Writer } from "./writer.ts";

// The thread sleeps in Atomics.wait instead of an event loop: a quarter of the cost per commit, measured.
// So it has no timers; what is due at times is looked for between two commits.

if (parentPort === null) throw new Error("the writer runs in a thread of its own");
const port = parentPort;
const { directory, durability, head, file, signal } = workerData as WriterData;
const path = join(directory, "log.db");
const database = openDatabase(path, durability);
const headFile = openHeadFile(join(directory, "head"));
// Without a sync per commit the head file may survive what the log does not: it then waits for checkpoints.
const writer = new Writer(database, headFile, head, durability === "full");
const checkpoints = new Checkpoints({ path, file });

/** How long the thread sleeps at most while there is something to look after. */
const PAUSE_MS = 250;
const HEAD_SYNC_MS = 1_000;
const PROBE_MS = 1_000;
/** What the removal of a run writes, or a part of what it leaves behind, in pages; long texts have more. */
const REMOVAL_PAGES = 256;

let bodies: Uint8Array = new Uint8Array();
let seen = 0;
let closed = false;
let full = false;
let purging = true;
let unsyncedSince: number | undefined;
let probedAt = 0;

for (;;) {
  const idle = Atomics.wait(signal, 0, seen, pauseMs()) === "timed-out";
  seen = Atomics.load(signal, 0);
  for (;;) {
    const received = receiveMessageOnPort(port);
    if (received === undefined) break;
    take(received.message as ToWriter);
  }
  if (closed) break;
  lookAfter(idle);
}

function take(message: ToWriter): void {
  switch (message.type) {
    case "commit": {
      if (message.bodies !== undefined) bodies = Buffer.from(message.bodies);
      checkpoints.count(countPages(message.items));
      return answer(writer.commit(message.items, bodies));
    }
    case "remove":
      purging = true;
      checkpoints.count(REMOVAL_PAGES);
      return answer(writer.remove(message.rid));
    case "close":
      return close();
    default: {
      const never: never = message;
      return never;
    }
  }
}

function answer(reply: FromWriter): void {
  say(reply);
  full = isFull(reply);
  unsyncedSince ??= Date.now();
}

/** How long there is nothing to do unless a message comes. */
function pauseMs(): number {
  if (purging) return 0;
  const waiting = full || unsyncedSince !== undefined || checkpoints.waiting;
  return waiting ? PAUSE_MS : Infinity;
}

/** Does what is due; what takes longer waits until the thread was idle for a while. */
function lookAfter(idle: boolean): void {
  const now = Date.now();
  try {
    if (full && now - probedAt >= PROBE_MS) {
      probedAt = now;
      if (writer.probe().type === "committed") {
        full = false;
        say({ type: "recovered" });
      }
    }
    if (unsyncedSince !== undefined && now - unsyncedSince >= HEAD_SYNC_MS) {
      unsyncedSince = undefined;
      headFile.sync();
    }
    if (checkpoints.look(idle && !purging)) writer.checkpoint();
    if (idle && purging) {
      checkpoints.count(REMOVAL_PAGES);
      purging = writer.purge();
    }
  } catch {
    // None of this holds anything that was promised; a disk in trouble shows in the next commit.
    purging = false;
  }
}

function say(message: FromWriter): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
  port.postMessage(message);
}

function close(): void {
  closed = true;
  try {
    checkpoints.end();
    writer.checkpoint();
  } finally {
    database.close();
    headFile.close();
    say({ type: "closed" });
  }
}
