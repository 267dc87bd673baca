import { AgentError } from "../../errors.ts";
import { checkReadable } from "../../ports/encryption.ts";
import type { Environment } from "../../ports/environment.ts";
import type { RunEntryQuery } from "../../ports/log-queries.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RequestEntry, RunEntry } from "../../ports/log-entries.ts";
import type { RequestStatus, RunRequest } from "../../protocol/answers/status.ts";
import { DEFAULT_OWNER, ownerOf } from "../../ports/principal.ts";
import { depthOf, idOf, requestIdOf, typeOf } from "../../protocol/events/encode.ts";
import type { EventOf } from "../../protocol/events/events.ts";
import { toEncoded } from "../../protocol/events/texts.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { LoggingLevel } from "../../protocol/requests/requests.ts";
import { ownerIn, seesRun } from "../access/scope.ts";
import type { Scope } from "../access/scope.ts";
import { acceptedBy } from "../agent/accepted-operations.ts";
import type { AgentDirectory } from "../agent/agent-directory.ts";
import type { Agent } from "../agent/agent.ts";
import type { Receipt } from "../api.ts";
import type {
  Address,
  AnswersOptions,
  EventFilter,
  EventPage,
  Feed,
  FollowOptions,
  ReadEventsOptions,
} from "../feeds.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { isHidden, isUnfinished, NO_AGENT } from "../journal/system-runs.ts";
import type {
  RequestsPage,
  RequestsQuery,
  RunDetails,
  RunsPage,
  RunsQuery,
  WaitsPage,
  WaitsQuery,
  WatchRunsOptions,
} from "../lists.ts";
import { toShown } from "../replay/beginning.ts";
import { checkKept, isMessage, readAccepted, readMessage } from "../replay/accepted.ts";
import { toWanted } from "./event-filter.ts";
import type { EventSelector } from "./event-filter.ts";
import { findLast } from "./find-last.ts";
import { follow } from "./follow.ts";
import {
  countedTo,
  listSeen,
  readWaits,
  searchRequests,
  searchRuns,
  toDetails,
  toRunRequest,
  toTotal,
} from "./lists.ts";
import { toLost } from "./lost-events.ts";
import { toFeed } from "./to-feed.ts";
import { ReaderSweep } from "./reader-sweep.ts";
import { RecentMap } from "./recent-map.ts";
import { oldestQuestion, toStatus } from "./request-status.ts";
import { shownTo } from "./shown-events.ts";
import { watchRuns } from "./watch-runs.ts";

/** The number of requests whose constant data is cached, so that their readers need no log access. */
const REMEMBERED = 10_000;

/** The number of requests in the answer for one run. */
const REQUESTS = 100;

/** All reads of clients from the log. */
export class Queries {
  readonly #log: EventLog;
  readonly #environment: Environment;
  readonly #agents: AgentDirectory;
  /** By their ids and owners. */
  readonly #requests = new RecentMap<string, Remembered>(REMEMBERED);

  readonly #readerSweep: ReaderSweep | undefined;

  constructor(log: EventLog, environment: Environment, agents: AgentDirectory) {
    this.#log = log;
    this.#environment = environment;
    this.#agents = agents;
    this.#readerSweep = log.reliableTail ? undefined : new ReaderSweep(environment);
  }

  /** Caches the data of a request for its readers. */
  remember(runId: RunId, { requestId, agent, owner, request }: AcceptedRequest, receipt?: Receipt): void {
    const level = request.logging_level ?? "default";
    const after = receipt && startedAfter(receipt);
    this.#requests.set(keyOf({ requestId, owner }), { runId, agent, owner, level, startedAfter: after });
  }

  async #rememberMessage(entry: RequestEntry): Promise<void> {
    const { agent, id: messageEvent } = await readMessage(this.#log, entry);
    const { runId, owner } = entry;
    this.#requests.set(keyOf(entry), { runId, agent, owner, level: "all", messageEvent });
  }

  /** Drops the cached data of removed runs. */
  forget(runIds: ReadonlySet<RunId>): void {
    this.#requests.deleteWhere(({ runId }) => runIds.has(runId));
  }

  async resolve(id: string, scope: Scope): Promise<Address> {
    const requestId = id as RequestId;
    // What a rule of the application says depends on the run.
    const cached =
      scope.sees === undefined ? this.#requests.get(keyOf({ requestId, owner: scope.owner })) : undefined;
    // Another node may have removed the run since the data was cached.
    if (cached && this.#log.node !== undefined) await this.request(requestId, scope);
    const known = cached ?? (await this.#lookUp(requestId, scope));
    if (known) {
      const { runId, agent, owner, messageEvent } = known;
      return {
        kind: "request",
        requestId,
        runId,
        agent,
        ...(owner !== undefined && { owner }),
        ...(messageEvent !== undefined && { messageEvent }),
      };
    }
    const { runId, agent, owner } = await this.run(id, scope);
    return { kind: "run", runId, agent, ...(owner !== undefined && { owner }) };
  }

  /** The row of a run; `not_found`, or `gone` when it was removed. */
  async run(runId: RunId, scope: Scope): Promise<RunEntry> {
    const run = await this.#log.run(runId, ownerIn(scope));
    if (run !== undefined && (run.removed === true || isUnfinished(run)))
      throw new AgentError("gone", `run ${runId} was removed`);
    if (run === undefined || isHidden(run) || !seesRun(scope, run))
      throw new AgentError("not_found", `there is no run or request ${runId}`);
    return run;
  }

  /** The index entry of a request. */
  async request(requestId: RequestId, scope: Scope): Promise<RequestEntry> {
    const entry = await findRequest(this.#log, requestId, scope);
    if (entry === undefined) throw new AgentError("not_found", `there is no request ${requestId}`);
    checkKept(entry);
    return entry;
  }

  async read(address: Address, { filter, ...range }: ReadEventsOptions): Promise<EventPage> {
    const entry = address.kind === "run" ? undefined : await this.#entry(address);
    const { start, end } = toExtent(entry);
    const page = await readPage(this.#log, address, {
      ...range,
      after: Math.max(range.after, start),
      wanted: await this.#wanted(address, filter),
    });
    return { ...page, more: page.more && page.cursor < end };
  }

  async follow(
    address: Address,
    { after, seen = 0, forever = false, filter, signal }: FollowOptions,
  ): Promise<Feed> {
    const wanted = await this.#wanted(address, filter);
    const start = after ?? (await this.#segmentStart(address));
    const { clamped, finished } =
      after === undefined ? { clamped: start, finished: false } : await this.#place(address, start, seen);
    const log = this.#log;
    const readerSweep = this.#readerSweep;
    return follow(
      { log, address, after: clamped, shownAfter: clamped, wanted, forever, signal, readerSweep },
      finished && !forever,
    );
  }

  async status(requestId: RequestId, scope: Scope): Promise<RequestStatus> {
    const entry = await this.request(requestId, scope);
    const status = await toStatus(this.#log, entry, shownTo(scope));
    const agent = this.#agents.find(status.agent);
    return { ...status, ...(agent && (await machineStatus(this.#log, entry, agent))) };
  }

  /** The oldest open question of a request, as its encoded event; `undefined` unless it waits. */
  async question(receipt: OwnedRequest): Promise<string | undefined> {
    const entry = await this.#entry(receipt);
    return entry?.phase === "waiting" || entry?.phase === "held"
      ? oldestQuestion(this.#log, entry)
      : undefined;
  }

  /** The row of a run, as the runtime shows it. */
  async details(runId: RunId, scope: Scope): Promise<RunDetails> {
    return toDetails(await this.run(runId, scope));
  }

  /** The newest requests of a run, the newest first. */
  async requests(runId: RunId, scope: Scope): Promise<readonly RunRequest[]> {
    await this.run(runId, scope);
    return (await this.#log.requests({ runId, limit: REQUESTS })).map(toRunRequest);
  }

  /** The requests of all runs, those of the most recently updated run first. */
  async listRequests(query: RequestsQuery, scope: Scope): Promise<RequestsPage> {
    return searchRequests(this.#log, { ...query, ...ofOwner(scope, query.owner) }, scope.sees);
  }

  async runs(
    { order = "updated", finishReason, text, errorCode, updatedAfter, metadata, ...asked }: RunsQuery,
    scope: Scope,
  ): Promise<RunsPage> {
    const { total = false, ...listed } = asked;
    const query = {
      ...listed,
      ...ofOwner(scope, asked.owner),
      ...(order === "oldest" && { oldestFirst: true }),
    };
    const { sees } = scope;
    if (sees !== undefined && order === "created") {
      const { runs, ...page } = await listSeen(this.#log, { ...query, total: total !== false }, sees);
      return { ...page, runs: runs.map(toDetails) };
    }
    // Which runs have failed, the log knows.
    const isOfFailed = finishReason === "error";
    const search = {
      ...(!isOfFailed && { finishReason }),
      text,
      errorCode,
      updatedAfter,
      metadata,
      sees,
    };
    const failed = isOfFailed || (errorCode !== undefined && finishReason === undefined);
    if (Object.values(search).some((one) => one !== undefined)) {
      const { runs, next } = await searchRuns(this.#log, { ...query, ...(failed && { failed }) }, search);
      return { runs: runs.map(toDetails), ...(next !== undefined && { next }) };
    }
    const byCreation = order === "created";
    // A list by creation, and one of an agent, has no run that no client sees.
    const isWhole = byCreation || query.agent !== undefined;
    const isCounted = total !== false;
    const selected = { ...query, ...(failed && { failed }) };
    const hidden = isCounted && !isWhole ? await this.#countHidden(selected) : 0;
    const most = countedTo(total);
    const page = await this.#log.list({
      ...selected,
      byCreation,
      ...(isCounted && { total: most === Infinity ? true : most + 1 + hidden }),
    });
    return {
      runs: page.runs.filter((run) => !isHidden(run)).map(toDetails),
      ...(page.next !== undefined && { next: page.next }),
      ...toTotal(page.total === undefined ? undefined : page.total - hidden, most),
    };
  }

  /** The number of the runs of a list that no client sees. */
  async #countHidden({ agent: _agent, cursor: _cursor, ...query }: RunEntryQuery): Promise<number> {
    const page = await this.#log.list({ ...query, agent: NO_AGENT, limit: 1, offset: 0, total: true });
    return page.total ?? 0;
  }

  /** The newest rows of the list of runs, then each row when it changes, encoded. */
  watchRuns(options: WatchRunsOptions, scope: Scope): Feed {
    return watchRuns({
      ...options,
      ...ofOwner(scope, options.owner),
      sees: scope.sees,
      log: this.#log,
      environment: this.#environment,
      readerSweep: this.#readerSweep,
    });
  }

  /** The open waits, as their encoded events. */
  async waits(query: WaitsQuery, scope: Scope): Promise<WaitsPage> {
    return readWaits(this.#log, { ...query, ...ofOwner(scope, query.owner) }, scope.sees);
  }

  /** Opens the events that answer a receipt. */
  async answers(
    { requestId, runId, kind, owner, after, event }: Receipt,
    { seen, filter, signal }: AnswersOptions = {},
  ): Promise<Feed> {
    if (kind === "read" && event !== undefined) return toOneEvent(event, after);
    if (runId === null) throw new AgentError("invalid_request", "a configuration of an agent has no events");
    const address = {
      kind: "request",
      requestId,
      runId,
      agent: "",
      ...(owner !== undefined && { owner }),
    } as const;
    const { clamped, finished } =
      seen === undefined
        ? { clamped: after, finished: false }
        : await this.#place(address, Math.max(after, seen), seen);
    // An older wait that is still open is in the current segment. The stream must know it to find its end.
    const start = kind === "turn" ? clamped : Math.min(clamped, await this.#segmentStart(address));
    return follow(
      {
        log: this.#log,
        address,
        after: start,
        shownAfter: clamped,
        wanted: await this.#wanted(address, filter),
        forever: false,
        signal,
        readerSweep: this.#readerSweep,
      },
      finished,
    );
  }

  /** The index entry of a request whose owner is known. */
  #entry({ requestId, owner = DEFAULT_OWNER }: OwnedRequest): Promise<RequestEntry | undefined> {
    return this.#log.lookup(requestId, owner);
  }

  async #lookUp(requestId: RequestId, scope: Scope): Promise<Remembered | undefined> {
    const entry = await findRequest(this.#log, requestId, scope);
    if (entry === undefined) return undefined;
    checkKept(entry);
    if (isMessage(entry)) await this.#rememberMessage(entry);
    else this.remember(entry.runId, await readAccepted(this.#log, entry));
    return this.#requests.get(keyOf(entry));
  }

  async #wanted(address: Address, filter: EventFilter | undefined): Promise<EventSelector | undefined> {
    return toWanted(address, filter, filter?.level ?? (await this.#levelOf(address)));
  }

  /** The level of a request, which applies to readers that set no filter. */
  async #levelOf(address: Address): Promise<LoggingLevel> {
    if (address.kind === "run") return "all";
    const scope = { owner: ownerOf(address), seesAll: false };
    const known = this.#requests.get(keyOf(address)) ?? (await this.#lookUp(address.requestId, scope));
    return known?.level ?? "default";
  }

  /** The cursor before the current segment. */
  async #segmentStart(address: Address): Promise<number> {
    const requestId =
      address.kind === "request" ? address.requestId : await this.#newestRequest(address.runId);
    const { owner } = address;
    const entry = requestId === undefined ? undefined : await this.#entry({ requestId, owner });
    if (entry === undefined) return 0;
    // The request belongs to the source of a fork, and the source was removed.
    if (entry.removed === true) return this.#lastStart(address.runId);
    const { segment, started, accepted } = entry;
    return (segment ?? started ?? accepted.after + 1) - 1;
  }

  /** The request of the newest event of a run that belongs to one; an upload does not. */
  async #newestRequest(runId: RunId): Promise<RequestId | undefined> {
    const found = await findLast(this.#log, runId, (text) => requestIdOf(text) !== null);
    return (found && requestIdOf(found.text)) ?? undefined;
  }

  /** The cursor before the newest turn, answer or expired wait of a run. */
  async #lastStart(runId: RunId): Promise<number> {
    const starts = (text: string): boolean =>
      typeOf(text) === "ResumeWithInput" ||
      typeOf(text) === "WaitExpired" ||
      (typeOf(text) === "RequestStarted" && depthOf(text) === 0);
    return ((await findLast(this.#log, runId, starts))?.id ?? 1) - 1;
  }

  /**
   * Checks a cursor against the log: clamps it, and tells whether all events that will ever come are before
   * it.
   */
  async #place(
    address: Address,
    after: number,
    seen: number,
  ): Promise<{ readonly clamped: number; readonly finished: boolean }> {
    if (address.kind === "run") {
      const run = await this.#log.run(address.runId);
      checkReaches(run, seen);
      const clamped = Math.min(after, run?.head ?? 0);
      return { clamped, finished: run?.status === "idle" && clamped >= run.head };
    }
    if (this.#requests.get(keyOf(address))?.startedAfter === after)
      return { clamped: after, finished: false };
    const entry = await this.#entry(address);
    const { start, end } = toExtent(entry);
    if (after <= start) return { clamped: start, finished: false };
    const run = await this.#log.run(address.runId);
    checkReaches(run, seen);
    const clamped = Math.min(after, run?.head ?? 0);
    return { clamped, finished: clamped >= end };
  }
}

/** Fails if a reader has got an event that the log does not have. */
function checkReaches(run: RunEntry | undefined, seen: number): void {
  if (run !== undefined && run.removed !== true && run.head < seen) throw toLost(run.runId, run.head, seen);
}

/** The range of cursors that contains all events of a request, as far as it is known. */
function toExtent(entry: RequestEntry | undefined): { readonly start: number; readonly end: number } {
  if (entry === undefined) return { start: 0, end: Infinity };
  const { started, accepted, completed = Infinity } = entry;
  return { start: started === undefined ? accepted.after : started - 1, end: completed };
}

/** A stream of an event that is in no log. */
function toOneEvent(event: string, cursor: number): Feed {
  return toFeed((sink) => {
    sink.page({ events: [event], cursor, more: false, last: true });
    sink.end();
    return { resume() {}, stop() {} };
  }, false);
}

/** The cursor before the first event of a request that has just started; `undefined` for one that waits. */
function startedAfter({ after, event, replayed }: Receipt): number | undefined {
  if (event === undefined || replayed) return undefined;
  return typeOf(event) === "RequestStarted" && idOf(event) === after + 1 ? after : undefined;
}

/** A request, by its id and the owner of its run. */
interface OwnedRequest {
  readonly requestId: RequestId;
  /** Absent for `default`. */
  readonly owner?: string | undefined;
}

/** No id of a request has a slash. */
function keyOf({ requestId, owner }: OwnedRequest): string {
  return owner === undefined || owner === DEFAULT_OWNER ? requestId : `${requestId}/${owner}`;
}

/** Finds a request of the owner of a scope, or of any other one that the scope sees. */
async function findRequest(
  log: EventLog,
  requestId: RequestId,
  scope: Scope,
): Promise<RequestEntry | undefined> {
  const { owner, seesAll } = scope;
  const own = seesAll && owner === DEFAULT_OWNER ? undefined : await log.lookup(requestId, owner);
  const entry = own === undefined && seesAll ? await log.lookup(requestId) : own;
  if (entry === undefined || scope.sees === undefined) return entry;
  const run = await log.run(entry.runId);
  return run !== undefined && seesRun(scope, run) ? entry : undefined;
}

/** The owner whose things are listed: the own one, or the one that was asked for, by someone who sees all. */
function ofOwner({ owner, seesAll }: Scope, asked: string | undefined): { readonly owner?: string } {
  if (!seesAll) return { owner };
  return asked === undefined ? {} : { owner: asked };
}

interface Remembered {
  readonly runId: RunId;
  readonly agent: string;
  readonly owner: string | undefined;
  /** The id of the event, if the request is a message. */
  readonly messageEvent?: number;
  readonly level: LoggingLevel;
  /** The cursor before its first event, if it started when it was accepted. */
  readonly startedAfter?: number | undefined;
}

/** Default and maximum size of a polled page. */
const PAGE = { limit: 1_000, limitBytes: 1_048_576 };

/** Reads one page of a run's log and drops the filtered events. */
async function readPage(
  log: EventLog,
  address: Address,
  {
    after,
    wanted,
    ...limits
  }: {
    readonly after: number;
    readonly wanted: EventSelector | undefined;
    readonly limit?: number;
    readonly limitBytes?: number;
  },
): Promise<EventPage> {
  const page = await log.read(address.runId, { after, ...PAGE, ...limits });
  checkReadable(address.runId, page.events[0]);
  const { events, cursor } = toShown(page, after, limits.limit);
  const { head } = page;
  return { events: toEncoded(wanted ? events.filter(wanted) : events), cursor, more: cursor < head };
}

/** The state of the machine that a request runs, as of its newest event, and the operations that it takes now. */
async function machineStatus(
  log: EventLog,
  entry: RequestEntry,
  { machine, operations }: Agent,
): Promise<Pick<RequestStatus, "state" | "accepts">> {
  if (machine === undefined) return {};
  const { statechart } = machine;
  const change = await newestChange(log, entry);
  if (change === undefined) return {};
  const { value: state, chart, status } = change;
  // A chart that has changed since then says nothing about this state.
  const isOpen = entry.phase !== "completed" && status === "active" && chart === statechart.hash;
  return { state, ...(isOpen && { accepts: acceptedBy(statechart, state, Object.keys(operations)) }) };
}

/** The newest StateChanged of the requested agent's machine. */
async function newestChange(
  log: EventLog,
  { runId, requestId, started, completed }: RequestEntry,
): Promise<EventOf<"StateChanged"> | undefined> {
  if (started === undefined) return undefined;
  const isOfAgent = (text: string): boolean =>
    typeOf(text) === "StateChanged" &&
    depthOf(text) === 0 &&
    requestIdOf(text) === requestId &&
    // Not the state of a machine inside the agent's machine.
    toChange(text).machine === undefined;
  const found = await findLast(log, runId, isOfAgent, { from: started, to: completed });
  return found && toChange(found.text);
}

function toChange(text: string): EventOf<"StateChanged"> {
  return JSON.parse(text) as EventOf<"StateChanged">;
}
