import type { Json } from "../../protocol/json.ts";
import type { Agent } from "../agent/agent.ts";
import { coalesceKey } from "../agent/coalesce-key.ts";
import { overloaded } from "../agent/overloaded.ts";
import type { Limits } from "../limits.ts";
import type { UnreadMessage } from "../replay/run-state.ts";

/** An unread message with its body. */
export interface InboxMessage extends UnreadMessage {
  readonly body: Json;
}

/** The unread messages of a run, oldest first. */
export class Inbox {
  readonly #limits: Limits;
  #messages: readonly InboxMessage[];

  constructor(limits: Limits, messages: readonly InboxMessage[] = []) {
    this.#limits = limits;
    this.#messages = messages;
  }

  /**
   * Makes room for another message, and returns the ids of those that it removes. Throws `overloaded` when there is none.
   * The agent of the run says what is removed.
   */
  makeRoom(
    { name, body, bytes }: Pick<InboxMessage, "name" | "body" | "bytes">,
    agent: Agent | undefined,
  ): readonly number[] {
    const { capacity = this.#limits.unreadMessages, full } = agent?.mailbox ?? {};
    const { unreadBytes } = this.#limits;
    const key = agent && coalesceKey(agent, name, body);
    const isReplaced = (one: InboxMessage): boolean =>
      agent !== undefined && one.name === name && coalesceKey(agent, name, one.body) === key;
    const dropped = key === undefined ? [] : this.#messages.filter(isReplaced);
    const left = this.#messages.filter((message) => !dropped.includes(message));
    let size = left.reduce((sum, message) => sum + message.bytes, bytes);
    while (left.length >= capacity || size > unreadBytes) {
      const oldest = full === "drop-oldest" ? left.shift() : undefined;
      if (oldest === undefined) {
        const limit = left.length < capacity ? `${unreadBytes} bytes of` : String(capacity);
        const hint = "send the message again after the agent has read some";
        throw overloaded(`the run already has ${limit} unread messages`, full === "refuse", hint);
      }
      dropped.push(oldest);
      size -= oldest.bytes;
    }
    this.#messages = left;
    return dropped.map(({ id }) => id);
  }

  add(message: InboxMessage): void {
    this.#messages = [...this.#messages, message];
  }

  /** The oldest message of which this is true. */
  find(isWanted: (message: InboxMessage) => boolean): InboxMessage | undefined {
    return this.#messages.find(isWanted);
  }

  /** Removes a message. */
  remove(taken: InboxMessage): void {
    this.#messages = this.#messages.filter((message) => message !== taken);
  }

  /** Removes and returns the oldest messages with one of some names, at most this many. */
  take(names: readonly string[], most: number): readonly InboxMessage[] {
    const taken = this.#messages.filter(({ name }) => names.includes(name)).slice(0, most);
    if (taken.length > 0) this.#messages = this.#messages.filter((message) => !taken.includes(message));
    return taken;
  }
}
