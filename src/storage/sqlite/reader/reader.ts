import type { DatabaseSync } from "node:sqlite";
import { AgentError } from "../../../errors.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import { createChunks } from "./chunks.ts";
import type { Chunks } from "./chunks.ts";
import { createRows } from "./rows.ts";
import type { Rows } from "./rows.ts";

/**
 * Asks the database; trouble with it, or with what it holds, becomes `Unavailable`, and a closed one an
 * AgentError of that name.
 */
export interface Reader {
  ask<Answer>(question: (database: Rows & Chunks) => Answer): Answer;
  close(): void;
}

/** Asks a connection of its own, so that nothing that is read waits for the writer. */
export function createReader(database: DatabaseSync): Reader {
  const tables = { ...createRows(database), ...createChunks(database) };
  let closed = false;
  return {
    ask(question) {
      // Nobody is at fault: a server that stops still has readers.
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
