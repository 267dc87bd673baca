import { copyJson } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import { CHAT } from "../agent/agent.ts";
import type { Agent } from "../agent/agent.ts";
import { coalesceKey } from "../agent/coalesce-key.ts";
import type { RequestOrder } from "../agent/definition/mailbox.ts";
import { overloaded } from "../agent/overloaded.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import type { Limits } from "../limits.ts";

/** Finds the agent of a request as it is served now. */
export type FindAgent = (name: string) => Agent | undefined;

/** A waiting request that a new one removes, and why. */
export interface Removed {
  readonly accepted: AcceptedRequest;
  /** `replaced`: the new one has its key; `dropped`: the mailbox is full. */
  readonly why: "replaced" | "dropped";
}

/** Holds the requests of one run until the run is ready for the next one. The agent of the run says how. */
export class Mailbox {
  readonly #limits: Limits;
  readonly #find: FindAgent;
  readonly #items: AcceptedRequest[] = [];
  /** The requests that come before all others; created with the first. */
  #first: Set<AcceptedRequest> | undefined;

  constructor(limits: Limits, find: FindAgent) {
    this.#limits = limits;
    this.#find = find;
  }

  get size(): number {
    return this.#items.length;
  }

  /** The oldest items, at most so many. */
  first(count: number): ReadonlySet<AcceptedRequest> {
    return new Set(this.#items.slice(0, count));
  }

  /**
   * Makes room for a request, and returns those that it removes. Throws `overloaded` when there is none. Without a capacity
   * in its definition, clients and actors do not take each other's room.
   */
  makeRoom(request: AcceptedRequest): readonly Removed[] {
    const { capacity, full } = this.#find(request.agent)?.mailbox ?? {};
    const replaced = this.#replaced(request);
    const left = this.#items.filter((item) => !replaced.includes(item));
    const isOfActor = isFromActor(request);
    const { queuedRequests, queuedActorRequests, queuedBytes } = this.#limits;
    const limit = capacity ?? (isOfActor ? queuedActorRequests : queuedRequests);
    const alike = capacity === undefined ? left.filter((item) => isFromActor(item) === isOfActor) : left;
    const excess = alike.length - limit + 1;
    if (excess > 0 && full !== "drop-oldest") {
      const whose = isOfActor && capacity === undefined ? "queued requests of actors" : "queued requests";
      throw overloaded(`the run already has ${limit} ${whose}`, full === "refuse");
    }
    const dropped = excess > 0 ? alike.slice(0, excess) : [];
    const kept = left.filter((item) => !dropped.includes(item));
    let bytes = kept.reduce((sum, item) => sum + sizeOf(item), sizeOf(request));
    while (bytes > queuedBytes) {
      const oldest = full === "drop-oldest" ? kept.shift() : undefined;
      if (oldest === undefined)
        throw overloaded(
          `the queued requests of the run have more than ${queuedBytes} bytes`,
          full === "refuse",
        );
      bytes -= sizeOf(oldest);
      dropped.push(oldest);
    }
    for (const item of [...replaced, ...dropped]) this.remove((each) => each === item);
    return [
      ...replaced.map((accepted) => ({ accepted, why: "replaced" }) as const),
      ...dropped.map((accepted) => ({ accepted, why: "dropped" }) as const),
    ];
  }

  /** Adds an item at the end. */
  post(item: AcceptedRequest): void {
    this.#items.push(item);
  }

  /** Adds an item that comes before all others, even if the mailbox is full. */
  postFirst(item: AcceptedRequest): void {
    (this.#first ??= new Set()).add(item);
    this.#items.unshift(item);
  }

  /** Removes and returns the next item, or `undefined` when there is none. */
  take(): AcceptedRequest | undefined {
    const [oldest] = this.#items;
    if (oldest === undefined) return undefined;
    let next = oldest;
    if (this.#first?.delete(oldest) !== true) {
      const agent = this.#find(oldest.agent);
      if (agent !== undefined && hasOrder(agent))
        for (const item of this.#items) if (isBefore(agent, item, next)) next = item;
    }
    return this.remove((item) => item === next);
  }

  /** Removes and returns the first item that matches. */
  remove(fits: (item: AcceptedRequest) => boolean): AcceptedRequest | undefined {
    // A mailbox has few items, so removing one from the array is cheap.
    const at = this.#items.findIndex(fits);
    const removed = at < 0 ? undefined : this.#items.splice(at, 1)[0];
    if (removed !== undefined) this.#first?.delete(removed);
    return removed;
  }

  /** The waiting requests that a new one replaces. */
  #replaced(request: AcceptedRequest): readonly AcceptedRequest[] {
    const agent = this.#find(request.agent);
    if (agent?.mailbox?.coalesce === undefined) return [];
    const key = keyOf(agent, request);
    return key === undefined ? [] : this.#items.filter((item) => keyOf(agent, item) === key);
  }
}

/** Whether an actor of this server sent a request. */
export function isFromActor({ sender }: AcceptedRequest): boolean {
  return sender !== undefined && sender.server === undefined;
}

/** The name of the operation that a request is for. */
function operationOf({ request }: AcceptedRequest): string {
  return request.type === "ChatRequest" ? CHAT : request.operation;
}

/** What makes a request equal to another one, so that it replaces it. */
function keyOf(agent: Agent, accepted: AcceptedRequest): string | undefined {
  const name = operationOf(accepted);
  const key = coalesceKey(agent, name, accepted.request.input);
  return key === undefined ? undefined : `${name} ${key}`;
}

/** Whether the oldest request is not always the next one. */
function hasOrder({ mailbox, operations }: Agent): boolean {
  const isByInput = mailbox?.order !== undefined && mailbox.order !== "fifo";
  return isByInput || Object.values(operations).some(({ priority }) => priority !== undefined);
}

/** Whether a request comes before an older one. */
function isBefore({ mailbox, operations }: Agent, item: AcceptedRequest, older: AcceptedRequest): boolean {
  const priorityOf = (one: AcceptedRequest): number => {
    const name = operationOf(one);
    return (Object.hasOwn(operations, name) ? operations[name]?.priority : undefined) ?? 0;
  };
  const higher = priorityOf(item) - priorityOf(older);
  if (higher !== 0) return higher > 0;
  const { order = "fifo" } = mailbox ?? {};
  if (order === "fifo") return false;
  if (typeof order === "function") return compareInputs(order, item, older) < 0;
  const compared = compare(fieldOf(item, order.by), fieldOf(older, order.by), order.descending === true);
  return compared < 0;
}

/** Compares by the function of an agent, which must not change what it compares. */
function compareInputs(order: RequestOrder, one: AcceptedRequest, other: AcceptedRequest): number {
  try {
    const compared: unknown = order(inputOf(one), inputOf(other));
    return typeof compared === "number" ? compared : 0;
  } catch {
    return 0;
  }
}

/** A copy of the input of a request, made once. */
function inputOf(item: AcceptedRequest): Json {
  const known = INPUTS.get(item);
  if (known !== undefined) return known;
  const input = copyJson(item.request.input);
  INPUTS.set(item, input);
  return input;
}

const INPUTS = new WeakMap<AcceptedRequest, Json>();

function fieldOf({ request: { input } }: AcceptedRequest, field: string): Json | undefined {
  const isFields = typeof input === "object" && input !== null && !Array.isArray(input);
  return isFields && Object.hasOwn(input, field)
    ? (input as { readonly [name: string]: Json })[field]
    : undefined;
}

/** Numbers come before texts, and both before everything else, which has no order. */
function compare(one: Json | undefined, other: Json | undefined, descending: boolean): number {
  const ranks = rankOf(one) - rankOf(other);
  if (ranks !== 0) return ranks;
  if (one === other || rankOf(one) === UNORDERED) return 0;
  const isLess = (one as number | string) < (other as number | string);
  return isLess === descending ? 1 : -1;
}

function rankOf(value: Json | undefined): number {
  return typeof value === "number" ? 0 : typeof value === "string" ? 1 : UNORDERED;
}

const UNORDERED = 2;

/** The approximate size of a request in bytes, cached because it is needed for each later request. */
function sizeOf(item: AcceptedRequest): number {
  const known = SIZES.get(item);
  if (known !== undefined) return known;
  const size = JSON.stringify(item.request.input).length;
  SIZES.set(item, size);
  return size;
}

const SIZES = new WeakMap<AcceptedRequest, number>();
