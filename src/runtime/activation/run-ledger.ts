import { AgentError } from "../../errors.ts";
import type { Claim } from "../../ports/event-log.ts";
import { HOUR_MS, countOne } from "../../ports/statistics.ts";
import { NOTHING_SPENT } from "../../ports/spending.ts";
import type { Spent } from "../../ports/spending.ts";
import type { Budget } from "../../protocol/events/event-body.ts";
import type { Base, RecordPosition, RunRow } from "../../ports/log-batch.ts";
import type { By, Hops, RequestTrace, SenderRef } from "../../protocol/actors.ts";
import type { HeldTurn, LastTurn, RunPhase } from "../../protocol/answers/status.ts";
import { DEFAULT_OWNER, ownerOf, toOwned } from "../../ports/principal.ts";
import { createSpeaker, toTimestamp } from "../../protocol/events/encode.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { CHAT } from "../agent/agent.ts";
import { byteLength } from "../journal/json-limits.ts";
import { NO_AGENT, ERASING, REMOVING } from "../journal/system-runs.ts";
import { wantsEnd } from "../agent/watchers.ts";
import { isNoticed, toNotice } from "../replay/heading.ts";
import type { NoticedMessage } from "../replay/heading.ts";
import { addUsage } from "../replay/turn-journal.ts";
import type { HoldReason, TurnError, Usage } from "../../protocol/events/outcome-codes.ts";
import type { RecordedEvent, Recorder } from "../journal/recorder.ts";
import type {
  AcceptedRequest,
  CheckpointRecord,
  ContinuedRecord,
  PromptRecord,
  RecordBody,
} from "../journal/records.ts";
import { toPromptMark } from "../replay/prompts.ts";
import type { PromptMark } from "../replay/prompts.ts";
import { evolve, startedOf, toSnapshot } from "../replay/run-state.ts";
import type {
  CancelingTurn,
  OpenRequest,
  RunStateChange,
  RunState,
  UnreadMessage,
} from "../replay/run-state.ts";
import type { HourRows } from "../journal/hour-rows.ts";
import { dayOf, toSpent } from "../owners/budgets.ts";
import type { OwnerAccounts } from "../owners/accounts.ts";
import type { RunContext } from "../run-context.ts";
import type { InboxMessage } from "../scheduler/inbox.ts";
import { RunActor, TRANSITIONS } from "../system/run-actor.ts";
import type { LifecycleEvent, RunStateOwner } from "../system/run-actor.ts";
import type { LifecycleState, RunFacts } from "../system/run-snapshot.ts";
import type { TurnEnd } from "../turn/turn-end.ts";
import { beginningOf } from "../../shared/words.ts";

/** A message for the agent of a run. */
export interface GivenMessage {
  readonly name: string;
  readonly body: Json;
  readonly sender?: SenderRef;
  /** How many requests led to it without a caller that waits; only for a publication. */
  readonly hops?: Hops;
  readonly by?: By;
}

/** A message in the log, and what it changes. */
export interface LoggedMessage extends InboxMessage {
  readonly text: string;
  readonly change: NoticedMessage | (UnreadMessage & { readonly type: "MessageReceived" });
}

/** The end of a request; one that joined the turn of another has no memory of its own. */
export type RequestEnd = Omit<TurnEnd, "memory"> & Partial<Pick<TurnEnd, "memory">>;

/** What a new run has besides what it is made from. */
export interface NewRun {
  /** The configuration for new runs of its agent. */
  readonly config?: JsonObject | undefined;
  readonly owner?: string | undefined;
}

/** A turn that has failed and is done again. */
export interface RestartedTurn {
  readonly error: TurnError;
  /** When the next turn begins, in milliseconds since 1970; absent if that is at once. */
  readonly until?: number | undefined;
}

/** The end of a canceled turn. */
export const CANCELED: Omit<TurnEnd, "memory"> = { finishReason: "canceled", result: null, output: null };

/**
 * A run is loaded from its newest snapshot, about this many events and records after it, and its last turn.
 */
const SNAPSHOT_EVERY = 256;

/** How many characters of an error's message and of a result are in the list of runs. */
const SHOWN_ERROR = 200;
const SHOWN_RESULT = 80;

/** Keeps a run's state, its phase, its row in the list of runs and its log consistent. */
export class RunLedger implements RunStateOwner {
  readonly runId: RunId;
  readonly recorder: Recorder;
  /** The actor of the run. */
  readonly actor: RunActor;
  readonly #now: () => number;
  #lifecycle: LifecycleState = "idle";
  #state: RunState;
  #started: OpenRequest | undefined;
  /** The row in the list of runs; absent until the first message of the run. */
  #row: RunRow | undefined;
  #lastTurn: LastTurn | undefined;
  /** The usage of all turns that have ended. */
  #usage: Usage | undefined;
  /** The number of events and records that the newest snapshot covers. */
  #covered: number;
  #key: string | undefined;
  #isLeaving = false;
  readonly #owners: OwnerAccounts | undefined;
  readonly #hourRows: HourRows;
  /** Whether the started turn only waits, and how many open turns count for the owner. */
  #isResting = false;
  #counted = 0;

  constructor(
    { environment, system, owners, hourRows }: RunContext,
    recorder: Recorder,
    state: RunState,
    { cursor, run, snapshot }: Claim,
  ) {
    const { runId } = cursor;
    this.runId = runId;
    this.recorder = recorder;
    this.#state = state;
    this.#started = startedOf(state);
    this.#row = run;
    this.#lastTurn = run?.lastTurn;
    this.#usage = run?.usage;
    this.#key = run?.alias;
    this.#covered = snapshot === undefined ? 0 : snapshot.head + snapshot.records;
    this.#now = environment.now;
    this.#owners = owners;
    this.#hourRows = hourRows;
    this.actor = new RunActor(system, runId, this);
  }

  get lifecycle(): LifecycleState {
    return this.#lifecycle;
  }

  /** What an inspector sees of the run. */
  get facts(): RunFacts {
    const { turns, open } = this.#state;
    const started = this.#started;
    return {
      agent: this.agent,
      key: this.#key,
      request_id: started?.accepted.requestId,
      turns,
      queued: open.length - (started === undefined ? 0 : 1),
    };
  }

  /** What the run is doing. The rows of the run and of its request are derived from this. */
  get phase(): RunPhase {
    return this.#lifecycle === "closed" ? "running" : this.#lifecycle;
  }

  /** Changes the phase. */
  enter(event: LifecycleEvent): void {
    this.#lifecycle = TRANSITIONS[this.#lifecycle][event] ?? this.#lifecycle;
    this.actor.entered(event);
    this.#count();
  }

  /** Whether the started turn only waits for something from outside. */
  rest(isResting: boolean): void {
    if (this.#isResting === isResting) return;
    this.#isResting = isResting;
    this.#count();
  }

  /** Counts the turns that work, or wait for their start, for the owner of the run. */
  #count(): void {
    if (this.#owners === undefined) return;
    const { open } = this.#state;
    const resting = this.#started !== undefined && this.#isResting ? 1 : 0;
    const working = this.#lifecycle === "closed" ? 0 : open.length - resting;
    if (working === this.#counted) return;
    this.#owners.of(this.owner).openTurns(working - this.#counted);
    this.#counted = working;
  }

  /** Milliseconds since 1970. */
  get now(): number {
    return this.#now();
  }

  get state(): RunState {
    return this.#state;
  }

  /** The agent of the run; `undefined` for a run without a row. */
  get agent(): string | undefined {
    return this.#row?.agent;
  }

  /** The newest turn of the run. */
  get lastTurn(): LastTurn | undefined {
    return this.#row?.lastTurn;
  }

  /** The key of the run, if it has one. */
  get key(): string | undefined {
    return this.#key;
  }

  /** The owner of the run; that of a new one is known when it begins. */
  get owner(): string {
    return ownerOf(this.#row ?? {});
  }

  /** Gives a new run its key; the run `from` loses it. */
  name(agent: string, key: string, from?: RunId): void {
    this.#key = key;
    this.recorder.alias({
      ...toOwned(this.owner),
      agent,
      name: key,
      ...(from !== undefined && { from }),
    });
  }

  /** When the run was changed last, in milliseconds since 1970; `undefined` for a run without a row. */
  get updatedAt(): number | undefined {
    return this.#row?.updatedAt;
  }

  /** Whether the run has anything but what its actor needs. */
  get hasHistory(): boolean {
    return this.#state.turns > 0 || (this.#state.newest ?? []).length > 0;
  }

  /** Writes that the actor of the run continues in another run, to which the run then loses its key. */
  renew(agent: string, key: string, to: RunId, updatedAt?: number): void {
    this.#evolve({ type: "Renewed", to });
    this.recorder.event(this.speakerOf({ requestId: null, agent }), { type: "Renewed", to, key });
    this.save(undefined, updatedAt);
  }

  /** Writes a message of the run before that is still needed: its request stays with that run. */
  carry(speaker: Speaker, messageId: RequestId, given: GivenMessage): LoggedMessage {
    const message = this.#message(speaker, messageId, given);
    this.#evolve(message.change);
    return message;
  }

  /** The run has lost its key to another run. */
  unname(): void {
    this.#key = undefined;
  }

  /** Whether the run has its row, which it gets with its first message. */
  get begun(): boolean {
    return this.#row !== undefined;
  }

  /** The request whose turn has started and not ended. */
  get started(): OpenRequest | undefined {
    return this.#started;
  }

  /** The speaker of the events of a request, or of those that belong to none. */
  speakerOf({ requestId, agent }: { readonly requestId: RequestId | null; readonly agent: string }): Speaker {
    return createSpeaker({ run_id: this.runId, request_id: requestId, agent, depth: 0 });
  }

  /** Creates the row of a new run. */
  begin(
    agent: string,
    initialInput: Json,
    metadata: JsonObject,
    { config, owner = DEFAULT_OWNER }: NewRun = {},
  ): void {
    const now = this.#now();
    this.#row = {
      agent,
      ...toOwned(owner),
      status: "idle",
      createdAt: now,
      updatedAt: now,
      turns: 0,
      initialInput,
      metadata,
    };
    if (config) this.change({ type: "ConfigRecorded", version: 1, args: config });
  }

  /** From now on the run takes no more requests, because its removal has begun. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Hides the run from all clients: its row belongs to no agent, so that no list of runs has it. */
  hide({ by, erases }: { readonly by?: By | undefined; readonly erases: boolean }): void {
    this.leave();
    if (this.#row === undefined) return;
    this.#row = { ...this.#row, agent: NO_AGENT, metadata: erases ? ERASING : REMOVING };
    this.recorder.row(this.#row);
    this.recorder.audit("remove", by);
  }

  /** Whether a removal of the run that has begun also erases what the audit trail has of it. */
  get isErasing(): boolean {
    return this.#row?.metadata["erasing"] === true;
  }

  /** Throws `gone` if the removal of the run has begun. */
  checkThere(): void {
    if (this.#isLeaving) throw new AgentError("gone", `run ${this.runId} was removed`);
  }

  /** Records a journal entry that changes the run's state. */
  change(record: RecordBody): RecordPosition {
    this.#evolve(record);
    return this.recorder.record(record);
  }

  /** Records what a completion is asked. */
  prompted(record: PromptRecord): PromptMark {
    const prompt = toPromptMark(record, this.recorder.record(record));
    this.#evolve({ type: "Prompted", prompt });
    return prompt;
  }

  /** What the turns of the run have spent that have ended, and by how much its budget was raised. */
  get spent(): Spent {
    const { tokens, cost } = this.#state.raised ?? NOTHING_SPENT;
    return { ...toSpent(this.#usage ?? {}), raisedTokens: tokens, raisedCost: cost };
  }

  /** Raises the budget of the run, or that of its owner or an agent on a day. */
  raise({ unit, day, agent }: Budget, amount: number): void {
    if (day === undefined) this.change({ type: "Raised", unit, amount });
    else
      this.recorder.spend({
        day: dayOf(Date.parse(day)),
        ...(agent !== undefined && { agent }),
        ...(unit === "tokens" ? { raisedTokens: amount } : { raisedCost: amount }),
      });
  }

  /** Writes the acceptance of a request. */
  accept(accepted: AcceptedRequest): void {
    const { requestId, request, by } = accepted;
    const { operation } = request as { readonly operation?: string };
    this.#accept(accepted);
    this.recorder.audit("process", by, { requestId, ...(operation !== undefined && { detail: operation }) });
  }

  #accept(accepted: AcceptedRequest): void {
    const { requestId, acceptedAt: createdAt } = accepted;
    const position = this.change({ type: "Accepted", accepted });
    this.recorder.mark({ requestId, phase: "queued", createdAt, accepted: position });
  }

  /** Writes a message. Its request is accepted and completed in one commit, that of its event. */
  receive(speaker: Speaker, messageId: RequestId, given: GivenMessage): LoggedMessage {
    const { recorder } = this;
    const message = this.#message(speaker, messageId, given);
    const { id, change } = message;
    this.#evolve(change);
    const accepted = { n: recorder.records, after: id - 1 };
    const createdAt = this.#now();
    recorder.mark({
      requestId: messageId,
      phase: "completed",
      createdAt,
      accepted,
      started: id,
      completed: id,
    });
    if (change.type === "Published" || (change.type === "WatchReceived" && this.#isRetained(id)))
      this.#tell(messageId, id);
    return message;
  }

  /** Whether the newest watcher, which began with this event, gets what was published before. */
  #isRetained(id: number): boolean {
    return this.#state.watchers?.some(({ since, retain }) => since === id && retain === true) === true;
  }

  /** Has an event of the run sent to its watchers. */
  #tell(requestId: RequestId, event: number): void {
    const { watchers } = this.#state;
    if (watchers !== undefined && watchers.length > 0)
      this.recorder.outbox({ requestId, kind: "notice", event });
  }

  /** Writes a message that the running turn has read at once, at the step with this id. */
  hand(speaker: Speaker, messageId: RequestId, given: GivenMessage & { readonly callId: CallId }): void {
    const { name, callId } = given;
    const { id, bytes } = this.#message(speaker, messageId, given);
    this.#evolve({ type: "MessageReceived", id, name, bytes });
    this.change({ type: "Received", call_id: callId, name, ids: [id] });
  }

  /** Writes the start of a turn, with the time of its acceptance if it was queued. */
  start(
    speaker: Speaker,
    { requestId, request, sender, acceptedAt, by }: AcceptedRequest,
    agentVersion: string | undefined,
    isQueued: boolean = false,
  ): RecordedEvent {
    const version = this.#state.config?.version;
    const operation = request.type === "ChatRequest" ? CHAT : request.operation;
    // A request that joins an open turn changes nothing of the code that this one needs.
    const turnVersion = this.#started === undefined ? agentVersion : this.#lastTurn?.agent_version;
    this.#evolve({ type: "RequestStarted", requestId });
    const started = this.recorder.event(speaker, {
      type: "RequestStarted",
      operation,
      input: request.input,
      ...(request.attachments && { attachments: request.attachments }),
      ...(version !== undefined && { config_version: version }),
      ...(agentVersion !== undefined && { agent_version: agentVersion }),
      ...(sender && { sender }),
      ...(isQueued && { accepted_at: new Date(acceptedAt).toISOString() }),
      ...(by && { by }),
      ...(request.trace && { trace: toRequestTrace(request.trace) }),
    });
    this.recorder.mark({ requestId, phase: "running", started: started.id });
    this.#lastTurn = {
      request_id: requestId,
      operation,
      ...(turnVersion !== undefined && { agent_version: turnVersion }),
      started_at: toTimestamp(this.#now()),
    };
    return started;
  }

  /** Writes that the turn has ended, and that the next one of its request begins. */
  continueTurn(record: ContinuedRecord, memory: ReadonlyMap<string, Json>): void {
    for (const [agent, value] of memory) this.change({ type: "MemoryCommitted", agent, value });
    this.#evolve({ type: "TurnContinued", record, at: this.recorder.record(record) });
    if (this.#lastTurn !== undefined && record.agent_version !== undefined)
      this.#lastTurn = { ...this.#lastTurn, agent_version: record.agent_version };
    this.save("due");
  }

  /**
   * Writes that the turn has failed, and that the next one of its request does it again, now or later. Returns the encoded
   * RequestRestarted.
   */
  restart(
    record: ContinuedRecord,
    { error, until }: RestartedTurn,
    memory: ReadonlyMap<string, Json>,
  ): string {
    const started = this.#started;
    if (started === undefined) throw new AgentError("conflict", "no turn is running");
    const { text } = this.recorder.event(this.speakerOf(started.accepted), {
      type: "RequestRestarted",
      error,
      restart: (started.restarts ?? 0) + 1,
      ...(until !== undefined && { until: toTimestamp(until) }),
    });
    this.#showCleanupEnd();
    this.continueTurn(record, memory);
    return text;
  }

  /** Writes that the actor takes no requests any more. */
  stop(error: TurnError): void {
    const since = toTimestamp(this.#now());
    this.recorder.event(this.speakerOf({ requestId: null, agent: this.agent ?? "" }), {
      type: "ActorStopped",
      error,
    });
    this.#evolve({ type: "ActorStopped", stopped: { since, error } });
    this.#lastTurn &&= { ...this.#lastTurn, stopped: { since } };
    this.save();
  }

  /** Writes that the actor takes requests again. */
  resume(by?: By): void {
    this.recorder.event(this.speakerOf({ requestId: null, agent: this.agent ?? "" }), {
      type: "ActorResumed",
      ...(by && { by }),
    });
    this.#evolve({ type: "ActorResumed" });
    if (this.#lastTurn !== undefined) {
      const { stopped: _, ...lastTurn } = this.#lastTurn;
      this.#lastTurn = lastTurn;
    }
    this.save();
  }

  /** Throws `stopped` if the actor takes no requests. */
  checkNotStopped(): void {
    const { stopped } = this.#state;
    if (stopped === undefined) return;
    const { error, since } = stopped;
    const name = this.#key === undefined ? "" : ` (${this.#key})`;
    throw new AgentError(
      "stopped",
      `run ${this.runId}${name} of agent ${this.agent ?? ""} is stopped since ${since}: ${error.message}`,
      {
        hint: `resume it with POST /runs/${this.runId}/resume, or troupe runs resume ${this.runId}`,
        facts: { stopped: { since, error } },
      },
    );
  }

  /** Writes what is needed of the started turn up to a place, from which on it is read then. */
  keep(record: CheckpointRecord): void {
    const kept = this.recorder.record(record);
    this.#evolve({ type: "TurnKept", requestId: record.request_id, base: { at: record.at, kept } });
    this.save("now");
  }

  /** Has the log of the run begin behind a place, of which nothing but what its base keeps is needed. */
  shorten(base: Base): void {
    this.recorder.base(base);
    // Without the snapshot the run would be loaded from before the place. Nothing has changed for those who list runs.
    this.save("now", this.updatedAt);
  }

  /** Writes the start of a turn that was begun in another run, as it is encoded, as that of the open turn of this new run. */
  copyStart(accepted: AcceptedRequest, started: string, agentVersion: string | undefined): void {
    const { requestId, request } = accepted;
    this.#accept(accepted);
    this.#evolve({ type: "RequestStarted", requestId });
    this.recorder.encoded(started);
    this.recorder.mark({ requestId, phase: "running", started: this.recorder.head });
    this.#lastTurn = {
      request_id: requestId,
      operation: request.type === "ChatRequest" ? CHAT : request.operation,
      ...(agentVersion !== undefined && { agent_version: agentVersion }),
      started_at: toTimestamp(this.#now()),
    };
    this.enter("start");
  }

  /** Writes that the cleanup steps of the turn run before it ends. Returns the encoded RequestCanceling. */
  beginCleanup({ finishReason, error }: Omit<CancelingTurn, "id">): string {
    const started = this.#started;
    if (started === undefined) throw new AgentError("conflict", "no turn is running");
    const { requestId } = started.accepted;
    const { id, text } = this.recorder.event(this.speakerOf(started.accepted), {
      type: "RequestCanceling",
      finish_reason: finishReason,
      ...(error && { error }),
    });
    const canceling = { id, finishReason, ...(error && { error }) };
    this.#evolve({ type: "RequestCanceling", requestId, canceling });
    this.#lastTurn &&= { ...this.#lastTurn, canceling: { since: toTimestamp(this.#now()) } };
    this.save();
    return text;
  }

  /** Writes that no served code can continue the turn. */
  hold(reason: HoldReason): void {
    const started = this.#started;
    if (started === undefined) return;
    const { requestId } = started.accepted;
    this.recorder.event(this.speakerOf(started.accepted), { type: "RequestHeld", ...reason });
    const hold = { ...reason, since: toTimestamp(this.#now()) };
    this.#evolve({ type: "RequestHeld", requestId, hold });
    this.#showHold(this.#started?.hold);
    this.enter("hold");
    this.save();
  }

  /** Writes that the turn that was held continues. */
  continueHeld(): void {
    const started = this.#started;
    if (started === undefined) return;
    const { requestId } = started.accepted;
    this.recorder.event(this.speakerOf(started.accepted), { type: "RequestContinued" });
    this.#evolve({ type: "RequestContinued", requestId });
    this.#showHold(undefined);
    this.enter("continue");
    this.save();
  }

  /** Shows in the row of the run why its turn is held. */
  #showHold(held: HeldTurn | undefined): void {
    if (this.#lastTurn === undefined) return;
    const { held: _, ...lastTurn } = this.#lastTurn;
    this.#lastTurn = { ...lastTurn, ...(held && { held }) };
  }

  #showCleanupEnd(): void {
    if (this.#lastTurn?.canceling === undefined) return;
    const { canceling: _, ...lastTurn } = this.#lastTurn;
    this.#lastTurn = lastTurn;
  }

  /** Writes the end of a turn. Returns the encoded RequestCompleted. */
  end(speaker: Speaker, accepted: AcceptedRequest, end: RequestEnd): string {
    const { requestId, callId, sender, escalated, request } = accepted;
    const { finishReason, result, truncated, output, error, usage, memory, cleanupErrors = [], by } = end;
    for (const [agent, value] of memory ?? []) this.change({ type: "MemoryCommitted", agent, value });
    const { id, text } = this.recorder.event(speaker, {
      type: "RequestCompleted",
      finish_reason: finishReason,
      result,
      ...(truncated && { result_truncated: true }),
      output,
      ...(error && { error }),
      ...(usage && { usage }),
      ...(cleanupErrors.length > 0 && { cleanup_errors: cleanupErrors }),
      ...(by && { by }),
    });
    this.#evolve({ type: "RequestCompleted", requestId });
    this.recorder.mark({ requestId, phase: "completed", completed: id });
    if (callId !== undefined) this.recorder.outbox({ requestId, kind: "reply", event: id });
    // No actor waits for the end of a tell, so one that fails is kept as a dead letter.
    else if (finishReason === "error" && isTell(sender) && escalated === undefined)
      this.recorder.outbox({ requestId, kind: "dead", event: id });
    if (this.#state.watchers?.some((watcher) => wantsEnd(watcher, finishReason)) === true)
      this.#tell(requestId, id);
    this.#showHold(undefined);
    this.#showCleanupEnd();
    this.#lastTurn &&= {
      ...this.#lastTurn,
      ended_at: toTimestamp(this.#now()),
      finish_reason: finishReason,
      ...(error && { error_code: error.code, error_message: beginningOf(error.message, SHOWN_ERROR) }),
      ...(result !== null && result !== "" && { result: beginningOf(result, SHOWN_RESULT) }),
    };
    if (usage) this.#usage = addUsage(this.#usage ?? {}, usage);
    const now = this.#now();
    this.recorder.count({
      ...this.#hourRows.keyOf({
        hour: Math.floor(now / HOUR_MS),
        owner: this.owner,
        kind: "turn",
        agent: accepted.agent,
        name: request.type === "ChatRequest" ? CHAT : request.operation,
        outcome: error ? `error:${error.code}` : finishReason,
      }),
      // Another node may have accepted it, by a clock that is ahead.
      ...countOne(Math.max(now - accepted.acceptedAt, 0)),
      ...(error && { runId: this.runId }),
    });
    return text;
  }

  /**
   * Writes the whole turn of a request that never ran, in one commit. Returns the encoded RequestCompleted.
   */
  cancelUnstarted(
    accepted: AcceptedRequest,
    agentVersion: string | undefined,
    { isQueued, by }: { readonly isQueued: boolean; readonly by?: By | undefined },
  ): string {
    const speaker = this.speakerOf(accepted);
    this.start(speaker, accepted, agentVersion, isQueued);
    this.recorder.event(speaker, { type: "CancelRequest", ...(by && { by }) });
    return this.end(speaker, accepted, CANCELED);
  }

  /** Writes the whole turn of a request that never runs. Returns the encoded RequestCompleted. */
  endUnstarted(
    accepted: AcceptedRequest,
    agentVersion: string | undefined,
    end: RequestEnd,
    { isQueued = true }: { readonly isQueued?: boolean } = {},
  ): string {
    let text = "";
    const write = (speaker: Speaker): void => {
      text = this.end(speaker, accepted, end);
    };
    this.pass(accepted, agentVersion, write, { isQueued });
    return text;
  }

  /**
   * Writes the start of a request that runs beside the turns, and has its end written in the same commit. Returns the encoded
   * RequestStarted.
   */
  pass(
    accepted: AcceptedRequest,
    agentVersion: string | undefined,
    end: (speaker: Speaker) => unknown,
    { isQueued = false }: { readonly isQueued?: boolean } = {},
  ): string {
    const speaker = this.speakerOf(accepted);
    // A turn that runs meanwhile stays the newest one, and so does the one that has ended what waited for it.
    const lastTurn = isQueued || this.#started ? this.#lastTurn : undefined;
    const { text } = this.start(speaker, accepted, agentVersion, isQueued);
    end(speaker);
    if (lastTurn !== undefined) this.#lastTurn = lastTurn;
    return text;
  }

  /** Resolves when everything recorded so far is committed; throws `unavailable` when that failed. */
  async committed(): Promise<void> {
    try {
      await this.recorder.committed();
    } catch (cause) {
      throw notWritten(cause);
    }
  }

  /**
   * Writes the run's row, and a snapshot: `now`, or if enough entries have been added since the last one (`due`). With a
   * time, the run counts as unchanged since then.
   */
  save(snapshot?: "due" | "now", updatedAt?: number): void {
    const row = this.#updateRow(updatedAt);
    if (row === undefined) return;
    const entries = snapshot && this.recorder.head + this.recorder.records;
    if (entries === undefined || (snapshot === "due" && entries - this.#covered < SNAPSHOT_EVERY)) {
      this.recorder.row(row);
      return;
    }
    this.#covered = entries;
    this.recorder.row(row, () => toSnapshot(this.#state));
  }

  /** Brings the row up to date. */
  #updateRow(updatedAt = this.#now()): RunRow | undefined {
    if (this.#row === undefined) return undefined;
    const { agent, owner, createdAt, initialInput, metadata } = this.#row;
    const started = this.#started?.accepted.requestId;
    const lastTurn = this.#lastTurn;
    const usage = this.#usage;
    // Written out: a copy without some fields is ten times slower, and this is done for each request and each turn.
    this.#row = {
      agent,
      status: this.phase,
      createdAt,
      updatedAt,
      turns: this.#state.turns,
      initialInput,
      metadata,
      ...(owner !== undefined && { owner }),
      ...(started !== undefined && { started }),
      ...(lastTurn && { lastTurn }),
      ...(usage && { usage }),
    };
    return this.#row;
  }

  #message(
    speaker: Speaker,
    messageId: RequestId,
    { name, body, sender, hops, by }: GivenMessage,
  ): LoggedMessage {
    const { id, text } = this.recorder.event(speaker, {
      type: "MessageReceived",
      message_id: messageId,
      name,
      body,
      ...(sender && { sender }),
      ...(hops && { hops }),
      ...(by && { by }),
    });
    const message = { id, name, body, bytes: byteLength(text), text };
    const fields = { ...message, sender, agent: speaker.address.agent };
    const change: LoggedMessage["change"] = isNoticed(fields)
      ? toNotice(fields)
      : { type: "MessageReceived", id, name, bytes: message.bytes };
    return { ...message, change };
  }

  #evolve(change: RunStateChange): void {
    this.#state = evolve(this.#state, change);
    this.#started = startedOf(this.#state);
    this.#count();
  }
}

/** What the log shows of the trace of a request; what its callers want known stays with the request. */
function toRequestTrace({ traceparent, linked }: RequestTrace): RequestTrace {
  return { traceparent, ...(linked && { linked }) };
}

/** Whether a request was told by an actor of this server, if no call waits for it. */
function isTell(sender: SenderRef | undefined): boolean {
  return sender !== undefined && sender.server === undefined;
}

/**
 * The error for callers that wait for a commit that has failed. That of an invalid batch is passed on, because the
 * caller can fix it.
 */
export function notWritten(cause: unknown): AgentError {
  if (cause instanceof AgentError) return cause;
  return new AgentError("unavailable", "the log cannot be written at present", { retryAfterS: 1, cause });
}
