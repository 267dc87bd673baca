import { AgentError } from "../../errors.ts";
import type { ActorRef, SenderRef } from "../../protocol/actors.ts";
import type { ScheduleSummary } from "../../protocol/answers/schedule.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { unsettled } from "../../shared/deferred.ts";
import { toAnswerLink } from "../agent/answer-link.ts";
import { toActorAddress } from "../agent/actor-address.ts";
import type { ActorAddress, ActorPlace } from "../agent/actor-address.ts";
import type { Agent, Collaborators, Messages, Operations, Schema, Tool } from "../agent/agent.ts";
import type { CallOptions, EffectOptions } from "../agent/call-options.ts";
import { checkAgent } from "../agent/definition/check-definition.ts";
import { noChat, toInvocation } from "../agent/resolve-operation.ts";
import type { Invocation } from "../agent/resolve-operation.ts";
import type {
  AnswerLinkOptions,
  Artifact,
  ArtifactOptions,
  AskOptions,
  Attachment,
  Call,
  CompletionOptions,
  EffectContext,
  GivenBody,
  Memory,
  OperationInput,
  OperationOutput,
  Receive,
  ReceiveOptions,
  MadeSchedule,
  ScheduledTime,
  TimedWaitOptions,
  ToldRequest,
  ToolTurn,
  Turn,
  TurnRequestInfo,
  WaitOptions,
  WatchOptions,
} from "../agent/turn-api.ts";
import type { Topic } from "../agent/topic.ts";
import { toCallKey } from "../journal/call-id.ts";
import { checkName, checkText, toJson } from "../journal/json-limits.ts";
import { ReplayScope } from "../replay/scope.ts";
import { CLEANUP, allSignature } from "../replay/signature.ts";
import { traceAt } from "../replay/turn-trace.ts";
import type { CleanupStep } from "../turn/active-turn.ts";
import { attachedTo } from "../turn/actor-context.ts";
import type { Actor } from "./actor.ts";
import { openAttachments, publishFile } from "./artifacts.ts";
import { Continuation } from "./continuation.ts";
import { completeWith } from "./completion.ts";
import { parsedConfig } from "./own-values.ts";
import { Sequence } from "./sequence.ts";
import { call, effect, usedAs } from "./calls.ts";
import { ask, tell } from "./requests.ts";
import { schedule, schedules, unschedule } from "./schedules.ts";
import { toStrategy } from "../agent/definition/supervision.ts";
import { publish, subscribe, unsubscribe, watch } from "./watches.ts";
import { SelectedMessages, receiveMessage, receivedMessages, select } from "./receive.ts";
import type { MessageWait } from "./receive.ts";
import { AskedInput, askForInput, sleepFor } from "./waits.ts";

/** The turn object of a handler: one sequence of an actor's steps. */
export class TurnHandle implements ToolTurn {
  readonly agent: string;
  readonly memory: Memory;
  readonly #sequence: Sequence;
  readonly #actor: Actor;
  readonly #asked: Invocation;
  // Copies, made on first access, so that a handler cannot change the logged request.
  #request: TurnRequestInfo | undefined;
  #metadata: JsonObject | undefined;
  #config: JsonObject | undefined;

  constructor(sequence: Sequence, asked: Invocation) {
    const { actor } = sequence;
    this.#sequence = sequence;
    this.#actor = actor;
    this.#asked = asked;
    this.agent = actor.agent.name;
    this.memory = actor.memory;
  }

  /** The actor and scope of a turn, for other parts of the runtime. */
  static place(turn: Turn): { readonly actor: Actor; readonly scope: ReplayScope } {
    if (!(turn instanceof TurnHandle)) throw new TypeError("the turn must be one of this runtime");
    return turn.#sequence;
  }

  get request(): TurnRequestInfo {
    const { runId, accepted } = this.#actor.turn;
    const { name, input } = this.#asked;
    const { tools } = accepted.request;
    this.#request ??= structuredClone({
      requestId: accepted.requestId,
      runId,
      operation: name,
      input,
      attachments: attachedTo(this.#actor),
      ...(tools && { tools }),
    });
    return this.#request;
  }

  get metadata(): JsonObject {
    this.#metadata ??= copyJson(this.#actor.turn.accepted.request.request_metadata ?? {});
    return this.#metadata;
  }

  get config(): JsonObject {
    this.#config ??= parsedConfig(this.#actor.agent, this.#actor.call.config);
    return this.#config;
  }

  attachments(): Promise<readonly Attachment[]> {
    return handled(openAttachments(this.#actor));
  }

  get signal(): AbortSignal {
    return this.#actor.signal;
  }

  traceHeaders(): Readonly<Record<string, string>> {
    const { turn, call: own } = this.#actor;
    return { ...traceAt(turn.runId, turn.accepted, own.callId) };
  }

  get callId(): string {
    return toCallKey(this.#actor.turn.runId, this.#actor.call.key);
  }

  text(content: string): Promise<void> {
    if (typeof content !== "string") throw new TypeError("turn.text needs a string");
    // Checked before it takes a position, because a refused text is not in the log.
    checkText(content);
    return this.#sequence.say(content);
  }

  progress(content: string): void {
    if (this.#actor.agent.kind !== "tool") throw new TypeError("turn.progress is only available in a tool");
    this.#actor.progress(content);
  }

  get uses(): Collaborators {
    const { agent, turn } = this.#actor;
    return turn.context.agents.usesOf(agent);
  }

  tool<Input, Output>(tool: Tool<Input, Output>, input: Input, options?: CallOptions): Call<Output> {
    checkAgent(tool, "the tool of turn.tool");
    // The agent bound in place of a tool may have more operations than the tool.
    const [name] = Object.keys(usedAs(this.#actor, tool)?.own.operations ?? tool.operations);
    return handled(call(this.#sequence, tool, name ?? tool.name, input, options)) as Call<Output>;
  }

  call<Ops extends Operations, Name extends keyof Ops & string>(
    agent: Agent<Ops>,
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options?: CallOptions,
  ): Call<OperationOutput<Ops[Name]>> {
    checkAgent(agent, "the agent of turn.call");
    return handled(call(this.#sequence, agent, operation, input, options)) as Call<
      OperationOutput<Ops[Name]>
    >;
  }

  get self(): ActorRef {
    return { ...this.#actor.turn.self };
  }

  get sender(): SenderRef | undefined {
    const { sender } = this.#actor.turn.accepted;
    return sender && { ...sender };
  }

  actor<Ops extends Operations, Theirs extends Messages>(
    agent: Agent<Ops, Theirs>,
    place: ActorPlace,
  ): ActorAddress<Ops, Theirs> {
    checkAgent(agent, "the agent of turn.actor");
    this.#actor.turn.context.agents.checkServed(agent);
    return toActorAddress(agent, place);
  }

  ask<Ops extends Operations, Name extends keyof Ops & string>(
    actor: ActorAddress<Ops>,
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options: AskOptions = {},
  ): Promise<OperationOutput<Ops[Name]>> {
    return handled(ask(this.#sequence, actor, operation, input, options)) as Promise<never>;
  }

  tell(
    actor: ActorAddress,
    operation: string,
    input: unknown,
    options: AskOptions = {},
  ): Promise<ToldRequest> {
    return handled(tell(this.#sequence, actor, operation, input, options));
  }

  schedule(
    address: ActorAddress,
    operation: string,
    input: unknown,
    when: ScheduledTime,
  ): Promise<MadeSchedule> {
    return handled(schedule(this.#sequence, address, operation, input, when));
  }

  unschedule(id: string, address?: ActorAddress): Promise<void> {
    return handled(unschedule(this.#sequence, address ?? this.#own(), id));
  }

  schedules(address?: ActorAddress): Promise<readonly ScheduleSummary[]> {
    return handled(schedules(this.#sequence, address ?? this.#own())) as Promise<never>;
  }

  /** The address of the actor that the turn is one of. */
  #own(): ActorAddress {
    const { self, context } = this.#actor.turn;
    return toActorAddress(context.agents.get(self.agent), self);
  }

  watch(address: ActorAddress, { failed = false }: WatchOptions = {}): Promise<void> {
    const { supervise } = this.#sequence.actor.agent;
    const own = supervise && { supervise: toStrategy(supervise) };
    return handled(watch(this.#sequence, address, { on: true, ...(failed && { failed }), ...own }));
  }

  unwatch(address: ActorAddress): Promise<void> {
    return handled(watch(this.#sequence, address, { on: false }));
  }

  publish<Published extends Messages, Name extends keyof Published & string>(
    to: Topic<Published>,
    name: Name,
    body: GivenBody<Published[Name]>,
  ): Promise<ToldRequest> {
    return handled(publish(this.#sequence, to, name, body as Json));
  }

  subscribe(to: Topic<Messages>, names: string | readonly string[]): Promise<void> {
    return handled(subscribe(this.#sequence, to, typeof names === "string" ? [names] : names));
  }

  unsubscribe(from: Topic<Messages>): Promise<void> {
    return handled(unsubscribe(this.#sequence, from));
  }

  waitForInput<Values>(schema: Schema<Values>, options: TimedWaitOptions): Promise<Values | undefined>;
  waitForInput<Values>(schema: Schema<Values>, options?: WaitOptions): Promise<Values>;
  waitForInput(questions: { readonly [key: string]: string }): Promise<JsonObject>;
  waitForInput(
    questions: { readonly [key: string]: string },
    options: TimedWaitOptions,
  ): Promise<JsonObject | undefined>;
  waitForInput(
    asked: Schema<unknown> | { readonly [key: string]: string },
    options: Partial<TimedWaitOptions> = {},
  ): Promise<unknown> {
    return askForInput(this.#sequence, asked, options);
  }

  answerLink(wait: Promise<unknown>, options: AnswerLinkOptions = {}): Promise<string> {
    const { turn } = this.#actor;
    if (!(wait instanceof AskedInput) || wait.callId === undefined)
      throw new TypeError("turn.answerLink needs what turn.waitForInput has returned");
    const linked = { runId: turn.runId, requestId: turn.accepted.requestId, callId: wait.callId };
    // The time is journaled, so the link is the same on a replay. Signing it has no effect.
    return handled(toAnswerLink(turn.context.secrets.signer, linked, options, this.now()));
  }

  get receive(): Receive<Messages> {
    const sequence = this.#sequence;
    const receive = (asked: string | readonly string[], options?: ReceiveOptions): MessageWait =>
      handled(receiveMessage(sequence, asked, options));
    return Object.assign(receive, { of: toEntry }) as Receive<Messages>;
  }

  select(entries: { readonly [entry: string]: unknown }, options?: ReceiveOptions): Promise<never> {
    return handled(select(this.#sequence, entries, options)) as Promise<never>;
  }

  received(name: string): readonly unknown[] {
    return receivedMessages(this.#sequence, name);
  }

  cleanup(step: CleanupStep): void {
    registerCleanup(this.#sequence, step);
  }

  continueAs(operation: string, input: unknown): never {
    const { agent, depth, isCleanup } = this.#actor;
    if (isCleanup)
      throw new AgentError("conflict", "a cleanup step cannot continue the turn, which has ended");
    if (depth > 0)
      throw new AgentError(
        "invalid_request",
        `only the requested agent can continue its turn, not ${agent.name}`,
      );
    const invocation = toInvocation(agent, operation, toJson(input, `the input of ${agent.name}`));
    if (invocation === undefined) throw new AgentError("invalid_request", noChat(agent));
    this.#actor.isContinued = true;
    return new Continuation(invocation) as never;
  }

  artifact(artifact: ArtifactOptions): Promise<Artifact> {
    return handled(publishFile(this.#sequence, artifact));
  }

  effect<Value extends Json | undefined | void>(
    name: string,
    perform: (context: EffectContext) => Value | Promise<Value>,
    options: EffectOptions = {},
  ): Promise<Value> {
    return handled(effect(this.#sequence, name, perform, options)) as Promise<Value>;
  }

  complete(completion: CompletionOptions): Promise<Json> {
    return handled(completeWith(this.#sequence, completion));
  }

  sleep(ms: number): Promise<void> {
    return handled(sleepFor(this.#sequence, ms));
  }

  now(): number {
    return this.#sequence.now();
  }

  random(): number {
    return this.#sequence.random();
  }

  patched(id: string): boolean {
    checkName(id, "the id of a patch");
    return this.#sequence.patched(id);
  }

  all<Branches extends readonly ((turn: Turn) => unknown)[]>(
    branches: readonly [...Branches],
  ): Promise<{ -readonly [Index in keyof Branches]: Awaited<ReturnType<Branches[Index]>> }> {
    const ends = runBranches(
      this.#sequence,
      branches.map((branch) => (sequence) => branch(new TurnHandle(sequence, this.#asked))),
    );
    return handled(ends) as Promise<never>;
  }
}

/** Registers a step that runs when the turn does not succeed. */
function registerCleanup(sequence: Sequence, step: CleanupStep): void {
  const { agent, depth, isCleanup, turn } = sequence.actor;
  if (typeof step !== "function") throw new TypeError("turn.cleanup needs a function");
  if (isCleanup) throw new AgentError("conflict", "a cleanup step cannot register another one");
  if (depth > 0)
    throw new AgentError(
      "conflict",
      `agent ${agent.name} was called by another agent; only the requested agent can use turn.cleanup: ask it in place of calling it`,
    );
  if (turn.cleanups.size >= STEPS_LIMIT)
    throw new AgentError("overloaded", `a turn can have at most ${STEPS_LIMIT} cleanup steps`);
  const made = sequence.begin(CLEANUP);
  if (made === undefined) return;
  const { callId, logged } = made;
  if (!logged) turn.recorder.record({ type: "Cleanup", call_id: callId });
  turn.cleanups.set(callId, step);
  turn.cleanupRegistered?.();
}

/** Maximum number of cleanup steps of a turn. */
const STEPS_LIMIT = 1_000;

/** What `turn.receive.of` does. */
function toEntry(asked: string | readonly string[]): SelectedMessages {
  return new SelectedMessages(asked);
}

/** A call may stay unawaited: its result is in the log, and its failure must not end the process. */
function handled<Outcome extends Promise<unknown>>(outcome: Outcome): Outcome {
  outcome.catch(() => {});
  return outcome;
}

/** One of several parallel sequences. */
type Branch = (sequence: Sequence) => unknown;

/** Runs branches of a sequence; the sequence itself does nothing until all have ended. */
async function runBranches(sequence: Sequence, branches: readonly Branch[]): Promise<readonly unknown[]> {
  const { actor, scope } = sequence;
  const { turn } = actor;
  const step = sequence.begin(allSignature(branches.length));
  if (step === undefined) return turn.over();
  const { callId, logged } = step;
  if (!logged) turn.recorder.record({ type: "All", call_id: callId, branches: branches.length });
  if (turn.isRehearsed) return unsettled();
  scope.branching = true;
  turn.activity.deactivate(scope.path);
  const ends = await Promise.allSettled(
    branches.map((branch, index) => runBranch(sequence, branch, `${callId}:${index}`)),
  );
  scope.branching = false;
  turn.activity.activate(scope.path);
  if (turn.isRehearsed) return unsettled();
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
  return ends.map((end) => (end as PromiseFulfilledResult<unknown>).value);
}

async function runBranch({ actor, scope: above }: Sequence, branch: Branch, path: string): Promise<unknown> {
  const { turn } = actor;
  const scope = new ReplayScope(path, turn.replay, above);
  turn.activity.begin(path, { above: above.path });
  try {
    return await branch(new Sequence(actor, scope));
  } finally {
    turn.activity.end(path);
    const divergence = scope.end();
    if (divergence && actor.call.open) turn.diverge(divergence);
  }
}
