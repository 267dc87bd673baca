import { AgentError } from "../errors.ts";
import type { ArtifactId, CallId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { Actor, Asked } from "./actor.ts";
import type { Agent, Collaborators, Effect, Operations, Schema, Tool } from "./agent.ts";
import { toCalled } from "./ask.ts";
import { callAgent, callName, performEffect } from "./call.ts";
import { CallEvents, EVENTS_LIMIT, toCall } from "./call-events.ts";
import { complete } from "./complete.ts";
import type { Outcome } from "./deliveries.ts";
import { publish } from "./publish.ts";
import { checkQuestions } from "./questions.ts";
import { parseWith, toJsonSchema, toQuestions } from "./schema.ts";
import { Scope } from "./scope.ts";
import {
  allSignature,
  artifactSignature,
  callSignature,
  completionSignature,
  NOW,
  RANDOM,
  sleepSignature,
  waitSignature,
} from "./signature.ts";
import type { Signature } from "./signature.ts";
import { sleep } from "./sleep.ts";
import { checkText, toJson } from "./to-json.ts";
import { wait } from "./wait.ts";
import type {
  Artifact,
  ArtifactOptions,
  Call,
  CompletionOptions,
  EffectContext,
  Memory,
  OperationInput,
  OperationOutput,
  ToolTurn,
  Turn,
  TurnRequestInfo,
} from "./turn-api.ts";

/** What a handler gets: one sequence of an actor's doings, told to the log or compared with it. */
export class TurnHandle implements ToolTurn {
  readonly agent: string;
  readonly memory: Memory;
  readonly #actor: Actor;
  readonly #scope: Scope;
  readonly #asked: Asked;
  // Copies, made when they are asked for: nothing that a handler does changes what was asked.
  #request: TurnRequestInfo | undefined;
  #metadata: JsonObject | undefined;
  #config: JsonObject | undefined;

  constructor(actor: Actor, scope: Scope, asked: Asked) {
    this.#actor = actor;
    this.#scope = scope;
    this.#asked = asked;
    this.agent = actor.agent.name;
    this.memory = actor.memory;
  }

  /** Where a turn stands, for the parts of the runtime that do more than a handler may. */
  static place(turn: Turn): { readonly actor: Actor; readonly scope: Scope } {
    if (!(turn instanceof TurnHandle)) throw new TypeError("a turn of this runtime is expected");
    return { actor: turn.#actor, scope: turn.#scope };
  }

  get request(): TurnRequestInfo {
    const { runId, accepted } = this.#actor.turn.options;
    const { name, input } = this.#asked;
    this.#request ??= structuredClone({
      requestId: accepted.requestId,
      runId,
      operation: name,
      input,
      attachments: accepted.request.attachments ?? [],
    });
    return this.#request;
  }

  get metadata(): JsonObject {
    this.#metadata ??= structuredClone(this.#actor.turn.options.accepted.request.request_metadata ?? {});
    return this.#metadata;
  }

  get config(): JsonObject {
    this.#config ??= structuredClone(this.#actor.call.config);
    return this.#config;
  }

  get signal(): AbortSignal {
    return this.#actor.signal;
  }

  get callId(): CallId {
    return this.#actor.call.callId;
  }

  text(content: string): Promise<void> {
    if (typeof content !== "string") throw new TypeError("turn.text takes a string");
    // Before it takes its place: what is refused has no place in the log.
    checkText(content);
    const { turn } = this.#actor;
    if (this.#actor.ended) return turn.over();
    if (this.#scope.replaying) {
      return this.#begin(content, true) === undefined ? turn.over() : Promise.resolve();
    }
    this.#checkFree();
    const divergence = this.#scope.advance();
    if (divergence === undefined) return this.#actor.say(content, this.#scope);
    turn.diverge(divergence);
    return turn.over();
  }

  progress(content: string): void {
    if (this.#actor.agent.kind !== "tool") throw new TypeError("only a tool tells how far it has come");
    this.#actor.progress(content);
  }

  get uses(): Collaborators {
    const { agent, turn } = this.#actor;
    return turn.options.usesOf(agent);
  }

  tool<Input, Output>(tool: Tool<Input, Output>, input: Input): Call<Output> {
    // Who takes the place of a tool may have more operations than that tool has.
    const [name] = Object.keys(this.#used(tool)?.own.operations ?? tool.operations);
    return this.#call(tool, name ?? tool.name, input) as Call<Output>;
  }

  call<Ops extends Operations, Name extends keyof Ops & string>(
    agent: Agent<Ops>,
    operation: Name,
    input: OperationInput<Ops[Name]>,
  ): Call<OperationOutput<Ops[Name]>> {
    return this.#call(agent, operation, input) as Call<OperationOutput<Ops[Name]>>;
  }

  waitForInput<Values>(schema: Schema<Values>): Promise<Values>;
  waitForInput(questions: { readonly [key: string]: string }): Promise<JsonObject>;
  waitForInput(asked: Schema<unknown> | { readonly [key: string]: string }): Promise<unknown> {
    return handled(this.#wait(asked));
  }

  artifact(artifact: ArtifactOptions): Promise<Artifact> {
    return handled(this.#publish(artifact));
  }

  effect<Value extends Json | undefined | void>(
    name: string,
    perform: (context: EffectContext) => Value | Promise<Value>,
    { effect = "unsafe" }: { readonly effect?: Effect } = {},
  ): Promise<Value> {
    return handled(this.#perform(name, perform, effect)) as Promise<Value>;
  }

  complete(completion: CompletionOptions): Promise<Json> {
    return handled(this.#complete(completion));
  }

  sleep(ms: number): Promise<void> {
    return handled(this.#sleep(ms));
  }

  now(): number {
    return this.#sample(NOW, "Now", () => this.#actor.turn.options.environment.now());
  }

  random(): number {
    return this.#sample(RANDOM, "Random", () => this.#actor.turn.options.environment.random());
  }

  all<Branches extends readonly ((turn: Turn) => unknown)[]>(
    branches: readonly [...Branches],
  ): Promise<{ -readonly [Index in keyof Branches]: Awaited<ReturnType<Branches[Index]>> }> {
    return handled(this.#all(branches)) as Promise<never>;
  }

  async #wait(asked: Schema<unknown> | { readonly [key: string]: string }): Promise<unknown> {
    const schema = isSchema(asked) ? asked : undefined;
    const jsonSchema = schema && toJsonSchema(schema, "input");
    const questions = schema ? toQuestions(jsonSchema) : (asked as { readonly [key: string]: string });
    // Before it takes its place, as with a text.
    checkQuestions(questions, jsonSchema);
    const begun = this.#begin(waitSignature(questions));
    if (begun === undefined) return this.#actor.turn.over();
    const outcome = this.#outcome(begun.callId);
    if (!begun.settled) {
      wait(this.#actor, { ...begun, questions, schema, ...(jsonSchema && { jsonSchema }) });
    }
    const values = await outcome;
    return schema ? parseWith(schema, values, "the answer") : values;
  }

  async #publish({ name, mimeType, data }: ArtifactOptions): Promise<Artifact> {
    const artifactId = this.#actor.turn.options.environment.newId() as ArtifactId;
    const begun = this.#begin(artifactSignature(name, mimeType));
    if (begun === undefined) return this.#actor.turn.over();
    const outcome = this.#outcome(begun.callId);
    if (!begun.settled) {
      const loggedId = begun.logged ? (begun.value as ArtifactId) : undefined;
      void publish(this.#actor, { ...begun, artifactId: loggedId ?? artifactId, name, mimeType, data });
    }
    const artifact = (await outcome) as unknown as Artifact;
    this.#actor.files.push(artifact);
    return artifact;
  }

  async #perform(name: string, perform: (context: EffectContext) => unknown, effect: Effect): Promise<Json> {
    const begun = this.#begin(callSignature(name, {}));
    if (begun === undefined) return this.#actor.turn.over();
    const outcome = this.#outcome(begun.callId);
    if (!begun.settled) void performEffect(this.#actor, { ...begun, name, args: {} }, effect, perform);
    return outcome;
  }

  async #complete({ model, input: given }: CompletionOptions): Promise<Json> {
    const input = toJson(given, "the input of the model", Infinity);
    const begun = this.#begin(completionSignature(model.name));
    if (begun === undefined) return this.#actor.turn.over();
    const outcome = this.#outcome(begun.callId);
    if (!begun.settled) void complete(this.#actor, { ...begun, model, input });
    return outcome;
  }

  async #sleep(ms: number): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0) throw new TypeError("turn.sleep takes milliseconds, 0 or more");
    const begun = this.#begin(sleepSignature(ms));
    if (begun === undefined) return this.#actor.turn.over();
    const outcome = this.#outcome(begun.callId);
    if (!begun.settled) sleep(this.#actor, begun, ms);
    await outcome;
  }

  async #all(branches: readonly ((turn: Turn) => unknown)[]): Promise<readonly unknown[]> {
    const { turn } = this.#actor;
    const begun = this.#begin(allSignature(branches.length));
    if (begun === undefined) return turn.over();
    const { callId, logged } = begun;
    if (!logged) turn.options.recorder.record({ type: "All", call_id: callId, branches: branches.length });
    this.#scope.branching = true;
    turn.stirrings.calm(this.#scope.path);
    const ends = await Promise.allSettled(
      branches.map((branch, index) => this.#runBranch(branch, `${callId}:${index}`)),
    );
    this.#scope.branching = false;
    turn.stirrings.stir(this.#scope.path);
    const failed = ends.find((end) => end.status === "rejected");
    if (failed) throw failed.reason;
    return ends.map((end) => (end as PromiseFulfilledResult<unknown>).value);
  }

  async #runBranch(branch: (turn: Turn) => unknown, path: string): Promise<unknown> {
    const { turn } = this.#actor;
    const scope = new Scope(path, turn.options.journal.items.get(path), this.#scope);
    turn.stirrings.begin(path);
    try {
      return await branch(new TurnHandle(this.#actor, scope, this.#asked));
    } finally {
      turn.stirrings.end(path);
      const divergence = scope.end();
      if (divergence && !this.#actor.ended) turn.diverge(divergence);
    }
  }

  #call(agent: Agent, operationName: string, input: unknown): Call<Json> {
    let begun: Begun | undefined;
    let text = "";
    const called = (async (): Promise<Json> => {
      const args = toJson(input, `the input of ${agent.name}`);
      const asked = toCalled(agent, operationName, args);
      const used = this.#used(agent);
      const name = callName(used?.own ?? agent, operationName, used?.name);
      begun = this.#begin(callSignature(name, args));
      if (begun === undefined) return this.#actor.turn.over();
      const outcome = this.#outcome(begun.callId, (inWords) => {
        text = inWords;
      });
      if (!begun.settled) void callAgent(this.#actor, { ...begun, name, args, agent, operationName, asked });
      return outcome;
    })();
    return toCall(handled(called), { text: () => text, listen: () => this.#follow(begun) });
  }

  /** What the agent calls another by, and whom it meant itself, if it uses it under a name. */
  #used(agent: Agent): { readonly name: string; readonly own: Agent } | undefined {
    const entry = Object.entries(this.uses).find(([, bound]) => bound === agent);
    const own = entry && this.#actor.agent.uses[entry[0]];
    return own && { name: entry[0], own };
  }

  /** Follows the events of a call that was made just now. */
  #follow(begun: Begun | undefined): CallEvents {
    const events = new CallEvents();
    if (begun === undefined) return events;
    const { callId, logged } = begun;
    const { turn } = this.#actor;
    const { journal, recorder } = turn.options;
    if (!logged) recorder.record({ type: "Iterated", call_id: callId });
    else if (!journal.iterated.has(callId)) {
      turn.diverge({ scope: this.#scope.path, expected: `${callId} awaited`, actual: `${callId} iterated` });
    }
    turn.follow(callId, (event) => {
      if (events.push(event)) return;
      turn.fail("overloaded", `${EVENTS_LIMIT} events of ${callId} were not taken by who iterates over it`);
    });
    return events;
  }

  #sample(signature: string, type: "Now" | "Random", take: () => number): number {
    const begun = this.#begin(signature);
    if (begun === undefined) return take();
    if (begun.logged) return begun.value as number;
    const value = take();
    this.#actor.turn.options.recorder.record({ type, scope: this.#scope.path, value });
    return value;
  }

  /** Takes the next place of the scope; `undefined` when the actor has ended, also by this. */
  #begin(signature: Signature, isText?: true): Begun | undefined {
    const { turn, ended } = this.#actor;
    if (ended) return undefined;
    this.#checkFree();
    const logged = this.#scope.replaying;
    if (!logged && turn.options.recorder.uncommitted >= turn.options.limits.uncommittedEntries) {
      turn.fail("overloaded", `agent ${this.agent} did more at once than the log could take`);
      return undefined;
    }
    const place = logged ? this.#scope.replay(signature, isText) : this.#scope.advance();
    if (place !== undefined && "expected" in place) {
      turn.diverge(place);
      return undefined;
    }
    const { callId } = this.#scope;
    const settled = logged && turn.options.journal.outcomes.has(callId);
    return { callId, logged, settled, ...(place?.value !== undefined && { value: place.value }) };
  }

  /** Resolves when a call has ended; `hear` is told before what it came to in words. */
  #outcome(callId: CallId, hear?: (text: string) => void): Promise<Json> {
    return new Promise((resolve, reject) => {
      const { turn } = this.#actor;
      turn.deliveries.expect(callId, (outcome: Outcome) => {
        if (!outcome.ok) {
          const facts = { code: outcome.code, call_id: callId };
          reject(new AgentError("call_failed", outcome.message, { facts }));
          return;
        }
        hear?.(outcome.text ?? "");
        resolve(outcome.value);
      });
    });
  }

  #checkFree(): void {
    if (this.#scope.ended) throw new AgentError("conflict", "the branch that this turn was for has ended");
    if (!this.#scope.branching) return;
    throw new AgentError(
      "conflict",
      "this turn has branches under way: use the turn that turn.all gave to each",
    );
  }
}

/** A place that was taken: whether the log has it, and whether it has its outcome too. */
interface Begun {
  readonly callId: CallId;
  readonly logged: boolean;
  readonly settled: boolean;
  readonly value?: Json;
}

/** A call may be left alone: what came of it is in the log, and its failure is no fault of the process. */
function handled<Value>(outcome: Promise<Value>): Promise<Value> {
  outcome.catch(() => {});
  return outcome;
}

function isSchema(asked: object): asked is Schema<unknown> {
  return "~standard" in asked;
}
