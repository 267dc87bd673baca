import { AgentError } from "../../../errors.ts";
import type { Json } from "../../../protocol/json.ts";
import { isObject } from "../../../protocol/json.ts";

/**
 * Compares the inputs of two waiting requests: below 0 if the first one comes before the second, above 0 if after it. It gets
 * the inputs as they were sent, and must always give the same result for two of them.
 */
export type RequestOrder = {
  // A method, so that a function with more exact types of its inputs can be given.
  compare(one: Json, other: Json): number;
}["compare"];

/** How the requests and messages of an actor wait for it. */
export interface MailboxOptions {
  /**
   * Which waiting request is next: the oldest one (`fifo`, default), or that with the smallest value in a field of its
   * input, with `descending` the largest, or the first one by a function of two inputs. Requests without the field come last;
   * where the function throws or gives no number, the older one comes first. An operation with a higher `priority` comes before
   * all others.
   */
  readonly order?: "fifo" | { readonly by: string; readonly descending?: boolean } | RequestOrder;
  /**
   * The most requests that wait, and the most unread messages. Default: those of the runtime's limits, which count the
   * requests of clients and of actors apart.
   */
  readonly capacity?: number;
  /**
   * What happens to one more: it waits for room up to a minute (`wait`), it is refused with `overloaded` (`refuse`), or it
   * takes the place of the oldest one, which ends with `overloaded` (`drop-oldest`). Default: requests of actors wait, those
   * of clients are refused.
   */
  readonly full?: "wait" | "refuse" | "drop-oldest";
  /**
   * Gives the key of a request or a message from its input and its name: of several waiting ones with the same name and key
   * only the newest is kept, and the ones before end with `canceled`. `undefined` keeps all. It must give the same key each
   * time.
   */
  readonly coalesce?: (input: Json, name: string) => string | undefined;
}

/** Throws `invalid_request` for a mailbox that is not one; `agent` is the agent that it belongs to. */
export function checkMailbox(value: unknown, agent: string): void {
  const refuse = (fact: string): AgentError =>
    new AgentError("invalid_request", `the mailbox of agent ${agent} ${fact}`);
  if (!isObject(value)) throw refuse("is not an object");
  const { order, capacity, full, coalesce, ...others } = value as Record<string, unknown>;
  const unknown = Object.keys(others);
  if (unknown.length > 0)
    throw refuse(`has an option ${unknown.join(", ")}; it takes order, capacity, full and coalesce`);
  if (order !== undefined && order !== "fifo" && typeof order !== "function" && !isField(order))
    throw refuse(
      `has the order ${JSON.stringify(order)}; use "fifo", { by: "field" } or a function of two inputs`,
    );
  if (capacity !== undefined && !(Number.isSafeInteger(capacity) && (capacity as number) > 0))
    throw refuse("needs a capacity of 1 or more");
  if (full !== undefined && full !== "wait" && full !== "refuse" && full !== "drop-oldest")
    throw refuse(`has the value ${JSON.stringify(full)} for full; use "wait", "refuse" or "drop-oldest"`);
  if (coalesce !== undefined && typeof coalesce !== "function")
    throw refuse("has a coalesce that is no function");
}

function isField(order: unknown): boolean {
  const { by, descending } = Object(order) as { readonly by?: unknown; readonly descending?: unknown };
  return typeof by === "string" && by !== "" && (descending === undefined || typeof descending === "boolean");
}
