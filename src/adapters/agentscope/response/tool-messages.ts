import type { CallView } from "../../../view/run-view.ts";
import type { ContentBuilder } from "../builders/content.ts";
import type { MessageBuilder } from "../builders/message.ts";
import type { ResponseBuilder } from "../builders/response.ts";
import type { AgentScopeObject, ContentValue } from "../objects.ts";
import { endMessage } from "./end-message.ts";
import type { ResponseEnd } from "./end-message.ts";

/** The open output of a call. */
interface OpenOutput {
  readonly call: CallView;
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
export class ToolMessages {
  readonly #response: ResponseBuilder;
  readonly #components: boolean;
  readonly #open = new Map<string, OpenOutput>();

  /** With `components`, calls of agents are told apart from those of tools. */
  constructor(response: ResponseBuilder, components: boolean) {
    this.#response = response;
    this.#components = components;
  }

  call(call: CallView): AgentScopeObject[] {
    const message = this.#response.message({ type: this.#typeOf(call) });
    const { args, callee } = call;
    const data = {
      ...toNamed(call),
      arguments: JSON.stringify(args),
      ...(callee?.server !== undefined && { server_label: callee.server }),
    };
    return [message.inProgress(), message.addContent({ type: "data", data }), message.completed()];
  }

  /** Adds to the output of a call of the asked agent. */
  progress(call: CallView, text: string): AgentScopeObject[] {
    const objects: AgentScopeObject[] = [];
    const open = this.#opened(call, objects);
    open.text += text;
    if (open.text.length < open.sentLength * 1.25) return objects;
    open.sentLength = open.text.length;
    objects.push(open.content.inProgress(toOutput(call, open.text)));
    return objects;
  }

  /** Adds the result or the error of a call. */
  result(call: CallView): AgentScopeObject[] {
    const objects: AgentScopeObject[] = [];
    const { message, content } = this.#opened(call, objects);
    this.#open.delete(call.callId);
    const { outcome, text = "", error = "", errorCode } = call;
    objects.push(content.completed(toOutput(call, outcome === "success" ? text : error)));
    if (outcome === "success") objects.push(message.completed());
    else if (outcome === "canceled") objects.push(message.canceled());
    // It may have done what it was asked to do.
    else if (errorCode === "interrupted")
      objects.push(message.unknown({ code: "TOOL_OUTCOME_UNKNOWN", message: error }));
    else objects.push(message.failed({ code: "TOOL_EXECUTION_FAILED", message: error }));
    return objects;
  }

  closeAll(ending: ResponseEnd): AgentScopeObject[] {
    const objects = [...this.#open.values()].flatMap(({ call, message, content, text }) => [
      content.completed(toOutput(call, text)),
      endMessage(message, ending),
    ]);
    this.#open.clear();
    return objects;
  }

  #opened(call: CallView, objects: AgentScopeObject[]): OpenOutput {
    const known = this.#open.get(call.callId);
    if (known !== undefined) return known;
    const message = this.#response.message({ type: `${this.#typeOf(call)}_output`, role: "tool" });
    objects.push(message.inProgress());
    const open = {
      call,
      message,
      content: message.content({ type: "data", data: {} }),
      text: "",
      sentLength: 0,
    };
    this.#open.set(call.callId, open);
    return open;
  }

  /** What a call is in the words of the protocol. */
  #typeOf({ kind, callee }: CallView): "plugin_call" | "mcp_call" | "component_call" {
    if (kind === "tool") return callee?.server === undefined ? "plugin_call" : "mcp_call";
    return this.#components && (kind === "agent" || kind === "remote" || kind === "actor")
      ? "component_call"
      : "plugin_call";
  }
}

function toOutput(call: CallView, output: string): ContentValue {
  return { type: "data", data: { ...toNamed(call), output } };
}

function toNamed({ callId, functionName = "" }: CallView): {
  readonly call_id: string;
  readonly name: string;
} {
  return { call_id: callId, name: functionName };
}
