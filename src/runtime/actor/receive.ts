import { AgentError } from "../../errors.ts";
import { LAST_TIME_MS } from "../../protocol/ids.ts";
import type { CallId } from "../../protocol/ids.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import type { Schema } from "../agent/agent.ts";
import { parseNow } from "../agent/definition/schema.ts";
import type { ReceiveOptions } from "../agent/turn-api.ts";
import { checkName } from "../journal/json-limits.ts";
import { namesOf } from "../journal/records.ts";
import type { AwaitedMessage } from "../journal/records.ts";
import { receiveSignature, unreadSignature } from "../replay/signature.ts";
import { endSelect, expireReceive, receiveNext, takeUnread } from "../turn/turn-messages.ts";
import type { Actor } from "./actor.ts";
import { openCall } from "./call.ts";
import type { Sequence } from "./sequence.ts";

/** A wait for a message: a promise of it, which can be canceled. */
export class MessageWait extends Promise<unknown> {
  /** Ends the wait, unless it has ended. */
  cancel: () => void = () => {};

  /** `then` and `catch` make plain promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }
}

/** What `turn.receive.of` makes: messages that an entry of a select waits for. */
export class SelectedMessages {
  readonly names: readonly string[];
  /** Whether the code named a list, so that it gets the name with the body. */
  readonly isList: boolean;

  constructor(asked: string | readonly string[]) {
    this.names = toNames(asked, "turn.receive.of");
    this.isList = typeof asked !== "string";
  }
}

/** Takes the oldest unread message with one of some names, or waits for one; `undefined` if none came in time. */
export function receiveMessage(
  sequence: Sequence,
  asked: string | readonly string[],
  options: ReceiveOptions = {},
): MessageWait {
  const { resolve, reject, promise } = MessageWait.withResolvers<unknown>();
  const received = promise as MessageWait;
  const began = (callId: CallId): void => {
    received.cancel = () => {
      const { call, turn } = sequence.actor;
      const open = call.child(callId);
      if (open) turn.calls.wakeCanceled(open);
    };
  };
  receive(sequence, asked, options, began).then(resolve, reject);
  return received;
}

async function receive(
  sequence: Sequence,
  asked: string | readonly string[],
  { timeoutMs }: ReceiveOptions,
  began: (callId: CallId) => void,
): Promise<unknown> {
  const { actor } = sequence;
  checkRequested(actor);
  const isList = typeof asked !== "string";
  const names = toNames(asked, "turn.receive");
  const schemas = schemasOf(actor, names);
  checkTimeout(timeoutMs, "turn.receive");
  const wanted: AwaitedMessage = isList ? { names } : { name: asked };
  const given = await sequence.issue(receiveSignature(wanted), (step) => {
    waitFor(actor, step, wanted, timeoutMs);
    began(step.callId);
  });
  return toMessage(given, names, schemas, isList);
}

/** Takes all unread messages with a name. */
export function receivedMessages(sequence: Sequence, name: string): readonly unknown[] {
  const { actor } = sequence;
  if (actor.depth > 0) return [];
  const [schema] = schemasOf(actor, [name]);
  return sequence
    .take(unreadSignature(name), (callId) => takeUnread(actor.turn, callId, name))
    .map((body) => parseMessage(schema, body, name));
}

/**
 * Waits for the first of several entries: a message, or the end of a promise. It is one wait for all messages, so that no
 * message is taken that the code does not get.
 */
export async function select(
  sequence: Sequence,
  entries: { readonly [entry: string]: unknown },
  { timeoutMs }: ReceiveOptions = {},
): Promise<unknown> {
  const { actor } = sequence;
  const { of, messages, promises } = toEntries(entries);
  const names = namesOf({ of });
  if (names.length > 0) checkRequested(actor);
  const schemas = schemasOf(actor, names);
  checkTimeout(timeoutMs, "turn.select");
  const wanted = { of };
  const given = await sequence.issue(receiveSignature(wanted), (step) => {
    waitFor(actor, step, wanted, timeoutMs);
    for (const [entry, promise] of promises) {
      const ended = (): void => {
        const open = actor.call.child(step.callId);
        if (open) endSelect(actor.turn, open, entry);
      };
      promise.then(ended, ended);
    }
  });
  if (!Array.isArray(given)) {
    const { first: name } = given as { readonly first: string };
    return { name, value: await promises.get(name) };
  }
  const [, from] = given as readonly Json[];
  for (const [name, entry] of messages) {
    if (!entry.names.includes(from as string)) continue;
    return { name, value: toMessage(given, names, schemas, entry.isList) };
  }
  return undefined;
}

interface SelectEntries {
  /** The entries as the log has them. */
  readonly of: { readonly [entry: string]: readonly string[] | null };
  readonly messages: ReadonlyMap<string, SelectedMessages>;
  readonly promises: ReadonlyMap<string, PromiseLike<unknown>>;
}

function toEntries(entries: { readonly [entry: string]: unknown }): SelectEntries {
  if (typeof entries !== "object" || entries === null || Object.keys(entries).length === 0)
    throw new TypeError("turn.select needs an object with an entry for each thing that may come first");
  const of: Record<string, readonly string[] | null> = {};
  const messages = new Map<string, SelectedMessages>();
  const promises = new Map<string, PromiseLike<unknown>>();
  const known = new Set<string>();
  for (const [name, entry] of Object.entries(entries)) {
    checkName(name, "the name of an entry of turn.select");
    if (entry instanceof SelectedMessages) {
      for (const message of entry.names) {
        if (known.has(message)) throw new TypeError(`turn.select has two entries for message ${message}`);
        known.add(message);
      }
      messages.set(name, entry);
      of[name] = entry.names;
      continue;
    }
    if (entry instanceof MessageWait)
      throw new TypeError(`entry ${name} of turn.select waits already: use turn.receive.of`);
    if (typeof (entry as PromiseLike<unknown> | undefined)?.then !== "function")
      throw new TypeError(`entry ${name} of turn.select must be a promise, or turn.receive.of`);
    promises.set(name, entry as PromiseLike<unknown>);
    of[name] = null;
  }
  return { of, messages, promises };
}

/** The message that a wait has ended with, as the code gets it; `undefined` if its time was over. */
function toMessage(
  given: Json,
  names: readonly string[],
  schemas: readonly Schema<unknown>[],
  isList: boolean,
): unknown {
  const [body, from] = given as readonly Json[];
  if (body === undefined) return undefined;
  const name = typeof from === "string" ? from : (names[0] ?? "");
  const parsed = parseMessage(schemas[names.indexOf(name)], body, name);
  return isList ? { name, body: parsed } : parsed;
}

function parseMessage(schema: Schema<unknown> | undefined, body: Json, name: string): unknown {
  return schema === undefined ? body : parseNow(schema, copyJson(body), `message ${name}`);
}

function toNames(asked: string | readonly string[], what: string): readonly string[] {
  const names = typeof asked === "string" ? [asked] : [...asked];
  if (names.length === 0) throw new TypeError(`${what} needs at least one name`);
  if (new Set(names).size < names.length) throw new TypeError(`${what} has a name twice`);
  return names;
}

/** The schemas of messages that an agent reads; throws if the agent does not declare one of them. */
function schemasOf({ agent }: Actor, names: readonly string[]): readonly Schema<unknown>[] {
  const { messages = {} } = agent;
  return names.map((name) => {
    const schema = Object.hasOwn(messages, name) ? messages[name] : undefined;
    if (schema !== undefined) return schema;
    const declared = Object.keys(messages);
    throw new AgentError("not_found", `agent ${agent.name} declares no message ${name}`, {
      hint: declared.length === 0 ? "declare it in messages" : `its messages: ${declared.join(", ")}`,
    });
  });
}

/** Throws for a called agent: the messages of a run are for the agent of the run. */
function checkRequested({ agent, depth }: Actor): void {
  if (depth === 0) return;
  throw new AgentError(
    "conflict",
    `agent ${agent.name} was called by another agent, so it has no messages; only the requested agent can use turn.receive`,
  );
}

/** Throws unless the time limit of a wait for a message is a number of milliseconds. */
function checkTimeout(timeoutMs: number | undefined, what: string): void {
  if (timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs >= 0)) return;
  throw new TypeError(`the timeoutMs of ${what} must be milliseconds, 0 or more`);
}

/**
 * Gives an actor the oldest unread message, or waits for one. A restart does not reset the time limit; as with a sleep,
 * a clock that was set back does not extend it.
 */
function waitFor(
  caller: Actor,
  { callId, logged }: { readonly callId: CallId; readonly logged: boolean },
  wanted: AwaitedMessage,
  timeoutMs: number = Infinity,
): void {
  const { turn } = caller;
  const { recorder, journal } = turn;
  const { environment } = turn.context;
  const now = environment.now();
  const loggedUntil = journal.calls.get(callId)?.wakeAt ?? Infinity;
  const until = Math.min(loggedUntil, now + timeoutMs, timeoutMs < Infinity ? LAST_TIME_MS : Infinity);
  const end = until < Infinity ? { until } : {};
  let stop = (): void => {};
  const open = openCall(caller, { callId, name: "receive", args: null, logged }, "receive", () => stop());
  if (!logged || until < loggedUntil)
    recorder.record({ type: "Receive", call_id: callId, ...wanted, ...end });
  const names = namesOf(wanted);
  if (names.length > 0) receiveNext(turn, open, { kind: "message", names, ...end });
  // A select of promises alone waits for nothing outside, except for its time.
  else if (until < Infinity) turn.slept(open, until);
  if (until === Infinity || !open.open || turn.ended) return;
  stop = environment.alarm(until, () => {
    if (turn.calls.accepts(open)) expireReceive(turn, open);
  });
}
