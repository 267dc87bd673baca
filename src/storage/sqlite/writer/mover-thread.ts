import { fdatasyncSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { workerData } from "node:worker_threads";
import { AT, FAILED, STATE } from "./checkpoints.ts";
import type { MoverData } from "./checkpoints.ts";
import { PageStates } from "./page-states.ts";

// Like the writer's thread, this one sleeps in Atomics.wait. It has a connection only while it moves pages,
// so that the writer may close everything when the mover is free.

const { path, file, pages: memory, shared } = workerData as MoverData;
const states = new PageStates(path, memory);

for (;;) {
  Atomics.wait(shared, AT.state, STATE.free);
  const state = Atomics.compareExchange(shared, AT.state, STATE.asked, STATE.moving);
  if (state === STATE.ended) break;
  // A late notification; the work is already done.
  if (state === STATE.free) continue;
  Atomics.store(shared, AT.pages, move());
  Atomics.store(shared, AT.state, STATE.free);
  Atomics.notify(shared, AT.state);
}

/** Moves the pages of the write-ahead log. Returns its number of pages. */
function move(): number {
  try {
    const database = new DatabaseSync(path);
    let pages: unknown;
    // While it reads, the log keeps the pages that are moved.
    const keeping = new DatabaseSync(path, { readOnly: true });
    try {
      keeping.exec("BEGIN; SELECT 1 FROM sqlite_schema");
      states.gather();
      database.exec("PRAGMA synchronous = FULL");
      const { log, checkpointed } = database.prepare("PRAGMA wal_checkpoint(PASSIVE)").get() ?? {};
      // What was committed between the two.
      states.gather();
      states.moved(Number(checkpointed));
      pages = log;
    } finally {
      keeping.close();
      database.close();
    }
    // SQLite syncs only after the last page is moved, which the writer does.
    fdatasyncSync(file);
    return Number(pages);
  } catch {
    // The writer tries again and reports the error if that fails too.
    return FAILED;
  }
}
