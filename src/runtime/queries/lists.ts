import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type {
  ListedRequestEntry,
  RequestEntry,
  RunEntry,
  RunEntryPage,
  WaitEntry,
} from "../../ports/log-entries.ts";
import type { RunEntryQuery } from "../../ports/log-queries.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { RunRequest, RunSummary } from "../../protocol/answers/status.ts";
import type { EventOf, ForkedFrom } from "../../protocol/events/events.ts";
import type { FinishReason } from "../../protocol/events/outcome-codes.ts";
import { mapConcurrent } from "../../shared/map-concurrent.ts";
import { byteLength } from "../journal/json-limits.ts";
import { isHidden } from "../journal/system-runs.ts";
import type {
  ListedRequest,
  RequestsPage,
  RequestsQuery,
  RunDetails,
  WaitsPage,
  WaitsQuery,
} from "../lists.ts";
import { readEvent } from "../replay/accepted.ts";

/** Which runs a search finds, and where it begins. */
export interface RunSearch {
  readonly finishReason?: FinishReason | undefined;
  readonly text?: string | undefined;
  readonly errorCode?: string | undefined;
  readonly updatedAfter?: number | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Whether the caller sees a run; absent if it sees each. */
  readonly sees?: Sees | undefined;
}

type Sees = (run: RunEntry) => boolean;

/**
 * Finds runs: those with a text by an index of the log, those with values of metadata by the log, others one by one. One page looks at
 * 10,000 runs at most, so it can end early; `next` leads on.
 */
export async function searchRuns(
  log: EventLog,
  { limit, cursor: start, ...query }: RunEntryQuery,
  search: RunSearch,
): Promise<RunEntryPage> {
  const { text, metadata } = search;
  const found: RunEntry[] = [];
  let cursor = start;
  let looked = 0;
  // Mostly all that the log finds are wanted.
  const isFound = text !== undefined || metadata !== undefined;
  for (let size = isFound ? limit : LOOKED_AT_ONCE; ;) {
    const page = await log.list({
      ...query,
      limit: size,
      ...(text !== undefined && { text }),
      ...(text === undefined && metadata !== undefined && { metadata }),
      ...(cursor && { cursor }),
    });
    const places = page.runs.flatMap((run, at) => (!isHidden(run) && fits(run, search) ? [at] : []));
    const last = places[limit - found.length - 1];
    if (last !== undefined && last < page.runs.length - 1) {
      // More than was asked for: the same page again, up to the last one, because only its end has a cursor.
      size = last + 1;
      continue;
    }
    found.push(...places.flatMap((at) => page.runs[at] ?? []));
    looked += page.looked ?? page.runs.length;
    // The rest of the list was updated earlier still.
    const isOver =
      query.oldestFirst !== true && (page.runs.at(-1)?.updatedAt ?? 0) < (search.updatedAfter ?? 0);
    cursor = isOver ? undefined : page.next;
    if (cursor === undefined) return { runs: found };
    const isEnough = found.length >= limit || looked >= LOOKED || page.looked !== undefined;
    if (isEnough) return { runs: found, next: cursor };
    size = isFound ? FOUND_AT_ONCE : LOOKED_AT_ONCE;
  }
}

const LOOKED = 10_000;
const LOOKED_AT_ONCE = 100;
const FOUND_AT_ONCE = 1_000;

/**
 * Finds requests in the list of those of all runs. One page looks at 10,000 requests or runs at most, so it can end early; `next` leads
 * on.
 */
export async function searchRequests(
  log: EventLog,
  {
    limit,
    cursor: start,
    status: phase,
    since = 0,
    until = Infinity,
    updatedAfter = 0,
    ...query
  }: RequestsQuery,
  sees?: Sees,
): Promise<RequestsPage> {
  const seen = new Map<RunId, Promise<boolean>>();
  const isSeen = async ({ runId }: RequestEntry): Promise<boolean> => {
    const run = sees && (await log.run(runId));
    return run !== undefined && run.removed !== true && sees?.(run) === true;
  };
  const found: ListedRequest[] = [];
  let cursor = start;
  let looked = 0;
  for (let size = Math.min(limit, LOOKED_AT_ONCE); ;) {
    const page = await log.listRequests({
      ...query,
      ...(phase !== undefined && { phase }),
      // A request changes its run when it is accepted.
      updatedAfter: Math.max(updatedAfter, since),
      ...(until < Infinity && { createdBefore: until + CREATED_LATER_MS }),
      limit: size,
      ...(cursor !== undefined && { cursor }),
    });
    const fitting: number[] = [];
    for (const [at, entry] of page.requests.entries()) {
      if (isHidden(entry) || entry.createdAt < since || entry.createdAt >= until) continue;
      if (sees !== undefined) {
        const known = seen.get(entry.runId) ?? isSeen(entry);
        seen.set(entry.runId, known);
        if (!(await known)) continue;
      }
      fitting.push(at);
    }
    const last = fitting[limit - found.length - 1];
    if (last !== undefined && last < page.requests.length - 1) {
      // More than was asked for: the same page again, up to the last one, because only its end has a cursor.
      size = last + 1;
      continue;
    }
    found.push(...fitting.flatMap((at) => page.requests[at] ?? []).map(toListedRequest));
    looked += page.requests.length + (page.looked ?? 0);
    cursor = page.next;
    if (cursor === undefined) return { requests: found };
    if (found.length >= limit || looked >= LOOKED) return { requests: found, next: cursor };
    size = LOOKED_AT_ONCE;
  }
}

/** A run is created a moment after its first request is accepted, which can wait for its turn. The clocks of nodes differ, too. */
const CREATED_LATER_MS = 3_600_000;

/** A part of the list by creation for a caller that does not see each run. Looks at 10,000 runs at most. */
export async function listSeen(
  log: EventLog,
  { limit, offset = 0, total = false, ...query }: RunEntryQuery,
  sees: Sees,
): Promise<RunEntryPage> {
  const seen: RunEntry[] = [];
  for (let looked = 0; looked < LOOKED && (total || seen.length < offset + limit); looked += SEEN_AT_ONCE) {
    const page = await log.list({ ...query, byCreation: true, limit: SEEN_AT_ONCE, offset: looked });
    seen.push(...page.runs.filter((run) => !isHidden(run) && sees(run)));
    if (page.runs.length < SEEN_AT_ONCE) break;
  }
  return { runs: seen.slice(offset, offset + limit), ...(total && { total: seen.length }) };
}

const SEEN_AT_ONCE = 500;

function fits(run: RunEntry, search: RunSearch): boolean {
  const { finishReason, errorCode, updatedAfter, metadata, sees } = search;
  if (sees?.(run) === false) return false;
  if (finishReason !== undefined && run.lastTurn?.finish_reason !== finishReason) return false;
  if (errorCode !== undefined && run.lastTurn?.error_code !== errorCode) return false;
  if (updatedAfter !== undefined && run.updatedAt < updatedAfter) return false;
  return metadata === undefined || hasValues(run, metadata);
}

/** Whether a run was created with values, which people write as texts. */
function hasValues({ metadata }: RunEntry, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([name, text]) => {
    const value = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
    return value !== undefined && (typeof value === "string" ? value : JSON.stringify(value)) === text;
  });
}

/** Maximum bytes of a page, which has at least one wait. */
const PAGE_BYTES = 1_048_576;

/** The waits whose events are read at once: a database answers them together. */
const READ_AT_ONCE = 32;

/**
 * Reads a page of the open waits, as their encoded events. Who asks a question, and who may answer it, only its event says: a page of
 * those looks at 10,000 waits at most, so it can end early; `next` leads on.
 */
export async function readWaits(
  log: EventLog,
  { limit, cursor: start, askedBy, approver, total: counts = false, ...query }: WaitsQuery,
  sees?: Sees,
): Promise<WaitsPage> {
  const isSearch = askedBy !== undefined || approver !== undefined;
  const isCounted = counts !== false && !isSearch && sees === undefined;
  const most = countedTo(counts);
  const seen = new Map<RunId, Promise<boolean>>();
  const isSeen = async ({ runId }: WaitEntry): Promise<boolean> => {
    const run = await log.run(runId);
    return run !== undefined && run.removed !== true && sees?.(run) !== false;
  };
  const readSeen = async (wait: WaitEntry): Promise<string | undefined> => {
    if (sees !== undefined) {
      const known = seen.get(wait.runId) ?? isSeen(wait);
      seen.set(wait.runId, known);
      if (!(await known)) return undefined;
    }
    const text = await readWait(log, wait);
    return text === undefined || !isSearch || isAsked(text, askedBy, approver) ? text : undefined;
  };
  const events: string[] = [];
  let room = PAGE_BYTES;
  let cursor = start;
  let looked = 0;
  for (;;) {
    const from = { ...query, ...(cursor !== undefined && { cursor }) };
    const size = { limit: isSearch ? LOOKED_AT_ONCE : limit, ...(isCounted && { total: most + 1 }) };
    const page = await log.waits({ ...from, ...size });
    const count = toTotal(page.total, most);
    /** The page up to one of its waits: only the log can make the cursor of what follows. */
    const upTo = async (end: number): Promise<WaitsPage> => {
      const next = end === 0 ? cursor : (await log.waits({ ...from, limit: end })).next;
      return { events, ...(next !== undefined && { next }), ...count };
    };
    let index = -1;
    for await (const text of mapConcurrent(page.waits, READ_AT_ONCE, readSeen)) {
      index += 1;
      if (text === undefined) continue;
      room -= byteLength(text);
      if (room < 0 && events.length > 0) return upTo(index);
      events.push(text);
      if (events.length === limit && index < page.waits.length - 1) return upTo(index + 1);
    }
    looked += page.waits.length;
    cursor = page.next;
    if (cursor === undefined) return { events, ...count };
    if (!isSearch || events.length >= limit || looked >= LOOKED) return { events, next: cursor, ...count };
  }
}

/** Up to which number a list is counted: 10,000, unless all is asked for. */
export function countedTo(total: boolean | "all"): number {
  return total === "all" ? Infinity : COUNTED;
}

const COUNTED = 10_000;

/** What a page says about the number of what its list has, which was counted to one more than `most`. */
export function toTotal(count: number | undefined, most: number): Pick<WaitsPage, "total" | "isTotalCut"> {
  if (count === undefined) return {};
  return { total: Math.min(count, most), ...(count > most && { isTotalCut: true }) };
}

/** Whether an agent asks a question that a principal with a role may answer. */
function isAsked(text: string, askedBy: string | undefined, approver: string | undefined): boolean {
  const { agent, approvers } = JSON.parse(text) as EventOf<"WaitForInput">;
  if (askedBy !== undefined && agent !== askedBy) return false;
  return approver === undefined || approvers === undefined || approvers.includes(approver);
}

/** `undefined` if the run was removed in the meantime. */
async function readWait(log: EventLog, wait: WaitEntry): Promise<string | undefined> {
  try {
    return await readEvent(log, wait, wait.waitId, { batched: true });
  } catch (error) {
    if (error instanceof AgentError && error.code === "gone") return undefined;
    throw error;
  }
}

/** The row of a run in the protocol's form. */
export function toRow(run: RunEntry): RunSummary {
  const forkedFrom = run.metadata["forked_from"] as unknown as ForkedFrom | undefined;
  return {
    run_id: run.runId,
    agent: run.agent,
    status: run.status,
    created_at: new Date(run.createdAt).toISOString(),
    updated_at: new Date(run.updatedAt).toISOString(),
    initial_input: run.initialInput,
    turns: run.turns,
    ...(run.alias !== undefined && { key: run.alias }),
    ...(forkedFrom && { forked_from: forkedFrom }),
    last_event_id: run.head,
    ...(run.lastTurn && { last_turn: run.lastTurn }),
    open_waits: run.openWaits ?? 0,
    queued: run.queued ?? 0,
    ...(run.wakeAt !== undefined && { wake_at: new Date(run.wakeAt).toISOString() }),
    ...(run.usage && { usage: run.usage }),
  };
}

/** The row of a run with the metadata that it was created with. */
export function toDetails(run: RunEntry): RunDetails {
  const { forked_from: _, ...metadata } = run.metadata;
  return { ...toRow(run), metadata };
}

/** A request of a run in the protocol's form. */
export function toRunRequest({ requestId, phase, createdAt, started, completed }: RequestEntry): RunRequest {
  return {
    request_id: requestId,
    status: phase,
    created_at: new Date(createdAt).toISOString(),
    ...(started !== undefined && { started }),
    ...(completed !== undefined && { completed }),
  };
}

function toListedRequest(entry: ListedRequestEntry): ListedRequest {
  return { ...toRunRequest(entry), agent: entry.agent, run_id: entry.runId };
}
