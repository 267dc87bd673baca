import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import type { RowsAnswer, RowsQuestion } from "./reader-client.ts";

if (parentPort === null) throw new Error("the reader runs in a thread of its own");
const port = parentPort;
const database = new DatabaseSync(workerData as string, { readOnly: true, timeout: 5_000 });
// What is sorted stays in memory up to this size.
database.exec("PRAGMA cache_size = -16384");

port.on("message", (asked: RowsQuestion | "close") => {
  if (asked === "close") {
    database.close();
    port.close();
  } else {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
    port.postMessage(answer(asked));
  }
});

function answer({ id, text, values }: RowsQuestion): RowsAnswer {
  try {
    return { id, rows: database.prepare(text).all(...values) };
  } catch (error) {
    return { id, rows: [], error };
  }
}
