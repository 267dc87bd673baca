import type { DatabaseSync } from "node:sqlite";
import { AgentError } from "../../../errors.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import { createChunks } from "./chunks.ts";
import type { Chunks } from "./chunks.ts";
import { createRows } from "./rows.ts";
import type { Rows } from "./rows.ts";

/**
 * Queries the database. Database errors and damaged data become `Unavailable`; a closed database becomes an
 * AgentError `unavailable`.
 */
export interface Reader {
  ask<Answer>(question: (database: Rows & Chunks) => Answer): Answer;
  close(): void;
}

/** Uses its own connection, so that reads never wait for the writer. */
export function createReader(database: DatabaseSync): Reader {
  const tables = { ...createRows(database), ...createChunks(database) };
  let closed = false;
  return {
    ask(question) {
      // Not a fault: a stopping server still has readers.
      if (closed) throw new AgentError("unavailable", "the log is closed", { retryAfterS: 1 });
      try {
        return question(tables);
      } catch (error) {
        if (error instanceof AgentError || error instanceof Unavailable) throw error;
        throw new Unavailable("the log cannot be read here", { cause: error });
      }
    },
    close() {
      closed = true;
      database.close();
    },
  };
}
