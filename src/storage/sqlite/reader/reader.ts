import type { DatabaseSync } from "node:sqlite";
import { AgentError } from "../../../errors.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import { createIndexQueries } from "../../sql/queries.ts";
import type { IndexQueries } from "../../sql/queries.ts";
import type { SqlQuery } from "../../sql/query.ts";
import { createChunks } from "./chunks.ts";
import type { Chunks } from "./chunks.ts";
import { SQLITE } from "./dialect.ts";
import { createDueTexts } from "./due-texts.ts";
import type { DueTexts } from "./due-texts.ts";

/** The questions to the rows of a database. */
export const QUERIES: IndexQueries = createIndexQueries(SQLITE);

/** What a question can use. */
interface Tables extends Chunks {
  dueTexts(): DueTexts | undefined;
  answer<Answer>(query: SqlQuery<Answer>): Answer;
}

/**
 * Queries the database. Database errors and damaged data become `Unavailable`; a closed database becomes an
 * AgentError `unavailable`.
 */
export interface Reader {
  ask<Answer>(question: (tables: Tables) => Answer): Answer;
  close(): void;
}

/** Uses its own connection, so that reads never wait for the writer. */
export function createReader(database: DatabaseSync): Reader {
  // Those that are always the same are prepared now, so that foreign or damaged tables are found by opening them.
  const statements = new Map(QUERIES.texts.map((text) => [text, database.prepare(text)]));
  const tables: Tables = { ...createChunks(database), dueTexts: createDueTexts(database), answer };
  let closed = false;

  function answer<Answer>({ text, values, toAnswer }: SqlQuery<Answer>): Answer {
    let statement = statements.get(text);
    if (statement === undefined) {
      statement = database.prepare(text);
      statements.set(text, statement);
    }
    const bound = values.map((value) => (typeof value === "object" ? JSON.stringify(value) : value));
    return toAnswer(statement.all(...bound));
  }

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
