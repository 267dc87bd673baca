import { fdatasyncSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { workerData } from "node:worker_threads";
import { AT, FAILED, STATE } from "./checkpoints.ts";
import type { MoverData } from "./checkpoints.ts";

// Like the writer's, this thread sleeps in Atomics.wait. It has a connection only while it moves pages, so that
// whoever finds it free may close everything.

const { path, file, shared } = workerData as MoverData;

for (;;) {
  Atomics.wait(shared, AT.state, STATE.free);
  const state = Atomics.compareExchange(shared, AT.state, STATE.asked, STATE.moving);
  if (state === STATE.ended) break;
  // A call that comes late finds that what it is about is done.
  if (state === STATE.free) continue;
  Atomics.store(shared, AT.pages, move());
  Atomics.store(shared, AT.state, STATE.free);
  Atomics.notify(shared, AT.state);
}

/** Moves what is in the write-ahead log; returns how many pages that has now. */
function move(): number {
  try {
    const database = new DatabaseSync(path);
    let pages: unknown;
    try {
      database.exec("PRAGMA synchronous = FULL");
      pages = database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get()?.["log"];
    } finally {
      database.close();
    }
    // SQLite leaves this to whoever moves the last page, which would be the writer.
    fdatasyncSync(file);
    return Number(pages);
  } catch {
    // The writer tries it again, and says what is wrong if it fails too.
    return FAILED;
  }
}
