import type { ModelPart } from "../../ports/model.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { byteLength, cut, EVENT_LIMIT_BYTES } from "../journal/json-limits.ts";
import type { Recorder } from "../journal/recorder.ts";

/** The most bytes of what the provider was asked or has found; the next prompt has more of it. */
const VALUE_LIMIT_BYTES = EVENT_LIMIT_BYTES / 4;

/**
 * Shows the calls of tools that the provider of a model makes itself while it answers, as a search of the web. They are events
 * like those of other calls, and nothing here runs them: what the model has found is in its answer.
 */
export class ProviderTools {
  readonly #recorder: Recorder;
  readonly #speaker: Speaker;
  readonly #prefix: string;
  /** The calls without a result, by the ids of the provider. */
  readonly #open = new Map<string, { readonly callId: CallId; readonly name: string }>();
  #made = 0;

  constructor(
    recorder: Recorder,
    speaker: Speaker,
    { call_id: callId, attempt }: { readonly call_id: CallId; readonly attempt: number },
  ) {
    this.#recorder = recorder;
    this.#speaker = speaker;
    // A later attempt makes calls of its own.
    this.#prefix = attempt === 1 ? callId : `${callId}:${attempt}`;
  }

  add(part: ModelPart & { readonly type: "tool-call" | "tool-result" }): void {
    if (part.type === "tool-call") {
      const { id, name, input } = part;
      this.#made += 1;
      const callId = `${this.#prefix}.${this.#made}` as CallId;
      this.#open.set(id, { callId, name });
      this.#recorder.event(this.#speaker, {
        type: "ToolCall",
        function_name: name,
        args: toShown(input).value,
        tool_call_id: callId,
        provider_executed: true,
      });
      return;
    }
    const call = this.#open.get(part.id);
    if (call === undefined) return;
    this.#open.delete(part.id);
    const { value, text } = toShown(part.result);
    if (part.isError === true) this.#fail(call, text);
    else {
      this.#recorder.event(this.#speaker, {
        type: "ToolResult",
        function_name: call.name,
        text_result: text,
        result: value,
        tool_call_id: call.callId,
        provider_executed: true,
      });
    }
  }

  /** Ends the calls that have no result: the attempt is over. */
  close(): void {
    for (const call of this.#open.values()) this.#fail(call, "the answer ended before its result");
    this.#open.clear();
  }

  #fail({ callId, name }: { readonly callId: CallId; readonly name: string }, content: string): void {
    this.#recorder.event(this.#speaker, {
      type: "ToolError",
      function_name: name,
      content,
      code: "tool_error",
      tool_call_id: callId,
      provider_executed: true,
    });
  }
}

/** A value as its event has it, and as a text: one that is too large is cut. */
function toShown(value: unknown): { readonly value: Json; readonly text: string } {
  // Providers give values that are no JSON here and there.
  const json = (JSON.stringify(value) as string | undefined) ?? "null";
  const text = typeof value === "string" ? value : json;
  if (byteLength(json) <= VALUE_LIMIT_BYTES) return { value: JSON.parse(json) as Json, text };
  const shown = cut(text, VALUE_LIMIT_BYTES);
  return { value: shown, text: shown };
}
