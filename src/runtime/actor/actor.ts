import { isInstance } from "../../errors.ts";
import { createSpeaker } from "../../protocol/events/encode.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import { unsettled } from "../../shared/deferred.ts";
import { CHAT } from "../agent/agent.ts";
import type { Agent } from "../agent/agent.ts";
import { parseNow, parseWith } from "../agent/definition/schema.ts";
import { errorMessage } from "../agent/error-message.ts";
import type { RemoteActor } from "../agent/remote-port.ts";
import type { Invocation } from "../agent/resolve-operation.ts";
import type { Artifact, Memory, Turn } from "../agent/turn-api.ts";
import { cut, toJson } from "../journal/json-limits.ts";
import { toResultFile } from "../agent/result-file.ts";
import { performRemotely } from "../remote/remote-session.ts";
import { ReplayScope } from "../replay/scope.ts";
import { Transcript } from "../replay/transcript.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import { stopActor } from "../system/actor-system.ts";
import { HandlerActor } from "../system/handler-actor.ts";
import type { HandlerParent } from "../system/handler-actor.ts";
import type { ActiveTurn } from "../turn/active-turn.ts";
import type { ActorContext } from "../turn/actor-context.ts";
import { inTrace } from "../turn/in-trace.ts";
import { ResultWithFiles, toHandlerResult, toRemoteAnswer } from "./answer.ts";
import type { HandlerResult } from "./answer.ts";
import { Continuation } from "./continuation.ts";
import { parsedMemory } from "./own-values.ts";
import { ReadHandle } from "./read.ts";
import { Sequence } from "./sequence.ts";
import type { AskedInput } from "./waits.ts";
import { storeFile } from "./artifacts.ts";
import { TurnHandle } from "./turn-handle.ts";

/** Called once when a handler ends: `done` with its result, or `failed` with what it threw. */
export interface HandlerEnd {
  done(answer: HandlerResult): void;
  /** The handler ends its turn, and the next one begins; absent for a called agent, which cannot do that. */
  continued?(asked: Invocation): void;
  /** `unfit` means that the input did not fit, so the handler never ran. */
  failed(thrown: unknown, unfit: boolean): void;
}

/** Maximum length of a progress report. */
const PROGRESS_LIMIT_BYTES = 16 * 1024;

/** A running instance of an agent: the handler of one request or call, and its transcript. */
export class Actor implements ActorContext {
  readonly turn: ActiveTurn;
  readonly agent: Agent;
  readonly depth: number;
  /** The call that the actor works for; the turn's root for the requested agent. */
  readonly call: OpenCall;
  readonly speaker: Speaker;
  readonly scope: ReplayScope;
  readonly memory: ActorMemory;
  /** The actor's transcript, including earlier activations. */
  readonly transcript: Transcript;
  readonly files: Artifact[] = [];
  /** Whether it runs the cleanup steps of its turn. */
  readonly isCleanup: boolean;
  /** Whether its code has called `turn.continueAs`. */
  isContinued = false;
  /** The actor on another server that the agent is asked or told as. */
  remoteActor: RemoteActor | undefined;
  /** The tells that the handler has sent. The actor ends when all of them have arrived. */
  readonly tells: Promise<unknown>[] = [];
  #unawaited: Set<AskedInput> | undefined;
  #signal: AbortSignal | undefined;
  #handler: HandlerActor | undefined;
  #escalate: ((thrown: unknown) => void) | undefined;

  readonly #caller: Actor | undefined;

  constructor(
    turn: ActiveTurn,
    agent: Agent,
    depth: number,
    call: OpenCall,
    { caller, isCleanup = false }: { readonly caller?: Actor; readonly isCleanup?: boolean } = {},
  ) {
    const { runId, accepted, journal } = turn;
    this.isCleanup = isCleanup;
    this.turn = turn;
    this.agent = agent;
    this.depth = depth;
    this.call = call;
    this.#caller = caller;
    this.speaker =
      depth === 0
        ? turn.speaker
        : createSpeaker({
            run_id: runId,
            request_id: accepted.requestId,
            agent: agent.name,
            depth,
            parent_call_id: call.callId,
          });
    if (depth > 0) turn.subscriptions?.introduce(this.speaker, call.callId);
    const before = journal.scopes.get(call.callId);
    this.scope = new ReplayScope(call.callId, turn.replay);
    this.memory = createMemory(this);
    this.transcript = before?.transcript ?? new Transcript();
  }

  /** Aborts when the actor is stopped. */
  get signal(): AbortSignal {
    return this.#signal ?? this.#handler?.signal ?? NEVER;
  }

  /** Its actor of XState; before the handler starts, that of what starts it. */
  get node(): HandlerParent {
    return this.#handler ?? this.#caller?.node ?? this.turn.run;
  }

  /** Set for the cleanup steps, which run in no handler. */
  set signal(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether its code only does again what the log has, so that its cleanup steps are known: it was stopped there. */
  get isStopped(): boolean {
    return this.depth === 0 && !this.isCleanup && this.turn.canceling !== undefined;
  }

  /** Its open waits for input that its code has not awaited. */
  get unawaited(): Set<AskedInput> {
    return (this.#unawaited ??= new Set());
  }

  /** Creates the actor of a called agent. */
  child(agent: Agent, call: OpenCall): Actor {
    return new Actor(this.turn, agent, this.depth + 1, call, { caller: this });
  }

  /** Names a callee and this actor, which calls it, for errors. */
  describe(callee: string): string {
    return `${callee} in ${this.agent.kind} ${this.agent.name}`;
  }

  /** How often an agent is among this actor and its callers, including callers on other servers. */
  standing(agent: Agent): number {
    const above = this.#caller?.standing(agent) ?? this.#standingBefore(agent);
    return (this.agent === agent ? 1 : 0) + above;
  }

  #standingBefore({ name }: Agent): number {
    const { callers = [] } = this.turn.accepted;
    return callers.filter((caller) => caller === name).length;
  }

  /**
   * Runs a handler of the agent as an XState actor, a child of the one that called it. Returns a function that stops it;
   * after that `end` is not called.
   */
  start(asked: Invocation, end: HandlerEnd): () => void {
    const { runId, accepted, context } = this.turn;
    const { environment, system } = context;
    const { name: operation, input } = asked;
    const { callId: id } = this.call;
    this.turn.activity.begin(this.scope.path);
    const handler = new HandlerActor(system, {
      parent: this.node,
      id,
      agent: this.agent.name,
      input: { operation, input },
    });
    this.#handler = handler;
    let over = false;
    if (this.agent.supervise?.then === "escalate")
      this.#escalate = (thrown) => {
        if (over || handler.isStopped) return;
        over = true;
        environment.attribute({ runId, requestId: accepted.requestId }, () => stopActor(handler));
        end.failed(thrown, false);
      };
    const run = async (): Promise<void> => {
      const { tell, thrown, output } = await this.#perform(asked, end);
      if (over || handler.isStopped) return;
      const divergence = this.scope.end();
      if (divergence) {
        this.turn.diverge(divergence, thrown);
        stopActor(handler);
        return;
      }
      over = true;
      // Its end comes before what follows from it, which may be the end of its caller.
      if (thrown === undefined) handler.done(output);
      else handler.failed(thrown);
      if (this.isStopped) this.turn.activity.end(this.scope.path);
      else tell();
    };
    run().catch((thrown: unknown) => end.failed(thrown, false));
    return () => {
      // An ended handler lets its actor end by itself.
      if (over) return;
      environment.attribute({ runId, requestId: accepted.requestId }, () => stopActor(handler));
    };
  }

  /** Fails with the error of an agent or an actor that it has called: what its code does about that has no effect. */
  escalate(thrown: unknown): void {
    this.#escalate?.(thrown);
  }

  /** Sends a text; resolves when another one may follow. */
  say(content: string, scope: ReplayScope): Promise<void> {
    if (!this.#hasRoom(scope)) {
      this.turn.fail(
        "overloaded",
        `agent ${this.agent.name} has too many uncommitted texts; await turn.text`,
      );
      return this.turn.over();
    }
    this.transcript.add(content);
    const id = this.#record(content, scope);
    scope.said(id, content.length);
    this.turn.activity.activate(scope.path);
    return this.turn.room(this.speaker);
  }

  /** Records a text. Returns its id. */
  #record(content: string, scope: ReplayScope): number {
    const { recorder } = this.turn;
    const place = scope === this.scope ? undefined : { branch: scope.path };
    if (this.agent.kind !== "tool") return recorder.text(this.speaker, content, place);
    const said = { type: "ToolTextOutput", content, tool_call_id: this.call.callId, ...place } as const;
    return recorder.event(this.speaker, said).id;
  }

  /** Reports the progress of a tool, unless too much is uncommitted, or not delivered to the code that iterates the call. */
  progress(content: string): void {
    if (!this.call.open || !this.#hasRoom(this.scope)) return;
    if (this.turn.subscriptions?.isBehind(this.speaker) === true) return;
    const { id } = this.turn.recorder.event(this.speaker, {
      type: "ToolTextOutput",
      content: cut(content, PROGRESS_LIMIT_BYTES),
      tool_call_id: this.call.callId,
      progress: true,
    });
    this.scope.said(id, content.length);
  }

  #hasRoom(scope: ReplayScope): boolean {
    return scope.hasRoom(this.turn.context.limits, this.turn.recorder);
  }

  /** Runs the handler. Returns a function that reports its end, and what it threw. */
  async #perform(
    { name, operation, input }: Invocation,
    { done, continued, failed }: HandlerEnd,
  ): Promise<PerformedHandler> {
    const { runId, accepted } = this.turn;
    const { environment } = this.turn.context;
    let parsed: unknown;
    try {
      // The handler gets a copy, so that it cannot change the logged request. Not every schema makes one when it
      // parses.
      parsed = await parseWith(operation.input, copyJson(input), `the input of ${this.agent.name}`);
    } catch (thrown) {
      return { tell: () => failed(thrown, true), thrown };
    }
    const { machine, remote } = this.agent;
    if (this.depth === 0 && machine === undefined) this.turn.replay.began();
    // A machine still checks its logged state.
    const isOver = machine === undefined && this.turn.isRehearsed;
    if (isOver || (remote && this.turn.context.isRehearsal)) return unsettled();
    try {
      if (remote) {
        const result = await performRemotely(this, remote, { name, input });
        const answer = toRemoteAnswer(result, { operation: name, transcript: this.transcript });
        return { tell: () => done(answer), output: answer.output };
      }
      const turn = new TurnHandle(new Sequence(this, this.scope), { name, operation, input });
      const handle = operation.read === true ? (new ReadHandle(turn, undefined) as unknown as Turn) : turn;
      const run = (): unknown => inTrace(this, this.call.callId, () => operation.run(parsed, handle));
      const whole = await environment.attribute({ runId, requestId: accepted.requestId }, run);
      const { value: returned, files } = isInstance(whole, ResultWithFiles)
        ? whole
        : { value: whole, files: [] };
      if (this.tells.length > 0) await Promise.allSettled(this.tells);
      this.#checkAwaited();
      if (this.isContinued && !(returned instanceof Continuation))
        throw new Error(
          `agent ${this.agent.name} called turn.continueAs and did not return it: return turn.continueAs(…)`,
        );
      if (returned instanceof Continuation && continued) {
        const { name: next, operation: to, input: given } = returned.asked;
        await parseWith(to.input, copyJson(given), `the input of ${next}`);
        return { tell: () => continued(returned.asked) };
      }
      const checked = toJson(
        await this.#checkOutput({ name, operation, input }, returned),
        `what ${this.agent.name} returned`,
      );
      const answer = toHandlerResult(checked, { operation: name, transcript: this.transcript });
      const stored = await Promise.all(files.map((file) => storeFile(this, file)));
      const tell = (): void => {
        for (const file of stored) this.#publish(file);
        done(answer);
      };
      return { tell, output: answer.output };
    } catch (thrown) {
      return { tell: () => failed(thrown, false), thrown };
    }
  }

  /** Records a file of the result, in the commit of the result. */
  #publish(file: Artifact): void {
    if (!this.call.open) return;
    this.turn.recorder.event(this.speaker, { type: "ArtifactGenerated", ...toResultFile(file) });
    this.files.push(file);
  }

  /** Throws if the handler has returned while a question that its code does not await is open: its answer would be lost. */
  #checkAwaited(): void {
    for (const { keys } of this.#unawaited ?? []) {
      const what = `turn.waitForInput for ${keys.join(", ") || "an answer"}`;
      throw new Error(`${this.agent.kind} ${this.agent.name} ended without awaiting ${what}; await it`);
    }
  }

  async #checkOutput({ name, operation }: Invocation, returned: unknown): Promise<unknown> {
    // A chat can return a plain text, and every handler can return nothing if its texts are the answer.
    if (name === CHAT || operation.output === undefined || returned === undefined) return returned;
    try {
      return await parseWith(operation.output, returned, `what ${this.agent.name} returned`);
    } catch (cause) {
      throw new Error(errorMessage(cause), { cause });
    }
  }
}

const NEVER: AbortSignal = new AbortController().signal;

/** A handler that has ended: a function that reports its end, and what it returned or threw. */
interface PerformedHandler {
  readonly tell: () => void;
  readonly output?: Json;
  readonly thrown?: unknown;
}

/** An actor's memory, including the changes of this actor. */
interface ActorMemory extends Memory {
  /** The new value, which is kept if the actor succeeds; `undefined` if it is unchanged. */
  changed(): Json | undefined;
}

/**
 * The memory of an actor. The requested agent has its memory of the run. A called agent starts with an empty
 * memory that is not kept, unless its definition shares the memory of the run. `get` returns a copy, so that
 * changing it has no effect until it is set. With a schema, the log stores the value that was set, and `get`
 * returns the parsed value.
 */
function createMemory({ turn, agent, depth }: Pick<ActorContext, "turn" | "agent" | "depth">): ActorMemory {
  const kept = depth === 0 || agent.memory === "run";
  const { memorySchema: schema } = agent;
  const what = `the memory of ${agent.name}`;
  let changed: Json | undefined;

  function read(): Json | undefined {
    if (changed !== undefined) return changed;
    const before = turn.memory[agent.name];
    if (depth === 0) return before;
    return kept ? (turn.calls.staged.get(agent.name) ?? before) : undefined;
  }

  return {
    changed: () => (kept ? changed : undefined),
    get: () => parsedMemory(agent, read()),
    set(value) {
      if (schema) parseNow(schema, value, what);
      changed = toJson(value, what, turn.context.limits.memoryBytes);
    },
  };
}
