import type { EventLog } from "../../ports/event-log.ts";
import type { RequestEntry, RunEntry, RunEntryPage } from "../../ports/log-entries.ts";
import type { RunEntryQuery } from "../../ports/log-queries.ts";
import { DEFAULT_OWNER, ownerOf } from "../../ports/principal.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { countedOf, toListCursor, toRequestCursor, toRequestPage } from "../shared/lists.ts";
import type { Claims, OwnedRun } from "./claims.ts";
import type { IndexQueries } from "./queries.ts";
import type { SqlQuery } from "./query.ts";
import type { WordSearch } from "./word-search.ts";

/** The questions of a log about its runs and requests. */
export type RunIndex = Pick<
  EventLog,
  | "waking"
  | "find"
  | "holdings"
  | "list"
  | "lookup"
  | "open"
  | "outbox"
  | "requests"
  | "listRequests"
  | "parked"
  | "schedules"
  | "due"
  | "run"
  | "runIds"
  | "unreferenced"
  | "waits"
>;

/** What the index of an engine needs from it. */
export interface RunIndexOptions {
  readonly queries: IndexQueries;
  readonly claims: Claims<OwnedRun>;
  /** The node of this log, if several can share it. */
  readonly node?: string;
  ask<Answer>(query: SqlQuery<Answer>): Answer | Promise<Answer>;
  /** Finds the row of a run. Default: by a question of its own. */
  askRow?(runId: RunId): Promise<RunEntry | undefined>;
  readonly search: WordSearch["search"];
}

/** Answers from the tables of an SQL engine, in agreement with what `read` returns. */
export function createRunIndex({
  queries,
  claims,
  node,
  ask,
  askRow = async (runId) => ask(queries.run(runId)),
  search,
}: RunIndexOptions): RunIndex {
  /**
   * Resolves when the commit of a run that is under way is acknowledged, so that a query after it returns only what `read`
   * returns. The owner may append again before that, but such a commit is sent later; waiting for it too might never end.
   */
  async function settled(runId: RunId | undefined): Promise<void> {
    if (runId !== undefined) await claims.get(runId)?.pending?.promise;
  }

  /** The row of an own run with the number of acknowledged events. */
  function acknowledged(entry: RunEntry): RunEntry {
    if (entry.node !== node || entry.removed === true) return entry;
    const head = claims.get(entry.runId)?.head ?? entry.head;
    return head === entry.head ? entry : { ...entry, head };
  }

  /** A page of the runs of a list with some metadata. No index has these: so many rows are looked at, and a place in the list ends the page. */
  async function listLooked(query: RunEntryQuery): Promise<RunEntryPage> {
    const end = await ask(queries.placeAt(query, LOOKED));
    const page = await ask(queries.list(query, end));
    if (page.next !== undefined || end === undefined) return page;
    return { ...page, next: toListCursor(end), looked: LOOKED };
  }

  async function find(requestId: RequestId, owner: string | undefined): Promise<RequestEntry | undefined> {
    const entry = await ask(queries.lookup(requestId, owner ?? DEFAULT_OWNER));
    return entry === undefined && owner === undefined ? ask(queries.lookupOther(requestId)) : entry;
  }

  return {
    async lookup(requestId, owner) {
      const entry = await find(requestId, owner);
      if (entry === undefined || claims.get(entry.runId)?.pending === undefined) return entry;
      await settled(entry.runId);
      return find(requestId, owner);
    },
    async requests(query) {
      await settled(query.runId);
      return ask(queries.requests(query));
    },
    async listRequests(query) {
      await settled(query.runId);
      const rest = queries.restOfRun(query);
      const found = rest === undefined ? [] : await ask(rest);
      const isOver = query.runId !== undefined && rest !== undefined;
      if (found.length > query.limit || isOver) return toRequestPage(found, query);
      // No index has when runs were created: so many rows are looked at, and a place in the list ends the page.
      const isLooked =
        query.createdBefore !== undefined && query.runId === undefined && query.phase !== "queued";
      const end = isLooked ? await ask(queries.placeOfRequests(query, LOOKED)) : undefined;
      const page = toRequestPage([...found, ...(await ask(queries.requestsOfRuns(query, end)))], query);
      if (page.next !== undefined || end === undefined) return page;
      return { ...page, next: toRequestCursor(end), looked: LOOKED };
    },
    async run(runId, owner) {
      const known = claims.get(runId);
      // A run of another owner takes as long as one that does not exist.
      if (owner === undefined || known === undefined || ownerOf(known.row) === owner) await settled(runId);
      const entry = await (owner === undefined ? askRow(runId) : ask(queries.run(runId, owner)));
      return entry && acknowledged(entry);
    },
    find: async (alias) => ask(queries.find(alias)),
    async list({ text, ...query }) {
      if (text !== undefined) {
        const page = await search({ ...query, text });
        return { ...page, runs: page.runs.map(acknowledged) };
      }
      if (query.metadata !== undefined && query.byCreation !== true) {
        const page = await listLooked(query);
        return { ...page, runs: page.runs.map(acknowledged) };
      }
      if (query.byCreation === true && queries.place !== undefined) await ask(queries.place);
      const { runs, ...page } = await ask(queries.list(query));
      const most = countedOf(query);
      const total = most !== undefined && { total: await ask(queries.count(query, most)) };
      return { ...page, runs: runs.map(acknowledged), ...total };
    },
    async runIds(query) {
      if (query.removed !== true && queries.place !== undefined) await ask(queries.place);
      return ask(queries.runIds(query));
    },
    async holdings(runId) {
      await settled(runId);
      return { aliases: await ask(queries.aliases(runId)), references: await ask(queries.references(runId)) };
    },
    open: async (query = {}) => ask(queries.open(query)),
    waking: async (query) => ask(queries.waking(query)),
    parked: async (query) => ask(queries.parked(query)),
    async waits(query) {
      await settled(query.runId);
      const page = await ask(queries.waits(query));
      const most = countedOf(query);
      return most === undefined ? page : { ...page, total: await ask(queries.countWaits(query, most)) };
    },
    async outbox(query) {
      await settled(query.runId);
      return ask(queries.outbox(query));
    },
    async schedules(query) {
      await settled(query.runId);
      const page = await ask(queries.schedules(query));
      return query.total === true ? { ...page, total: await ask(queries.countSchedules(query)) } : page;
    },
    due: async (query) => ask(queries.due(query)),
    unreferenced: async (things) => (things.length === 0 ? [] : ask(queries.unreferenced(things))),
  };
}

/** How many runs a page looks at, if no index finds those that are wanted. */
const LOOKED = 10_000;
