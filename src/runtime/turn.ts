import { AgentError } from "../errors.ts";
import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { Environment } from "../ports/environment.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Event, EventBody, FinishReason, TurnError, Usage } from "../protocol/events.ts";
import { createSpeaker } from "../protocol/encode.ts";
import type { Speaker } from "../protocol/encode.ts";
import type { CallId, RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { Agent, Collaborators } from "./agent.ts";
import { Audience } from "./audience.ts";
import { scopeOf } from "./call-id.ts";
import { CallsAhead, cancelLogged } from "./calls-ahead.ts";
import { Deliveries } from "./deliveries.ts";
import type { Outcome } from "./deliveries.ts";
import { faultMessage } from "./fault-message.ts";
import type { Journal } from "./journal.ts";
import { canceledBody, OpenCall } from "./open-call.ts";
import { Lull } from "./lull.ts";
import type { CallKind, LiveWait } from "./open-call.ts";
import type { Limits } from "./options.ts";
import type { Accepted } from "./records.ts";
import type { Recorded, Recorder } from "./recorder.ts";
import type { Divergence } from "./scope.ts";
import { SharedMemory } from "./shared-memory.ts";
import { Stirrings } from "./stirrings.ts";
import { addUsage } from "./usage.ts";
import { checkAnswer, Waits } from "./waits.ts";

/** What a turn is given by its run. */
export interface TurnOptions {
  readonly runId: RunId;
  readonly accepted: Accepted;
  /** The number of the turn in its run. */
  readonly number: number;
  readonly agent: Agent;
  /** What happened in this turn before, if it is continued. */
  readonly journal: Journal;
  /** What the agents keep for the run, as of the start of the turn. */
  readonly memory: JsonObject;
  readonly config: JsonObject;
  /** How an agent that is called is configured now, without the values of secrets; `undefined` when it is not. */
  readonly configOf: (agent: Agent) => JsonObject | undefined;
  /** Puts the values of secrets into a configuration. */
  readonly reveal: (config: JsonObject) => JsonObject;
  readonly recorder: Recorder;
  readonly environment: Environment;
  readonly telemetry: Telemetry;
  readonly artifacts: ArtifactStore;
  readonly limits: Limits;
  /** Whom an agent works with, by its own names for them. */
  readonly usesOf: (agent: Agent) => Collaborators;
  /** Called when what the turn waits for may have changed. */
  readonly changed: () => void;
  /** Writes the end of the turn into the log and returns its encoded event; called once, with the calls below already closed. */
  readonly complete: (end: TurnEnd) => string;
}

/** How a turn ends. */
export interface TurnEnd {
  readonly finishReason: FinishReason;
  readonly result: string | null;
  readonly truncated?: boolean;
  readonly output: Json;
  readonly error?: TurnError;
  /** What the completions of the turn cost, where there were any. */
  readonly usage?: Usage;
  /** What to keep for the run, by agent. */
  readonly memory: ReadonlyMap<string, Json>;
}

/** Kinds of calls during which a turn's own time stands still. */
const RESTING: ReadonlySet<CallKind> = new Set(["wait", "sleep"]);
const WAITING: ReadonlySet<CallKind> = new Set(["wait"]);

/** What code is told that still waits for a call when nobody needs it any more. */
const GIVEN_UP = { ok: false, code: "canceled", message: "the call was canceled" } as const;

/** One turn under way: what it has open, what it is owed, and its one end. */
export class ActiveTurn {
  readonly options: TurnOptions;
  readonly root: OpenCall;
  readonly speaker: Speaker;
  readonly deliveries: Deliveries;
  readonly stirrings: Stirrings;
  /** What agents that are called make of their memory of the run. */
  readonly shared: SharedMemory;
  readonly waits: Waits;
  readonly #audience = new Audience();
  readonly #lull: Lull;
  readonly #callsAhead: CallsAhead;
  #changing = false;
  #usage: Usage;
  #resting = 0;
  #agentCalls = 0;
  #ended = false;
  #released = false;

  constructor(options: TurnOptions) {
    this.options = options;
    const { accepted, agent, environment, journal, recorder, runId, number } = options;
    const address = { run_id: runId, request_id: accepted.requestId, agent: agent.name, depth: 0 };
    this.speaker = createSpeaker(address);
    this.root = new OpenCall({
      callId: `c${number}` as CallId,
      kind: "root",
      name: agent.name,
      speaker: this.speaker,
      config: options.config,
    });
    this.#usage = journal.usage;
    this.shared = new SharedMemory(journal);
    this.waits = new Waits(journal);
    this.#callsAhead = new CallsAhead(journal.openCalls);
    const stirrings = new Stirrings(() => this.#stirred());
    const deliveries = new Deliveries(journal.deliveries, environment.macrotask, stirrings);
    this.stirrings = stirrings;
    this.deliveries = deliveries;
    this.#lull = new Lull({
      recorder,
      environment,
      deliveries,
      stirrings,
      looked: () => this.options.changed(),
      stalled: (missing) => this.#diverge(missing),
    });
  }

  /** Whether the end of the turn is written; nothing it says afterwards counts. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the turn was let go of without an end. */
  get released(): boolean {
    return this.#released;
  }

  /**
   * Whether nothing goes on in the turn until its caller answers; `undefined` while that is not known,
   * because the handler, run again, has not come to where it was.
   */
  get parked(): boolean | undefined {
    if (!this.waits.any || this.deliveries.owes) return false;
    if (this.waits.anyAhead) return undefined;
    return this.stirrings.none && this.deliveries.none && this.root.rests(WAITING);
  }

  /** Whether the turn only waits or sleeps, so that its time does not run. */
  get resting(): boolean {
    return this.#resting > 0 && this.root.rests(RESTING);
  }

  /** Has the events that will arise under a call delivered to the turn's code. */
  follow(callId: CallId, take: (event: Event) => void): void {
    this.#audience.follow(callId);
    this.deliveries.follow(callId, take);
  }

  /** Notes who speaks under which call. */
  introduce(speaker: Speaker, callId: CallId): void {
    this.#audience.introduce(speaker, callId);
  }

  /** Delivers an event to the code that follows it, once it is in the log. */
  recorded(speaker: Speaker, text: string): void {
    for (const callId of this.#audience.of(speaker)) {
      this.deliveries.owe(callId);
      const deliver = (): void => this.deliveries.push({ callId, event: JSON.parse(text) as Event });
      this.options.recorder.committed().then(deliver, () => {});
    }
  }

  /** Counts a call of an agent against the turn's budget. */
  countAgentCall(): boolean {
    this.#agentCalls += 1;
    return this.#agentCalls <= this.options.limits.agentCalls;
  }

  /** Adds what a completion cost. */
  addUsage(usage: Usage): void {
    this.#usage = addUsage(this.#usage, usage);
  }

  /** Notes that a call is open. */
  opened(call: OpenCall): void {
    this.#callsAhead.remove(call.callId);
    if (RESTING.has(call.kind)) this.#resting += 1;
    this.#change();
  }

  /** Notes that a call waits for another one of the turn before it begins, or does so no more. */
  queue(call: OpenCall, isQueued: boolean): void {
    call.queued = isQueued;
    this.#change();
    if (isQueued) this.#lull.lookSoon();
  }

  /** Notes that a wait is open and can be answered. */
  waiting(wait: LiveWait): void {
    this.waits.add(wait);
    this.#lull.lookSoon();
  }

  /** Answers a wait; `undefined` when it has been closed meanwhile, `unprocessable` when the values do not fit. */
  async answer(
    wait: LiveWait,
    values: JsonObject,
    resumeId: string | undefined,
  ): Promise<Recorded | undefined> {
    await checkAnswer(wait, values);
    if (this.#ended || !wait.call.open) return undefined;
    if (resumeId !== undefined) this.waits.resumeIds.add(resumeId);
    const body: EventBody = {
      type: "ResumeWithInput",
      wait_id: wait.waitId,
      request_keys: values,
      ...(resumeId !== undefined && { resume_id: resumeId }),
    };
    return this.settle(wait.call, { ok: true, value: values }, () => {
      const recorded = this.options.recorder.event(this.speaker, body);
      this.waits.lastResume = recorded.id;
      return recorded;
    });
  }

  /** Closes a call, says so, and delivers the outcome once that is in the log. */
  settle<Said>(call: OpenCall, outcome: Outcome, say: () => Said): Said {
    this.#close(call);
    this.closeBelow(call);
    const said = say();
    const { callId } = call;
    this.deliveries.owe(callId);
    this.options.recorder.committed().then(
      () => this.deliveries.push({ callId, outcome }),
      // The run hears of a failed commit by itself.
      () => {},
    );
    return said;
  }

  /** Whether a call may still be settled; a result that comes too late is counted and dropped. */
  accepts(call: OpenCall): boolean {
    if (!this.#ended && call.open) return true;
    this.options.telemetry.dropped("late_result");
    return false;
  }

  /** Ends whatever is open under a call, deepest first. */
  closeBelow(call: OpenCall): void {
    this.#giveUpAhead(call.callId);
    this.#giveUp([...call.below()]);
  }

  /** Ends one call that nobody needs any more, with all that is open under it. */
  drop(callId: CallId): void {
    this.deliveries.forget(callId);
    if (this.#ended) return;
    const call = [...this.root.below()].find((open) => open.callId === callId);
    if (call === undefined) return;
    this.#giveUpAhead(callId);
    this.#giveUp([...call.below(), call]);
  }

  /** Ends the turn; only the first call counts, and has an answer: the encoded RequestCompleted. */
  end({ memory, ...end }: Omit<TurnEnd, "memory"> & Partial<Pick<TurnEnd, "memory">>): string | undefined {
    if (this.#ended) return undefined;
    this.#ended = true;
    this.closeBelow(this.root);
    this.root.close();
    const text = this.options.complete({
      ...end,
      ...(Object.keys(this.#usage).length > 0 && { usage: this.#usage }),
      memory:
        end.finishReason === "success" ? new Map([...this.shared.values, ...(memory ?? [])]) : new Map(),
    });
    this.deliveries.end(GIVEN_UP);
    this.waits.clear();
    this.#lull.stop();
    return text;
  }

  /** Ends the turn with an error. */
  fail(code: TurnError["code"], message: string): void {
    this.end({ finishReason: "error", result: null, output: null, error: { code, message } });
  }

  /** Ends the turn because its code threw something. */
  failWith(thrown: unknown): void {
    if (!this.#ended) this.options.telemetry.fault(`agent ${this.options.agent.name} failed`, thrown);
    this.fail("agent_error", faultMessage(thrown));
  }

  /** Ends the turn because its code took another path than the log has. */
  diverge({ scope, expected, actual }: Divergence): void {
    this.fail("nondeterministic", `on replay, ${scope} did: ${actual}; the log has: ${expected}`);
  }

  /** Lets go of the turn without an end; it continues from the log some other time. */
  release(): void {
    this.#released = !this.#ended;
    this.#ended = true;
    this.deliveries.stop();
    this.waits.clear();
    this.#lull.stop();
    for (const open of this.root.below()) {
      open.close();
      open.abort();
    }
  }

  /** What a call returns when its turn has ended: a rejection, a turn of the loop later, so that no loop can spin on it. */
  over<Value>(): Promise<Value> {
    this.options.telemetry.dropped("late_event");
    const promise = new Promise<Value>((_resolve, reject) => {
      this.options.environment.macrotask(() => reject(new AgentError("gone", "the turn has ended")));
    });
    promise.catch(() => {});
    return promise;
  }

  /** The turn's code has something to go on with, so that it is worth a look when it has done so. */
  #stirred(): void {
    if (this.waits.anyLive || this.deliveries.missing !== undefined) this.#lull.lookSoon();
  }

  /** Ends the turn because its code does not make a call that the log has. */
  #diverge(missing: CallId): void {
    const scope = scopeOf(missing);
    const place = Number(missing.slice(scope.length + 1));
    const item = this.options.journal.items.get(scope)?.[place - 1];
    this.diverge({ scope, expected: item?.signature ?? missing, actual: "nothing" });
  }

  /** Gives up what the log has under a call and the code has not come to again. */
  #giveUpAhead(above: CallId): void {
    const { runId, accepted, recorder } = this.options;
    const calls = this.#callsAhead.take(above);
    for (const { callId } of calls) this.shared.leave(callId);
    cancelLogged(recorder, { runId, requestId: accepted.requestId }, calls);
    this.waits.giveUpAhead(above);
    this.deliveries.giveUpAhead(above);
  }

  #giveUp(calls: readonly OpenCall[]): void {
    for (const call of calls) {
      this.#close(call);
      this.deliveries.fail(call.callId, GIVEN_UP);
      const body = canceledBody(call);
      if (body) this.options.recorder.event(call.speaker, body);
    }
    // Last, because code that hears of it may want to say something, for which it is too late.
    for (const call of calls) call.abort();
  }

  #close(call: OpenCall): void {
    if (RESTING.has(call.kind)) this.#resting -= 1;
    if (call.kind === "agent") {
      this.stirrings.endWithin(call.callId);
      this.shared.leave(call.callId);
    }
    this.waits.remove(call.callId);
    call.close();
    this.#change();
  }

  /** Tells of changes once for all that change together. */
  #change(): void {
    if (this.#changing) return;
    this.#changing = true;
    queueMicrotask(() => {
      this.#changing = false;
      if (!this.#ended) this.options.changed();
    });
  }
}
