import { AgentError } from "../../errors.ts";
import type { Json } from "../../protocol/json.ts";
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

  /** Throws `overloaded` when there is no room for another message. */
  checkRoom(bytes: number): void {
    const { unreadMessages, unreadBytes } = this.#limits;
    const count = this.#messages.length;
    const size = this.#messages.reduce((sum, message) => sum + message.bytes, bytes);
    if (count < unreadMessages && size <= unreadBytes) return;
    const limit = count < unreadMessages ? `${unreadBytes} bytes of` : String(unreadMessages);
    throw new AgentError("overloaded", `the run already has ${limit} unread messages`, {
      hint: "send the message again after the agent has read some",
      retryAfterS: 1,
    });
  }

  add(message: InboxMessage): void {
    this.#messages = [...this.#messages, message];
  }

  /** Removes and returns the oldest messages with one of some names, at most this many. */
  take(names: readonly string[], most: number): readonly InboxMessage[] {
    const taken = this.#messages.filter(({ name }) => names.includes(name)).slice(0, most);
    if (taken.length > 0) this.#messages = this.#messages.filter((message) => !taken.includes(message));
    return taken;
  }
}
