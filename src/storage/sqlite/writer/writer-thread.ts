import { join } from "node:path";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { Checkpoints, countPages } from "./checkpoints.ts";
import { readCommit, SIGNAL } from "./commit-memory.ts";
import { openHeadFile } from "../format/head-file.ts";
import { Leftovers } from "./leftovers.ts";
import type { FromWriter, RunRemovals, ToWriter, WriterData } from "./message.ts";
import { openPageStates, savePageStates } from "./page-states.ts";
import { openDatabase } from "../format/schema.ts";
import { isFull, DiskWriter } from "./disk-writer.ts";

// The thread sleeps in Atomics.wait instead of an event loop: a quarter of the cost per commit, measured. So
// it has no timers; it checks for due work between commits.

if (parentPort === null) throw new Error("the writer runs in a thread of its own");
const port = parentPort;
const { directory, durability, head, file, signal } = workerData as WriterData;
const path = join(directory, "log.db");
const database = openDatabase(path, durability);
const headFile = openHeadFile(join(directory, "head"));
// Without a sync per commit, the head file could be newer than the log after a power failure, so it is synced
// only at checkpoints.
const pages = openPageStates(path, head.batch);
const writer = new DiskWriter(database, headFile, head, {
  writeEveryHead: durability === "full",
  leftovers: new Leftovers(file, pages.states),
});
const checkpoints = new Checkpoints({ path, file, pages: pages.memory });

/** Maximum sleep while there is periodic work. */
const PAUSE_MS = 250;
const HEAD_SYNC_MS = 1_000;
const PROBE_MS = 1_000;
/** Pages written by one purge step, or by other work that has a commit of its own; more if texts are long. */
const STEP_PAGES = 256;
/** Pages written by the removal of a run: its row, its words, its requests and their entries in indexes. */
const RUN_PAGES = 8;

let memory: Buffer = Buffer.alloc(0);
let seen = 0;
let closed = false;
let full = false;
let purging = true;
let unsyncedSince: number | undefined;
let scrub: Generator<void, void> | undefined;
let probedAt = 0;

say({ type: "started" });
for (;;) {
  const idle = Atomics.wait(signal, SIGNAL.count, seen, pauseMs()) === "timed-out";
  seen = Atomics.load(signal, SIGNAL.count);
  // A commit may need the memory of a message that was sent before it.
  const hasCommit = Atomics.exchange(signal, SIGNAL.hasCommit, 0) === 1;
  if (Atomics.exchange(signal, SIGNAL.hasMessages, 0) === 1) takeMessages();
  if (hasCommit) commit();
  if (closed) break;
  scrubNext();
  lookAfter(idle);
}

/** Commits the appends that are in the shared memory. */
function commit(): void {
  const { recent, items } = readCommit(memory, signal);
  checkpoints.count(countPages(items, recent.bytes));
  answer(writer.commit(recent, items, memory));
}

function takeMessages(): void {
  for (;;) {
    const received = receiveMessageOnPort(port);
    if (received === undefined) return;
    take(received.message as ToWriter);
  }
}

function take(message: ToWriter): void {
  switch (message.type) {
    case "memory":
      memory = Buffer.from(message.memory);
      return;
    case "remove":
      return remove(message);
    case "audit":
      checkpoints.count(STEP_PAGES);
      return answer(writer.changeAudit(message));
    case "spending":
      checkpoints.count(STEP_PAGES);
      return answer(writer.changeSpending(message));
    case "statistics":
      checkpoints.count(STEP_PAGES);
      return answer(writer.changeStatistics(message));
    case "sums":
      checkpoints.count(STEP_PAGES);
      return answer(writer.sumHours());
    case "texts":
      checkpoints.count(STEP_PAGES);
      return answer(writer.changeTexts(message));
    case "scrub":
      if (writer.hasRecent) moveRecent();
      scrub = writer.scrub(() => checkpoints.settle());
      return;
    case "close":
      return close();
    default: {
      const never: never = message;
      return never;
    }
  }
}

function remove(removals: RunRemovals): void {
  purging = true;
  const reply = writer.remove(removals);
  const left = reply.type === "committed" ? (reply.left ?? 0) : 0;
  checkpoints.count(RUN_PAGES * (removals.runs.length - left));
  answer(reply);
}

function answer(reply: FromWriter): void {
  if (reply.type === "committed" && Object.keys(reply).length === 1) {
    Atomics.add(signal, SIGNAL.replies, 1);
    Atomics.notify(signal, SIGNAL.replies);
  } else say(reply);
  full = isFull(reply);
  unsyncedSince ??= Date.now();
}

/** Does the next step of a scrub, also while the thread is busy with commits. */
function scrubNext(): void {
  if (scrub === undefined) return;
  try {
    checkpoints.count(STEP_PAGES);
    if (scrub.next().done !== true) return;
    scrub = undefined;
    say({ type: "scrubbed" });
  } catch (error) {
    scrub = undefined;
    say({ type: "scrubbed", reason: `the scrub failed: ${(error as Error).message}` });
  }
}

/** How long the thread can sleep if no message comes. */
function pauseMs(): number {
  if (purging || scrub !== undefined) return 0;
  const waiting = full || unsyncedSince !== undefined || checkpoints.waiting || writer.hasRecent;
  return waiting ? PAUSE_MS : Infinity;
}

/** Does due work; longer work runs only after the thread was idle for a while. */
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
    if (idle && writer.hasRecent) moveRecent();
    if (unsyncedSince !== undefined && now - unsyncedSince >= HEAD_SYNC_MS) {
      unsyncedSince = undefined;
      headFile.sync();
    }
    if (checkpoints.look(idle && !purging)) writer.checkpoint();
    if (idle && purging) {
      checkpoints.count(STEP_PAGES);
      purging = writer.purge();
    }
  } catch {
    // None of this affects acknowledged data; a broken disk shows in the next commit.
    purging = false;
  }
}

/** Moves the recent events into chunks, because nothing else is to do. */
function moveRecent(): void {
  checkpoints.count(STEP_PAGES);
  const moved = writer.moveRecent();
  if (moved.type === "committed" && moved.chunked !== undefined) {
    say({ type: "chunked", runs: moved.chunked });
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
    if (scrub !== undefined) say({ type: "scrubbed", reason: "the log was closed" });
    if (writer.hasRecent) writer.moveRecent();
    writer.checkpoint();
    savePageStates(path, pages.memory, writer.head.batch);
  } finally {
    database.close();
    headFile.close();
    say({ type: "closed" });
  }
}
