import type { Usage } from "../../../protocol/events/outcome-codes.ts";
import type { CallView } from "../../../view/run-view.ts";
import type { ContentBuilder } from "../builders/content.ts";
import type { MessageBuilder } from "../builders/message.ts";
import type { ResponseBuilder } from "../builders/response.ts";
import type { AgentScopeObject, ObjectError, UsageObject } from "../objects.ts";
import { endMessage } from "./end-message.ts";
import type { ResponseEnd } from "./end-message.ts";

/** What a message with text is made of. */
type Kind = "message" | "reasoning";

/** An open message with one text. */
interface OpenText {
  readonly message: MessageBuilder;
  readonly content: ContentBuilder;
}

/**
 * The messages with text of one response. Each completion has messages of its own, because parallel completions write
 * at the same time and a repeated one replaces only its own text.
 */
export class TextMessages {
  readonly #response: ResponseBuilder;
  readonly #open = new Map<string, OpenText>();
  /** The ended thoughts of each running completion. */
  readonly #thoughts = new Map<string, MessageBuilder>();
  /** The messages with what the agent says. */
  #said: MessageBuilder[] = [];

  constructor(response: ResponseBuilder) {
    this.#response = response;
  }

  /** What the agent has said in the response; undefined for nothing. */
  get said(): string | undefined {
    return this.#said.length === 0 ? undefined : this.#said.map((message) => message.textContent()).join("");
  }

  /** Adds a text. */
  add(text: string, kind: Kind, callId: string | undefined): AgentScopeObject[] {
    const objects: AgentScopeObject[] = [];
    const key = keyOf(kind, callId);
    let open = this.#open.get(key);
    if (open === undefined) {
      // The thoughts of a completion end where its text begins.
      if (kind === "message" && callId !== undefined) objects.push(...this.#closeThoughts(callId));
      const message = this.#response.message({ type: kind });
      objects.push(message.inProgress());
      open = { message, content: message.content({ type: "text", text: "" }) };
      this.#open.set(key, open);
      if (kind === "message") this.#said.push(message);
    }
    objects.push(open.content.addDelta({ type: "text", text }));
    return objects;
  }

  /** Ends the agent's own text, because something else follows it. */
  closeOwn(): AgentScopeObject[] {
    return this.#close(keyOf("message", undefined));
  }

  /** Ends the messages of a completion; the last one has its usage. */
  closeCompletion({ callId, usage: used = {} }: CallView): AgentScopeObject[] {
    const usage = toUsageObject(used);
    this.#thoughts.delete(callId);
    const text = this.#open.has(keyOf("message", callId));
    return [
      ...this.#close(keyOf("reasoning", callId), text ? null : usage),
      ...this.#close(keyOf("message", callId), usage),
    ];
  }

  /** Ends the messages of a completion that is repeated, and leaves them out of the output. */
  withdraw(callId: string): AgentScopeObject[] {
    const thoughts = this.#thoughts.get(callId);
    if (thoughts !== undefined) this.#response.withdraw(thoughts);
    this.#thoughts.delete(callId);
    return [keyOf("reasoning", callId), keyOf("message", callId)].flatMap((key) => {
      const open = this.#open.get(key);
      if (open === undefined) return [];
      this.#open.delete(key);
      const objects = [open.content.completed(), open.message.failed(REPEATED)];
      this.#response.withdraw(open.message);
      this.#said = this.#said.filter((message) => message !== open.message);
      return objects;
    });
  }

  closeAll(ending: ResponseEnd): AgentScopeObject[] {
    const objects = [...this.#open.values()].flatMap(({ message, content }) => [
      content.completed(),
      endMessage(message, ending),
    ]);
    this.#open.clear();
    return objects;
  }

  #closeThoughts(callId: string): AgentScopeObject[] {
    const key = keyOf("reasoning", callId);
    const message = this.#open.get(key)?.message;
    if (message !== undefined) this.#thoughts.set(callId, message);
    return this.#close(key);
  }

  #close(key: string, usage: UsageObject | null = null): AgentScopeObject[] {
    const open = this.#open.get(key);
    if (open === undefined) return [];
    this.#open.delete(key);
    return [open.content.completed(), open.message.completed(usage)];
  }
}

const REPEATED: ObjectError = {
  code: "MODEL_EXECUTION_FAILED",
  message: "the completion was interrupted and is repeated",
};

function keyOf(kind: Kind, callId: string | undefined): string {
  return callId === undefined ? kind : `${kind} ${callId}`;
}

/** The usage of completions; null if their models report none. */
export function toUsageObject(usage: Usage): UsageObject | null {
  return Object.keys(usage).length === 0 ? null : { ...usage };
}
