import { AgentError, isInstance } from "../../errors.ts";
import type { ActorRef, CallMode, SenderRef } from "../../protocol/actors.ts";
import type { ArtifactId, CallId, RequestId } from "../../protocol/ids.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Actor } from "./actor.ts";
import { checkAddress, toActorAddress } from "../agent/actor-address.ts";
import type { ActorAddress, ActorPlace } from "../agent/actor-address.ts";
import { checkAgent, isSchema } from "../agent/definition/check-definition.ts";
import type { Agent, Collaborators, Messages, Operations, Schema, Tool } from "../agent/agent.ts";
import type { RemoteActor } from "../agent/remote-port.ts";
import { toCalled } from "../agent/resolve-operation.ts";
import type { Invocation } from "../agent/resolve-operation.ts";
import { attachedTo } from "../turn/actor-context.ts";
import { toCallee, toToldRequest } from "./messages/ask.ts";
import { openAttachments, publish } from "./artifacts.ts";
import { runBranches } from "./branches.ts";
import {
  checkCallOptions,
  checkEffectOptions,
  checkQueueOptions,
  checkTimeoutOption,
  toRetryPolicy,
} from "../agent/call-options.ts";
import type { CallOptions, EffectOptions, RetryPolicy } from "../agent/call-options.ts";
import { agentAttempts, askAttempts, effectAttempts, ONLY } from "./retry/attempt.ts";
import type { Attempt, MakeAttempt } from "./retry/attempt.ts";
import { callName } from "./call.ts";
import { RetriedCall } from "./retry/retry.ts";
import { followCall, toCall } from "./call-stream.ts";
import { complete } from "./completion.ts";
import { toTime, toTimedRequest } from "./messages/schedule.ts";
import { digest } from "../journal/digest.ts";
import { checkRequested, checkTimeout, messageSchema, receive } from "./messages/receive.ts";
import { checkQuestions, sleep, wait } from "./wait.ts";
import { parseNow, parseWith, toJsonSchema, toQuestions } from "../agent/definition/schema.ts";
import type { ReplayScope } from "../replay/scope.ts";
import type { Sequence } from "./sequence.ts";
import {
  actorSignature,
  artifactSignature,
  callSignature,
  COMPLETION,
  NOW,
  RANDOM,
  receivedSignature,
  receiveSignature,
  sleepSignature,
  waitSignature,
} from "../replay/signature.ts";
import { actorCallName } from "../replay/actor-request.ts";
import { checkName, checkText, INPUT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";
import type {
  Artifact,
  ArtifactOptions,
  AskOptions,
  Attachment,
  Call,
  CompletionOptions,
  EffectContext,
  Memory,
  OperationInput,
  OperationOutput,
  ReceiveOptions,
  ScheduledTime,
  ToldRequest,
  ToolTurn,
  Turn,
  TurnRequestInfo,
  TimedWaitOptions,
  WaitOptions,
} from "../agent/turn-api.ts";

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
    this.#request ??= structuredClone({
      requestId: accepted.requestId,
      runId,
      operation: name,
      input,
      attachments: attachedTo(this.#actor),
    });
    return this.#request;
  }

  get metadata(): JsonObject {
    this.#metadata ??= copyJson(this.#actor.turn.accepted.request.request_metadata ?? {});
    return this.#metadata;
  }

  get config(): JsonObject {
    this.#config ??= readConfig(this.#actor);
    return this.#config;
  }

  attachments(): Promise<readonly Attachment[]> {
    return handled(openAttachments(this.#actor));
  }

  get signal(): AbortSignal {
    return this.#actor.signal;
  }

  get callId(): CallId {
    return this.#actor.call.key;
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
    const [name] = Object.keys(this.#used(tool)?.own.operations ?? tool.operations);
    return this.#call(tool, name ?? tool.name, input, options) as Call<Output>;
  }

  call<Ops extends Operations, Name extends keyof Ops & string>(
    agent: Agent<Ops>,
    operation: Name,
    input: OperationInput<Ops[Name]>,
    options?: CallOptions,
  ): Call<OperationOutput<Ops[Name]>> {
    checkAgent(agent, "the agent of turn.call");
    return this.#call(agent, operation, input, options) as Call<OperationOutput<Ops[Name]>>;
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
    return handled(this.#send("ask", actor, operation, input, options)) as Promise<never>;
  }

  tell(
    actor: ActorAddress,
    operation: string,
    input: unknown,
    options: AskOptions = {},
  ): Promise<ToldRequest> {
    const told = this.#send("tell", actor, operation, input, options).then(toToldRequest);
    this.#actor.tells.add(told);
    return handled(told);
  }

  schedule(
    address: ActorAddress,
    operation: string,
    input: unknown,
    when: ScheduledTime,
  ): Promise<{ readonly requestId: RequestId }> {
    return handled(this.#schedule(address, operation, input, when));
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
    return handled(this.#wait(asked, options));
  }

  receive(name: string, { timeoutMs }: ReceiveOptions = {}): Promise<unknown> {
    return handled(this.#receive(name, timeoutMs));
  }

  received(name: string): readonly unknown[] {
    if (this.#actor.depth > 0) return [];
    const schema = messageSchema(this.#actor, name);
    const { turn } = this.#actor;
    return this.#sequence
      .take(receivedSignature(name), (callId) => turn.takeUnread(callId, name))
      .map((body) => parseNow(schema, copyJson(body), `message ${name}`));
  }

  artifact(artifact: ArtifactOptions): Promise<Artifact> {
    return handled(this.#publish(artifact));
  }

  effect<Value extends Json | undefined | void>(
    name: string,
    perform: (context: EffectContext) => Value | Promise<Value>,
    options: EffectOptions = {},
  ): Promise<Value> {
    checkName(name, "the name of an effect");
    checkEffectOptions(options, this.#in(`effect ${name}`));
    const { effect = "unsafe", timeoutMs, retry } = options;
    const make = effectAttempts({ name, args: {}, effect, perform, timeoutMs });
    return handled(attempted(this.#sequence, toRetryPolicy(retry, effect), make).result) as Promise<Value>;
  }

  complete(completion: CompletionOptions): Promise<Json> {
    return handled(this.#complete(completion));
  }

  sleep(ms: number): Promise<void> {
    return handled(this.#sleep(ms));
  }

  now(): number {
    return this.#sequence.sample(NOW, "Now", () => this.#actor.turn.context.environment.now());
  }

  random(): number {
    return this.#sequence.sample(RANDOM, "Random", () => this.#actor.turn.context.environment.random());
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

  async #wait(
    asked: Schema<unknown> | { readonly [key: string]: string },
    { timeoutMs, approval }: Partial<TimedWaitOptions>,
  ): Promise<unknown> {
    checkTimeoutOption({ ...(timeoutMs !== undefined && { timeoutMs }) }, this.#in("turn.waitForInput"));
    const schema = isSchema(asked) ? asked : undefined;
    const jsonSchema = schema && toJsonSchema(schema, "input");
    const questions = schema
      ? toQuestions(jsonSchema, approval !== undefined)
      : (asked as { readonly [key: string]: string });
    // Checked before it takes a position, as with a text.
    checkQuestions(questions, jsonSchema, approval);
    const expiresAt = this.#actor.turn.context.environment.now() + (timeoutMs ?? Infinity);
    const values = await this.#sequence.issue(waitSignature(questions), (step) =>
      wait(this.#actor, {
        ...step,
        questions,
        schema,
        expiresAt,
        ...(jsonSchema && { jsonSchema }),
        ...(approval && { approval }),
      }),
    );
    if (values === null) return undefined;
    return schema ? parseWith(schema, values, "the answer") : values;
  }

  async #schedule(
    address: ActorAddress,
    operation: string,
    input: unknown,
    when: ScheduledTime,
  ): Promise<{ readonly requestId: RequestId }> {
    checkAddress(address, "turn.schedule");
    const { context, runId } = this.#actor.turn;
    const request = toTimedRequest(
      address,
      operation,
      input,
      toTime(when, () => this.now()),
    );
    // Unique in the run: this call takes the next position.
    const key = `timer-${digest(`${runId} ${this.#sequence.scope.callId}`)}`;
    const timer: ActorAddress = toActorAddress(context.agents.timer as Agent, key);
    const { requestId } = await this.tell(timer, "send", request);
    return { requestId };
  }

  async #receive(name: string, timeoutMs: number | undefined): Promise<unknown> {
    checkRequested(this.#actor);
    const schema = messageSchema(this.#actor, name);
    checkTimeout(timeoutMs);
    const bodies = await this.#sequence.issue(receiveSignature(name), (step) =>
      receive(this.#actor, step, name, timeoutMs),
    );
    const [body] = bodies as readonly Json[];
    return body === undefined ? undefined : parseNow(schema, copyJson(body), `message ${name}`);
  }

  async #publish({ name, mimeType, data }: ArtifactOptions): Promise<Artifact> {
    checkName(name, "the name of an artifact");
    checkName(mimeType, "the MIME type of an artifact");
    if (typeof data !== "string" && !isInstance(data, Uint8Array))
      throw new TypeError(`the data of artifact ${name} is neither a string nor a Uint8Array`);
    const artifactId = this.#actor.turn.context.environment.newId() as ArtifactId;
    const published = await this.#sequence.issue(artifactSignature(name, mimeType), (step) => {
      const loggedId = step.logged ? (step.value as ArtifactId) : undefined;
      return publish(this.#actor, { ...step, artifactId: loggedId ?? artifactId, name, mimeType, data });
    });
    const artifact = published as unknown as Artifact;
    this.#actor.files.push(artifact);
    return artifact;
  }

  async #complete({ model, input: given, timeoutMs }: CompletionOptions): Promise<Json> {
    checkTimeoutOption({ ...(timeoutMs !== undefined && { timeoutMs }) }, this.#in(`model ${model.name}`));
    checkQueueOptions(model, `model ${model.name}`);
    const input = toJson(given, "the input of the model", Infinity);
    return this.#sequence.issue(
      COMPLETION,
      (step) => complete(this.#actor, { ...step, model, input, timeoutMs }),
      { of: { agent: model.name } },
    );
  }

  async #sleep(ms: number): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0) throw new TypeError("turn.sleep needs milliseconds, 0 or more");
    await this.#sequence.issue(sleepSignature(ms), (step) => sleep(this.#actor, step, ms));
  }

  async #send(
    mode: CallMode,
    address: unknown,
    operationName: string,
    input: unknown,
    options: AskOptions,
  ): Promise<Json> {
    const what = `turn.${mode}`;
    checkAddress(address, what);
    const { name: agent } = address.agent;
    checkCallOptions(options, this.#in(`${what} to ${agent}`));
    const { timeoutMs, retry } = options;
    const { key, runId } = address;
    if (address.agent.remote) {
      const place = { ...(key !== undefined && { key }), ...(runId !== undefined && { runId }) };
      return this.#call(address.agent, operationName, input, options, { mode, ...place });
    }
    const args = toJson(input, `the input of ${agent}`, INPUT_LIMIT_BYTES);
    const name = actorCallName(agent, operationName);
    const callee = toCallee(address);
    const signature = actorSignature(mode, callee, callSignature(name, args));
    const of = { agent, operation: operationName };
    const make = askAttempts(signature, { mode, callee, address, name, args, timeoutMs }, of);
    return attempted(this.#sequence, toRetryPolicy(retry, "unsafe"), make).result;
  }

  #call(
    agent: Agent,
    operationName: string,
    input: unknown,
    options?: CallOptions,
    remoteActor?: RemoteActor,
  ): Call<Json> {
    if (options) checkCallOptions(options, this.#in(`${agent.kind} ${agent.name}`));
    const timeoutMs = options?.timeoutMs ?? agent.callOptions?.timeoutMs;
    const retry = options?.retry ?? agent.callOptions?.retry;
    const policy = toRetryPolicy(retry, agent.kind === "tool" ? agent.effect : "unsafe");
    let made: Attempt | undefined;
    let text = "";
    const called = (async (): Promise<Json> => {
      const args = toJson(input, `the input of ${agent.name}`);
      const asked = toCalled(agent, operationName, args);
      const used = this.#used(agent);
      const name = callName(used?.own ?? agent, operationName, used?.name);
      const make = agentAttempts(
        { name, args, agent, operationName, asked, timeoutMs, ...(remoteActor && { remoteActor }) },
        { agent: used?.name ?? agent.name, operation: operationName },
        (inWords) => {
          text = inWords;
        },
      );
      made = attempted(this.#sequence, policy, make);
      return made.result;
    })();
    return toCall(handled(called), {
      text: () => text,
      listen: () => followCall(this.#sequence, made?.step),
      cancel: () => made?.cancel(),
    });
  }

  /** Names a callee and its caller, for errors. */
  #in(callee: string): string {
    return `${callee} in ${this.#actor.agent.kind} ${this.agent}`;
  }

  /** The name under which the agent uses another, and that agent's original definition, if it uses it. */
  #used(agent: Agent): { readonly name: string; readonly own: Agent } | undefined {
    const entry = Object.entries(this.uses).find(([, bound]) => bound === agent);
    const own = entry && this.#actor.agent.uses[entry[0]];
    return own && { name: entry[0], own };
  }
}

/** Makes a call once, or again while its policy says so. */
function attempted(sequence: Sequence, policy: RetryPolicy | undefined, make: MakeAttempt): Attempt {
  return policy ? new RetriedCall(sequence, policy, make) : make(sequence, ONLY);
}

/** A call may stay unawaited: its result is in the log, and its failure must not end the process. */
function handled<Value>(outcome: Promise<Value>): Promise<Value> {
  outcome.catch(() => {});
  return outcome;
}

/** The configuration, parsed with the agent's schema. */
function readConfig({ agent, call }: Actor): JsonObject {
  const config = copyJson(call.config);
  if (agent.config === undefined) return config;
  try {
    return parseNow(agent.config, config, `the configuration of ${agent.name}`) as JsonObject;
  } catch (thrown) {
    if (!isInstance(thrown, AgentError)) throw thrown;
    const message = `${thrown.message}; configure the agent, or give its schema a default`;
    throw new AgentError(thrown.code, message, { cause: thrown });
  }
}
