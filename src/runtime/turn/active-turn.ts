import { AgentError } from "../../errors.ts";
import type { Environment } from "../../ports/environment.ts";
import { ownerOf } from "../../ports/principal.ts";
import { placeOfRequest, spanIdOf } from "../../shared/trace-context.ts";
import type { Spent } from "../../ports/spending.ts";
import { HOUR_MS, countOne } from "../../ports/statistics.ts";
import type { EndedCompletion, FaultFacts } from "../../ports/telemetry.ts";
import type { ActorRef } from "../../protocol/actors.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { HoldReason, TurnError, Usage } from "../../protocol/events/outcome-codes.ts";
import type { Budget } from "../../protocol/events/event-body.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { Deferred } from "../../shared/deferred.ts";
import type { Agent } from "../agent/agent.ts";
import { errorMessage } from "../agent/error-message.ts";
import type { OpenMachine } from "../agent/machine-port.ts";
import type { Turn } from "../agent/turn-api.ts";
import { rootOf, scopeOf } from "../journal/call-id.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { AcceptedRequest, MachineState, PromptRecord, ReceivedRecord } from "../journal/records.ts";
import type { PromptMark } from "../replay/prompts.ts";
import type { CancelingTurn, OpenRequest } from "../replay/run-state.ts";
import { Replay } from "../replay/replay.ts";
import type { Divergence } from "../replay/scope.ts";
import { CANCELED_CALL, addUsage, toSignature } from "../replay/turn-journal.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import type { RunContext } from "../run-context.ts";
import type { Activity } from "../scheduler/activity.ts";
import { OpenCall } from "../scheduler/call-tree.ts";
import type { DeliveryQueue } from "../scheduler/delivery-queue.ts";
import type { Inbox } from "../scheduler/inbox.ts";
import { ParkedCalls } from "../scheduler/parked-calls.ts";
import { Quiescence } from "../scheduler/quiescence.ts";
import type { QuiescenceListener } from "../scheduler/quiescence.ts";
import { Subscriptions } from "../scheduler/subscriptions.ts";
import { newCounts } from "../scheduler/turn-counts.ts";
import type { TurnCounts } from "../scheduler/turn-counts.ts";
import { dayOf, hasOwnBudget, toSpent } from "../owners/budgets.ts";
import { OpenAsks } from "./open-asks.ts";
import { OpenCalls } from "./open-calls.ts";
import { placeOf } from "./place-of.ts";
import type { RunActor } from "../system/run-actor.ts";
import type { TurnEnd } from "./turn-end.ts";
import { TurnPrompts } from "./turn-prompts.ts";

/** Receives changes and the end of a turn. */
export interface TurnListener {
  /** Called when what the turn waits for may have changed. */
  changed(turn: ActiveTurn): void;
  /** Records that the turn has read messages, or that a call has ended that waited for some. */
  received(record: Omit<ReceivedRecord, "type">): void;
  /** Records what a completion is asked. */
  prompted(record: PromptRecord): PromptMark;
  /** What the turns of the run have spent that have ended, and by how much its budget was raised. */
  readonly spent: Spent;
  /** A budget was raised by an amount, in the commit that has the answer. */
  raised(budget: Budget, amount: number): void;
  /** The code has done again all that the log has. */
  replayed?(): void;
  /** The code of the turn cannot continue it from the log. The turn is released by this. */
  unfit(reason: HoldReason): void;
  /** Records how the turn ends, and lets it go: its cleanup steps run first. Returns the encoded RequestCanceling. */
  canceling(turn: ActiveTurn, end: Omit<CancelingTurn, "id">): string;
  /** Records that the turn has ended, and begins the next one of its request. */
  continued(turn: ActiveTurn, next: NextTurn): void;
  /** Records the end of the turn and returns its encoded event. Called once, when all calls are closed. */
  complete(turn: ActiveTurn, end: TurnEnd): string;
}

/** A step that runs when a turn does not succeed. */
export type CleanupStep = (turn: Turn) => unknown;

/** The next turn of a request. */
export interface NextTurn {
  readonly operation: string;
  readonly input: Json;
  /** The usage of the turns before it. */
  readonly usage?: Usage;
  /** The memory that the turns before it have set, by agent. */
  readonly memory: ReadonlyMap<string, Json>;
}

export interface TurnOptions {
  readonly context: RunContext;
  readonly runId: RunId;
  /** The key of the run, if it has one. */
  readonly key?: string | undefined;
  /** The request, with the number of its turn. */
  readonly request: OpenRequest & { readonly turn: number };
  readonly agent: Agent;
  readonly speaker: Speaker;
  /** The history of the turn, if it is continued. */
  readonly journal: TurnJournal;
  /** The memory of the run's agents when the turn started. */
  readonly memory: JsonObject;
  /** What the agent was asked last before the turn, if the log has it. */
  readonly prompt: PromptMark | undefined;
  readonly recorder: Recorder;
  /** The unread messages of the run. */
  readonly inbox: Inbox;
  /** The actor of the run. */
  readonly run: RunActor;
  readonly listener: TurnListener;
}

/** A running turn: its open calls, pending results and completion. */
export class ActiveTurn implements QuiescenceListener {
  readonly context: RunContext;
  readonly runId: RunId;
  readonly accepted: AcceptedRequest;
  readonly agent: Agent;
  readonly journal: TurnJournal;
  /** The memory of the run's agents when the turn started. */
  readonly memory: JsonObject;
  readonly recorder: Recorder;
  /** The actor of the run. */
  readonly run: RunActor;
  /** The depth of the requested agent among its callers on other servers. */
  readonly depth: number;
  readonly root: OpenCall;
  readonly speaker: Speaker;
  readonly deliveries: DeliveryQueue;
  readonly activity: Activity;
  /** What runs and what is open in the turn. */
  readonly counts: TurnCounts = newCounts();
  /** What calls wait for from outside the turn. */
  readonly parkedCalls: ParkedCalls;
  readonly quiescence: Quiescence;
  readonly calls: OpenCalls;
  /** What the log has and the code has not done again. */
  readonly replay: Replay;
  /** The unread messages of the run. */
  readonly inbox: Inbox;
  readonly listener: TurnListener;
  /** How the turn ends when its cleanup steps have run, if they run. */
  readonly canceling: CancelingTurn | undefined;
  readonly #key: string | undefined;
  #configs: CalledConfigs | undefined;
  #prompts: TurnPrompts | undefined;
  #subscriptions: Subscriptions | undefined;
  #asks: OpenAsks | undefined;
  #patches: Map<string, boolean> | undefined;
  #cleanups: Map<CallId, CleanupStep> | undefined;
  /** Called when the code has registered a cleanup step. */
  cleanupRegistered: (() => void) | undefined;
  readonly #prompt: PromptMark | undefined;
  #machine: Deferred<OpenMachine | undefined> | undefined;
  /** The newest recorded state of the machine of the requested agent. */
  machineState: MachineState | undefined;
  #usage: Usage;
  #timeout: TurnTimeout | undefined;
  #stopReplay: (() => void) | undefined;
  #agentCalls = 0;
  #released = false;

  constructor(options: TurnOptions) {
    const { context, runId, key, request, agent, speaker, journal, memory, recorder, inbox, listener } =
      options;
    const { accepted, turn: number, config, canceling } = request;
    this.canceling = canceling;
    const { environment, secrets } = context;
    this.context = context;
    this.runId = runId;
    this.#key = key;
    this.accepted = accepted;
    this.depth = accepted.request.depth ?? 0;
    this.agent = agent;
    this.journal = journal;
    this.memory = memory;
    this.recorder = recorder;
    this.run = options.run;
    this.#prompt = options.prompt;
    this.listener = listener;
    this.inbox = inbox;
    this.speaker = speaker;
    this.root = new OpenCall({
      callId: rootOf(number),
      kind: "root",
      name: agent.name,
      speaker,
      counts: this.counts,
      ...(config && { config: secrets.reveal(config.args) }),
    });
    this.#usage = journal.usage;
    this.replay = new Replay(journal);
    const { counts } = this;
    const parkedCalls = new ParkedCalls(journal, counts);
    this.parkedCalls = parkedCalls;
    const quiescence = new Quiescence(
      { counts, parkedCalls, recorder, environment, deliveries: journal.deliveries },
      this,
    );
    const { activity, deliveries } = quiescence;
    this.quiescence = quiescence;
    this.activity = activity;
    this.deliveries = deliveries;
    this.calls = new OpenCalls(this);
    if (!journal.isNew) this.#asks = new OpenAsks(this);
  }

  /** The address of the actor. */
  get self(): ActorRef {
    const key = this.#key;
    return { agent: this.accepted.agent, ...(key !== undefined && { key }), run_id: this.runId };
  }

  get requestId(): RequestId {
    return this.accepted.requestId;
  }

  /** The machine that the turn runs, once it takes operations of other requests; `undefined` if the turn ends before. */
  get machine(): Deferred<OpenMachine | undefined> {
    this.#machine ??= new Deferred();
    if (this.ended || this.#released || this.canceling) this.#machine.resolve(undefined);
    return this.#machine;
  }

  /** The open asks and tells of other actors. */
  get asks(): OpenAsks {
    return (this.#asks ??= new OpenAsks(this));
  }

  /** The open asks and tells of other actors; `undefined` before the first one. */
  get openAsks(): OpenAsks | undefined {
    return this.#asks;
  }

  /** The calls whose events the code iterates; `undefined` before the first one. */
  get subscriptions(): Subscriptions | undefined {
    return this.#subscriptions;
  }

  /** Delivers the events that are recorded under a call to the code that iterates it. */
  follow(callId: CallId, take: (event: Event) => void): void {
    this.#subscriptions ??= new Subscriptions(this.recorder, this.deliveries);
    this.#subscriptions.follow(callId, take);
  }

  /**
   * Resolves when another text may follow: everything recorded is committed or gathers, and the code that iterates the
   * speaker's events is not far behind.
   */
  room(speaker: Speaker): Promise<void> {
    return this.#subscriptions?.room(speaker) ?? this.recorder.room();
  }

  /** The configurations of called agents. */
  get configs(): CalledConfigs {
    return (this.#configs ??= new CalledConfigs(this.context, this.journal, this.recorder));
  }

  /** What completions are asked, for the log. */
  get prompts(): TurnPrompts {
    return (this.#prompts ??= new TurnPrompts(this.journal, this.#prompt, (record) =>
      this.listener.prompted(record),
    ));
  }

  /** What `turn.patched` has answered, by id. */
  get patches(): Map<string, boolean> {
    return (this.#patches ??= new Map());
  }

  /** The cleanup steps that the code has registered, by the calls that did it, in their order. */
  get cleanups(): Map<CallId, CleanupStep> {
    return (this.#cleanups ??= new Map());
  }

  /** Whether something is to be done before the turn ends without success. */
  get #hasCleanup(): boolean {
    if (this.context.isRehearsal) return false;
    const { machine } = this.agent;
    if (machine) return machine.cleanup !== undefined && this.machineState !== undefined;
    return (this.#cleanups?.size ?? 0) > 0 || this.journal.cleanups.length > 0;
  }

  /** Whether the end of the turn is recorded. Nothing is recorded for it afterwards. */
  get ended(): boolean {
    return !this.root.open;
  }

  /** Whether the turn was passivated. */
  get released(): boolean {
    return this.#released;
  }

  /** The time of the turn runs from now on, except while the turn is suspended. */
  startTime(): void {
    // Cleanup steps have a time of their own.
    if (this.canceling) return;
    const { environment, limits } = this.context;
    this.#timeout = new TurnTimeout(environment, limits.turnMs, () =>
      this.fail("timeout", `the turn ran for more than ${limits.turnMs} ms`),
    );
  }

  /**
   * Commits nothing until the code has done again what the log has: then it is the code that wrote the log, or fits it. Code
   * that needs very long for that is let go.
   */
  startReplay(): void {
    const { deliveries, recorder, replay } = this;
    if (replay.isOver && !deliveries.isReplaying) return;
    recorder.pause();
    const advanced = (): void => {
      if (replay.isOver && !deliveries.isReplaying) this.#endReplay();
    };
    replay.advanced = advanced;
    deliveries.replayed = advanced;
    this.#stopReplay = this.context.environment.timer(REPLAY_MS, () => this.#endReplay());
  }

  /** Whether the code has not done all again that the log has, so that nothing is committed. */
  get isReplaying(): boolean {
    return this.#stopReplay !== undefined;
  }

  /** Whether the code goes no further: it has done again all that the log has, and nothing may follow. */
  get isRehearsed(): boolean {
    return this.context.isRehearsal && this.replay.isOver && !this.deliveries.isReplaying;
  }

  #endReplay(): void {
    if (this.#stopReplay === undefined) return;
    this.#stopReplay();
    this.#stopReplay = undefined;
    this.listener.replayed?.();
    this.recorder.resume();
  }

  quiescenceChanged(): void {
    this.#timeout?.suspend(this.quiescence.suspended);
    this.listener.changed(this);
  }

  callMissing(missing: CallId): void {
    const scope = scopeOf(missing);
    const place = Number(missing.slice(scope.length + 1));
    const item = this.journal.scopes.get(scope)?.items?.[place - 1];
    this.diverge({ scope, expected: item === undefined ? missing : toSignature(item), actual: "nothing" });
  }

  /** Counts a call of an agent against the turn's budget. */
  countAgentCall(): boolean {
    this.#agentCalls += 1;
    return this.#agentCalls <= this.context.limits.agentCalls;
  }

  /** Adds a completion that ends, with its usage. */
  addCompletion({ agent, owner, model, outcome, ms, usage }: EndedCompletion): void {
    this.#usage = addUsage(this.#usage, usage);
    const { environment, owners, hourRows } = this.context;
    this.recorder.count({
      ...hourRows.keyOf({
        hour: Math.floor(environment.now() / HOUR_MS),
        owner,
        kind: "completion",
        agent,
        name: model,
        outcome: outcome === "ok" ? "success" : outcome === "canceled" ? outcome : `error:${outcome}`,
      }),
      ...countOne(ms),
      ...(outcome !== "ok" && outcome !== "canceled" && { runId: this.runId }),
      inputTokens: usage.input_tokens ?? 0,
      cachedTokens: usage.cached_input_tokens ?? 0,
      outputTokens: usage.output_tokens ?? 0,
      reasoningTokens: usage.reasoning_tokens ?? 0,
      cost: usage.cost ?? 0,
      unknownCosts: hasUnknownCost(usage) ? 1 : 0,
    });
    // What was spent matters only where there are limits.
    if (owners === undefined) return;
    const { tokens, cost } = toSpent(usage);
    if (tokens === 0 && cost === 0) return;
    const spent = { day: dayOf(environment.now()), tokens, cost };
    this.recorder.spend(spent);
    const { limits } = owners.of(ownerOf(this.accepted));
    if (hasOwnBudget(limits, agent)) this.recorder.spend({ ...spent, agent });
  }

  /** What the run has spent, with this turn, and by how much its budget was raised. */
  get spentInRun(): Spent {
    const { spent } = this.listener;
    const { tokens, cost } = toSpent(this.#usage);
    return { ...spent, tokens: spent.tokens + tokens, cost: spent.cost + cost };
  }

  /** Registers a call that sleeps until a time; a turn with too many sleeps ends. */
  slept(call: OpenCall, until: number): void {
    const { limits } = this.context;
    this.quiescence.park(call, { kind: "sleep", until });
    if (this.counts.sleeps <= limits.openSleeps) return;
    this.fail("overloaded", `agent ${this.agent.name} has more than ${limits.openSleeps} open sleeps`);
  }

  /**
   * Ends the turn, or has its cleanup steps run before that. Only the first call has an effect and returns the encoded
   * RequestCompleted or RequestCanceling.
   */
  end(end: Omit<TurnEnd, "memory"> & Partial<Pick<TurnEnd, "memory">>): string | undefined {
    if (this.ended || this.#released) return undefined;
    const { finishReason, error } = end;
    // What goes wrong while the steps run ends them.
    if (this.canceling) return this.endCleanup([error?.message ?? finishReason]);
    if (finishReason !== "success" && this.#hasCleanup)
      return this.listener.canceling(this, { finishReason, ...(error && { error }) });
    return this.#end(end);
  }

  /** Ends the turn after its cleanup steps, with what went wrong with them, and the memory that they have set. */
  endCleanup(cleanupErrors: readonly string[], memory?: ReadonlyMap<string, Json>): string | undefined {
    if (this.ended || this.#released || this.canceling === undefined) return undefined;
    const { finishReason, error } = this.canceling;
    return this.#end({
      finishReason,
      result: null,
      output: null,
      ...(error && { error }),
      cleanupErrors,
      ...(memory && { memory }),
    });
  }

  #end({ memory, ...end }: Omit<TurnEnd, "memory"> & Partial<Pick<TurnEnd, "memory">>): string | undefined {
    // The request can go on after a failure.
    if (end.finishReason === "error") this.#closeWaits();
    this.calls.close();
    this.#timeout?.stop();
    const text = this.listener.complete(this, {
      ...end,
      ...(Object.keys(this.#usage).length > 0 && { usage: this.#usage }),
      memory:
        end.finishReason === "success"
          ? new Map([...this.calls.staged, ...(memory ?? [])])
          : (memory ?? new Map()),
    });
    this.#leave();
    return text;
  }

  /** Lets go of what belongs to the turn, after its end is recorded. */
  #leave(): void {
    this.deliveries.end(CANCELED_CALL);
    this.quiescence.stop();
    this.#closeMachine();
    this.recorder.subscriber = undefined;
    this.#patches = undefined;
    this.#cleanups = undefined;
    this.#endReplay();
  }

  /** Ends the turn, and begins the next one of its request. */
  continueAs(next: Omit<NextTurn, "usage">): void {
    if (this.ended) return;
    this.#closeWaits();
    this.calls.close();
    this.#timeout?.stop();
    this.#leave();
    const usage = Object.keys(this.#usage).length > 0 && { usage: this.#usage };
    const memory = new Map([...this.calls.staged, ...next.memory]);
    this.listener.continued(this, { ...next, memory, ...usage });
  }

  #closeWaits(): void {
    const { requestId } = this;
    for (const { waitId } of this.parkedCalls.allWaits)
      this.recorder.wait({ waitId, requestId, openedAt: 0, closed: true });
  }

  /** Ends the turn with an error. */
  fail(code: TurnError["code"], message: string): void {
    this.end({ finishReason: "error", result: null, output: null, error: { code, message } });
  }

  /** Ends the turn with an error thrown by its code. */
  failWith(thrown: unknown, code: TurnError["code"]): void {
    if (!this.ended) this.context.telemetry.fault(`agent ${this.agent.name} failed`, thrown, this.place());
    this.fail(code, errorMessage(thrown));
  }

  /** The run, request and agent of the turn, for the log of faults. */
  place(facts: FaultFacts = {}): FaultFacts {
    const { runId: run_id, requestId: request_id } = this;
    const { traceId: trace_id } = placeOfRequest(run_id, request_id, this.accepted.request.trace);
    const span_id = spanIdOf(run_id, request_id, facts.tool_call_id);
    const owner = ownerOf(this.accepted);
    return { agent: this.agent.name, ...facts, owner, run_id, request_id, trace_id, span_id };
  }

  /** Holds the turn because its code took another path than the log has; `thrown` is what its code threw there. */
  diverge({ scope, expected, actual }: Divergence, thrown?: unknown): void {
    const found = thrown === undefined ? actual : `${actual}: ${errorMessage(thrown)}`;
    const at = placeOf(thrown);
    this.hold({
      code: "nondeterministic",
      message: `on replay, ${scope} did: ${found}; the log has: ${expected}`,
      scope,
      expected,
      found,
      ...(at !== undefined && { at }),
    });
  }

  /** Holds the turn: its code cannot continue it. Nothing of what the code did in its replay has an effect. */
  hold(reason: HoldReason): void {
    if (this.ended || this.#released) return;
    this.listener.unfit(reason);
  }

  /** Passivates the turn without an end; it continues from the log later. */
  release(): void {
    this.#released = this.root.open;
    this.#timeout?.stop();
    this.#stopReplay?.();
    this.#stopReplay = undefined;
    this.quiescence.stop();
    this.#asks?.release();
    this.#closeMachine();
    this.calls.release();
  }

  #closeMachine(): void {
    this.#machine?.resolve(undefined);
    this.#machine = undefined;
  }

  /**
   * The result of a call of an ended turn: a rejection, one turn of the event loop later, so that no loop can
   * spin on it.
   */
  over<Value>(): Promise<Value> {
    this.context.telemetry.dropped("late_event");
    const promise = new Promise<Value>((_resolve, reject) => {
      this.context.environment.macrotask(() => reject(new AgentError("gone", "the turn has ended")));
    });
    promise.catch(() => {});
    return promise;
  }
}

/** The longest time in which a replay has no effect, in milliseconds. */
const REPLAY_MS = 60_000;

/** Measures the time of a turn, without the time it is suspended, and calls `expired` once when it is over the limit. */
class TurnTimeout {
  readonly #environment: Environment;
  readonly #expired: () => void;
  /** The time left when the timer was last started. */
  #leftMs: number;
  #runningSinceMs = 0;
  #stopTimer: (() => void) | undefined;

  constructor(environment: Environment, limitMs: number, expired: () => void) {
    this.#environment = environment;
    this.#leftMs = limitMs;
    this.#expired = expired;
    this.#run();
  }

  /** Stops the time of a suspended turn, and starts it again. */
  suspend(isSuspended: boolean): void {
    if (isSuspended === (this.#stopTimer === undefined)) return;
    if (isSuspended) this.stop();
    else this.#run();
  }

  stop(): void {
    if (this.#stopTimer === undefined) return;
    this.#stopTimer();
    this.#stopTimer = undefined;
    this.#leftMs -= this.#environment.monotonic() - this.#runningSinceMs;
  }

  #run(): void {
    this.#runningSinceMs = this.#environment.monotonic();
    this.#stopTimer = this.#environment.timer(this.#leftMs, this.#expired);
  }
}

/** A call of an agent, made for the first time or again after a crash. */
interface CalledAgent {
  readonly agent: Agent;
  readonly callId: CallId;
  /** Whether the log has it already. */
  readonly logged: boolean;
}

/** The configurations of called agents, each as it was at the time of the call. */
class CalledConfigs {
  readonly #context: RunContext;
  readonly #journal: TurnJournal;
  readonly #recorder: Recorder;
  /** The newest recorded configuration of each agent. A call with the same one records no copy. */
  readonly #written = new Map<string, JsonObject>();

  constructor(context: RunContext, journal: TurnJournal, recorder: Recorder) {
    this.#context = context;
    this.#journal = journal;
    this.#recorder = recorder;
  }

  /** The configuration of an agent for one call: read from the log on replay, else recorded with the call. */
  of({ agent, callId, logged }: CalledAgent): JsonObject {
    const args = logged ? this.#journal.calls.get(callId)?.config : this.#currentOf(agent);
    if (args === undefined) return NOT_CONFIGURED;
    if (!logged) {
      const { name } = agent;
      const isKnown = this.#written.get(name) === args;
      this.#written.set(name, args);
      this.#recorder.record({ type: "Configured", call_id: callId, agent: name, ...(!isKnown && { args }) });
    }
    return this.#context.secrets.reveal(args);
  }

  /** The current configuration of an agent. A different agent with the name of a served one has none. */
  #currentOf(agent: Agent): JsonObject | undefined {
    const { agents } = this.#context;
    return agents.isVersion(agent) ? agents.configOf(agent.name) : undefined;
  }
}

const NOT_CONFIGURED: JsonObject = {};

/** Whether a completion has used what has no price, or what its provider has not told. */
function hasUnknownCost({ cost, ...used }: Usage): boolean {
  if ((used.interrupted_attempts ?? 0) > 0) return true;
  return cost === undefined && (used.input_tokens !== undefined || used.output_tokens !== undefined);
}
