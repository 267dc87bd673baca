import type { Event } from "../../../protocol/events/events.ts";
import type { ContentBuilder } from "../builders/content.ts";
import type { MessageBuilder } from "../builders/message.ts";
import type { ResponseBuilder } from "../builders/response.ts";
import type { AgentScopeObject, ContentValue } from "../objects.ts";
import { endMessage } from "./end-message.ts";
import type { Ending } from "./end-message.ts";

type EventOf<Type extends Event["type"]> = Extract<Event, { readonly type: Type }>;

/** The calls of one turn by their ids. A call inside another call has the outermost one as its root. */
export class Calls {
  readonly #roots = new Map<string, { readonly callId: string; readonly name: string }>();

  /** Registers a call. Returns false for one that is known, which a restart made again. */
  add({ tool_call_id: callId, function_name: name, parent_call_id: parent }: EventOf<"ToolCall">): boolean {
    if (this.#roots.has(callId)) return false;
    const root = parent === undefined ? undefined : this.#roots.get(parent);
    this.#roots.set(callId, root ?? { callId, name });
    return true;
  }

  /** The call of the asked agent under which something happened. */
  rootOf(callId: string): { readonly callId: string; readonly name: string } {
    return this.#roots.get(callId) ?? { callId, name: "" };
  }
}

/** The open output of a call. */
interface OpenOutput {
  readonly message: MessageBuilder;
  readonly content: ContentBuilder;
  text: string;
  /** The length of the text that was last sent. */
  sentLength: number;
}

/**
 * The messages of the tool calls of one response. What a called agent or tool says on the way is the growing output of
 * the call. Each of its objects repeats the whole output, so one is sent when the output has grown by a quarter; the
 * bytes of all are then at most five times those of the last.
 */
export class Tools {
  readonly #response: ResponseBuilder;
  readonly #calls: Calls;
  readonly #open = new Map<string, OpenOutput>();

  constructor(response: ResponseBuilder, calls: Calls) {
    this.#response = response;
    this.#calls = calls;
  }

  call({ tool_call_id, function_name, args }: EventOf<"ToolCall">): AgentScopeObject[] {
    const message = this.#response.message({ type: "plugin_call" });
    const data = { call_id: tool_call_id, name: function_name, arguments: JSON.stringify(args) };
    return [message.inProgress(), message.addContent({ type: "data", data }), message.completed()];
  }

  /** Adds to the output of the call under which a text was said. */
  progress(callId: string, text: string): AgentScopeObject[] {
    const root = this.#calls.rootOf(callId);
    const objects: AgentScopeObject[] = [];
    const open = this.#opened(root.callId, objects);
    open.text += text;
    if (open.text.length < open.sentLength * 1.25) return objects;
    open.sentLength = open.text.length;
    objects.push(open.content.inProgress(toOutput(root, open.text)));
    return objects;
  }

  result({ tool_call_id, function_name, text_result }: EventOf<"ToolResult">): AgentScopeObject[] {
    const objects: AgentScopeObject[] = [];
    const { message, content } = this.#taken(tool_call_id, objects);
    const value = toOutput({ callId: tool_call_id, name: function_name }, text_result);
    objects.push(content.completed(value), message.completed());
    return objects;
  }

  error({ tool_call_id, function_name, content: text, code }: EventOf<"ToolError">): AgentScopeObject[] {
    const objects: AgentScopeObject[] = [];
    const { message, content } = this.#taken(tool_call_id, objects);
    const value = toOutput({ callId: tool_call_id, name: function_name }, text);
    const error = { code: "TOOL_EXECUTION_FAILED", message: text };
    objects.push(content.completed(value), code === "canceled" ? message.canceled() : message.failed(error));
    return objects;
  }

  closeAll(ending: Ending): AgentScopeObject[] {
    const objects = [...this.#open].flatMap(([callId, { message, content, text }]) => [
      content.completed(toOutput(this.#calls.rootOf(callId), text)),
      endMessage(message, ending),
    ]);
    this.#open.clear();
    return objects;
  }

  #taken(callId: string, objects: AgentScopeObject[]): OpenOutput {
    const open = this.#opened(callId, objects);
    this.#open.delete(callId);
    return open;
  }

  #opened(callId: string, objects: AgentScopeObject[]): OpenOutput {
    const known = this.#open.get(callId);
    if (known !== undefined) return known;
    const message = this.#response.message({ type: "plugin_call_output", role: "tool" });
    objects.push(message.inProgress());
    const open = { message, content: message.content({ type: "data", data: {} }), text: "", sentLength: 0 };
    this.#open.set(callId, open);
    return open;
  }
}

function toOutput(
  { callId, name }: { readonly callId: string; readonly name: string },
  output: string,
): ContentValue {
  return { type: "data", data: { call_id: callId, name, output } };
}
