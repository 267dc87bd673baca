import { DatabaseSync } from "node:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { AgentError } from "../../errors.ts";
import type { AuditTrail } from "../../ports/audit.ts";
import type { LogReader, Page } from "../../ports/event-log.ts";
import type { ReadOptions } from "../../ports/log-queries.ts";
import type { Spending } from "../../ports/spending.ts";
import type { StatisticsReader } from "../../ports/statistics.ts";
import type { RunId } from "../../protocol/ids.ts";
import { EventList } from "../shared/event-list.ts";
import { parseBody } from "../sql/body.ts";
import { Claims } from "../sql/claims.ts";
import type { SqlQuery } from "../sql/query.ts";
import { createRunIndex } from "../sql/run-index.ts";
import { statisticsAnswers } from "../sql/statistics.ts";
import { createWordSearch } from "../sql/word-search.ts";
import { DamagedLog } from "./format/errors.ts";
import { NEWER_HINT, VERSION } from "./format/schema.ts";
import { createReader, QUERIES } from "./reader/reader.ts";
import type { PendingChunk } from "./writer/recent-events.ts";
import { RecentEvents } from "./writer/recent-events.ts";
import { addRecent } from "./sqlite-log.ts";

/** A log that is only read. */
export interface OpenReader {
  readonly log: LogReader;
  readonly audit: AuditTrail["list"];
  readonly spending: Spending["list"];
  readonly statistics: StatisticsReader;
  close(): void;
}

/**
 * Reads the log in a data directory as it is at this moment, also while a server writes it. Nothing in the directory is
 * changed.
 */
export function readDirectory(directory: string): OpenReader {
  const path = join(directory, "log.db");
  const file = pathToFileURL(path);
  // No process has it open then. SQLite would create files that only processes with other connections need.
  if (!existsSync(`${path}-wal`)) file.search = "?immutable=1";
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    return readDatabase(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

function readDatabase(database: DatabaseSync): OpenReader {
  const format = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
  if (format !== VERSION)
    throw new AgentError(
      "unavailable",
      `the log has format ${format}, and this version of troupe reads ${VERSION} only`,
      {
        hint:
          format > VERSION
            ? NEWER_HINT
            : "check it with the version of troupe that serves it, or start this one on it once",
      },
    );
  // Everything is read from the moment of the first query on.
  database.exec("BEGIN");
  const newest = database.prepare("SELECT recent FROM batch ORDER BY n DESC LIMIT 1").get();
  const range = newest?.["recent"];
  const recentEvents = new RecentEvents(database);
  if (!recentEvents.load(typeof range === "string" ? range : null))
    throw new DamagedLog("the newest transaction is not as it was committed");
  const recent = new Map<number, PendingChunk>(recentEvents.takeAll().map((chunk) => [chunk.rid, chunk]));
  const reader = createReader(database);
  const ask = <Answer>(query: SqlQuery<Answer>): Answer => reader.ask((tables) => tables.answer(query));
  const { search } = createWordSearch({ queries: QUERIES, ask, read });
  const index = createRunIndex({ queries: QUERIES, claims: new Claims(), ask, search });

  function read(runId: RunId, options: ReadOptions): Page {
    return reader.ask((tables) => {
      const run = tables.checked(runId);
      if (run === undefined || run.removed) return { events: [], records: [], head: 0 };
      const page = tables.pageOf(run, options);
      const chunk = recent.get(run.rid);
      if (chunk === undefined) return page;
      const list = new EventList(run.head);
      list.add(parseBody(chunk.body.subarray(0, -1).toString(), { runId, first: chunk.first }));
      return addRecent(page, { recent: list, head: chunk.last }, options);
    });
  }

  return {
    log: {
      list: index.list,
      lookup: index.lookup,
      requests: index.requests,
      run: index.run,
      read,
      snapshot: async (runId) =>
        reader.ask((tables) => {
          const run = tables.checked(runId);
          return run && tables.snapshot(run.rid);
        }),
    },
    audit: async (query) => reader.ask((tables) => tables.answer(QUERIES.audit(query))),
    statistics: statisticsAnswers(QUERIES, ask),
    spending: async (query) => reader.ask((tables) => tables.answer(QUERIES.spent(query))),
    close: () => reader.close(),
  };
}
