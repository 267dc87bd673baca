import { AgentError, isInstance } from "../../errors.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { Json } from "../../protocol/json.ts";
import type { Agent } from "../agent/agent.ts";
import { unsettled } from "../../shared/deferred.ts";
import {
  checkCallOptions,
  checkEffectOptions,
  toRestartPolicy,
  toRetryPolicy,
} from "../agent/call-options.ts";
import type { CallOptions, EffectOptions, RetryPolicy } from "../agent/call-options.ts";
import { toStrategy } from "../agent/definition/supervision.ts";
import type { RemoteActor } from "../agent/remote-port.ts";
import { toInvocation } from "../agent/resolve-operation.ts";
import type { Call, EffectContext } from "../agent/turn-api.ts";
import { checkName, toJson } from "../journal/json-limits.ts";
import { allSignature } from "../replay/signature.ts";
import type { Actor } from "./actor.ts";
import { callName } from "./call.ts";
import { ONLY, RetriedCall, agentAttempts, effectAttempts } from "./retry.ts";
import type { Attempt, MakeAttempt } from "./retry.ts";
import type { Sequence, Step, ToldResult } from "./sequence.ts";

/** Calls an operation of an agent or a tool; with `remoteActor`, of an actor on another server. */
export function call(
  sequence: Sequence,
  agent: Agent,
  operationName: string,
  input: unknown,
  options?: CallOptions,
  remoteActor?: RemoteActor,
): Call<Json> {
  const { actor } = sequence;
  if (options) checkCallOptions(options, actor.describe(`${agent.kind} ${agent.name}`));
  const timeoutMs = options?.timeoutMs ?? agent.callOptions?.timeoutMs;
  const retry = options?.retry ?? agent.callOptions?.retry;
  const { supervise } = actor.agent;
  const policy =
    supervise && agent.kind === "agent" && options?.retry === undefined
      ? toRestartPolicy(toStrategy(supervise))
      : toRetryPolicy(retry, agent.kind === "tool" ? agent.effect : "unsafe");
  let made: Attempt | undefined;
  let told: ToldResult = { text: "", files: [] };
  const called = (async (): Promise<Json> => {
    const args = toJson(input, `the input of ${agent.name}`);
    const asked = toInvocation(agent, operationName, args);
    const used = usedAs(actor, agent);
    const name = callName(used?.own ?? agent, operationName, used?.name);
    const make = agentAttempts(
      { name, args, agent, operationName, asked, timeoutMs, ...(remoteActor && { remoteActor }) },
      { agent: used?.name ?? agent.name, operation: operationName },
      (result) => {
        told = result;
      },
    );
    made = attempted(sequence, policy, make);
    return agent.kind === "agent" ? supervised(actor, made.result) : made.result;
  })();
  return toCall(called, {
    told: () => told,
    listen: () => followCall(sequence, made?.step),
    cancel: () => made?.cancel(),
  });
}

/** Runs an effect of the handler. */
export function effect(
  sequence: Sequence,
  name: string,
  perform: (context: EffectContext) => unknown,
  options: EffectOptions,
): Promise<Json> {
  checkName(name, "the name of an effect");
  checkEffectOptions(options, sequence.actor.describe(`effect ${name}`));
  const { effect: kind = "unsafe", timeoutMs, retry } = options;
  const make = effectAttempts({ name, args: {}, effect: kind, perform, timeoutMs });
  return attempted(sequence, toRetryPolicy(retry, kind), make).result;
}

/** Makes a call once, or again while its policy says so. */
export function attempted(sequence: Sequence, policy: RetryPolicy | undefined, make: MakeAttempt): Attempt {
  if (policy === undefined) return make(sequence, ONLY);
  return new RetriedCall(sequence.actor, sequence.begin(allSignature(1)), policy, make);
}

/** The result of an agent or an actor; if it has failed and the actor fails with it, there is none. */
export function supervised(actor: Actor, result: Promise<Json>): Promise<Json> {
  if (actor.agent.supervise?.then !== "escalate" || actor.isCleanup || actor.isStopped) return result;
  return result.catch((thrown: unknown) => {
    const isFailed = isInstance(thrown, AgentError) && thrown.callId !== undefined;
    if (!isFailed || thrown.code === "canceled") throw thrown;
    actor.escalate(thrown);
    return unsettled();
  });
}

/**
 * The name under which an actor uses an agent (`uses`), and the original definition of that agent; `undefined` if the
 * actor does not use it.
 */
export function usedAs(
  { agent: user, turn }: Actor,
  agent: Agent,
): { readonly name: string; readonly own: Agent } | undefined {
  const uses = turn.context.agents.usesOf(user);
  const name = Object.keys(uses).find((known) => uses[known] === agent);
  const own = name === undefined ? undefined : user.uses[name];
  return own && name !== undefined ? { name, own } : undefined;
}

/** Maximum unread events of a call, and maximum undelivered events of all calls of a turn. */
const EVENTS_LIMIT = 10_000;

/** The parts of a call besides its result. */
interface CallSources {
  /** The result as text and files, once there is one. */
  told(): ToldResult;
  /** Called when the code starts to iterate, in the same synchronous step as the call. */
  listen(): CallStream;
  /** Cancels the call, unless it has ended. */
  cancel(): void;
}

/** Creates the call object for the promise of its result. */
function toCall<Output>(result: Promise<Output>, { told, listen, cancel }: CallSources): Call<Output> {
  const afterwards = <Value>(read: () => Value): Promise<Value> => {
    const value = result.then(read);
    // Nobody has to await it, so its rejection must not end the process.
    value.catch(() => {});
    return value;
  };
  let isPast = false;
  queueMicrotask(() => {
    isPast = true;
  });
  return Object.assign(result, {
    cancel,
    text: () => afterwards(() => told().text),
    files: () => afterwards(() => told().files),
    [Symbol.asyncIterator]() {
      if (isPast) {
        throw new AgentError(
          "conflict",
          "iterate a call where it is made; its events are not available later",
        );
      }
      const events = listen();
      result.then(
        () => events.end(),
        (error: Error) => events.end({ error }),
      );
      return events;
    },
  });
}

/** Subscribes to the events of a new call; empty if the call failed to start. */
function followCall({ actor, scope }: Sequence, step: Step | undefined): CallStream {
  const events = new CallStream();
  if (step === undefined) return events;
  const { callId, logged } = step;
  const { turn } = actor;
  const { journal, recorder } = turn;
  if (!logged) recorder.record({ type: "Iterated", call_id: callId });
  else if (journal.calls.get(callId)?.isIterated !== true) {
    turn.diverge({ scope: scope.path, expected: `${callId} awaited`, actual: `${callId} iterated` });
  }
  turn.follow(callId, (event) => {
    if (turn.isRehearsed) return;
    if (!events.push(event)) {
      turn.fail(
        "overloaded",
        `${EVENTS_LIMIT} events of ${callId} were not read by the code that iterates the call`,
      );
    } else if (turn.deliveries.newEvents > EVENTS_LIMIT) {
      turn.fail(
        "overloaded",
        `more than ${EVENTS_LIMIT} events wait for the code that iterates ${callId}; await turn.text in what it calls`,
      );
    }
  });
  return events;
}

/** The events of a call for the code that made it: in the order of the log, then the end of the call. */
class CallStream implements AsyncIterator<Event, undefined> {
  #events: Event[] = [];
  #waiting: PromiseWithResolvers<IteratorResult<Event, undefined>>[] = [];
  #end: { readonly error?: Error } | undefined;

  /** Adds an event; returns false if too many are unread. */
  push(event: Event): boolean {
    if (this.#end) return true;
    const waiting = this.#waiting.shift();
    if (waiting) waiting.resolve({ done: false, value: event });
    else this.#events.push(event);
    return this.#events.length <= EVENTS_LIMIT;
  }

  /** Ends the iteration, normally or with an error. */
  end(end: { readonly error?: Error } = {}): void {
    this.#end ??= end;
    for (const waiting of this.#waiting) this.next().then(waiting.resolve, waiting.reject);
    this.#waiting = [];
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    const event = this.#events.shift();
    if (event) return Promise.resolve({ done: false, value: event });
    if (this.#end === undefined) {
      const waiting = Promise.withResolvers<IteratorResult<Event, undefined>>();
      this.#waiting.push(waiting);
      return waiting.promise;
    }
    const { error } = this.#end;
    // The iteration throws an error once, and is over afterwards.
    this.#end = {};
    return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    this.#events = [];
    this.end();
    return Promise.resolve(DONE);
  }
}

const DONE: IteratorResult<Event, undefined> = { done: true, value: undefined };
