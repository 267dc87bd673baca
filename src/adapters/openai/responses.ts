import type {
  Response as ResponseObject,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseStreamEvent,
  ResponseUsage,
} from "openai/resources/responses/responses";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { CallId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { CallView, TextPart, WaitView } from "../../view/run-view.ts";
import { SegmentFold } from "../../view/segment-fold.ts";
import type { SegmentChange, SegmentEnd } from "../../view/segment-fold.ts";
import { approvalKeyOf, toQuestion } from "../../view/to-answer.ts";
import { toLink } from "./chat.ts";
import { toModelName } from "./models.ts";
import { toAnswerId, toItemId } from "./place.ts";
import type { AnswerPlace } from "./place.ts";
import { toToolCall } from "./tools.ts";

/** A response as it is sent; its client makes `output_text` itself. */
export type WireResponse = Omit<ResponseObject, "output_text">;

/** An event of a stream, before it gets its number. */
type Unnumbered = ResponseStreamEvent extends infer One
  ? One extends { sequence_number: number }
    ? Omit<One, "sequence_number">
    : never
  : never;

/** A text or a piece of reasoning that may grow. */
interface OpenText {
  readonly index: number;
  readonly item: ResponseOutputMessage | ResponseReasoningItem;
  readonly part: TextPart;
  text: string;
}

type McpCall = ResponseOutputItem.McpCall;

/**
 * Turns the events of one request into the events and the object of one of its responses. Equal events give equal responses, so a
 * second reader and a restart of the server get the same.
 */
export class ResponseFold {
  readonly #place: AnswerPlace;
  readonly #fold: SegmentFold;
  readonly #output: ResponseOutputItem[] = [];
  /** By what speaks: the agent or one of its branches, its text or its reasoning. */
  readonly #texts = new Map<string, OpenText>();
  readonly #calls = new Map<string, { readonly index: number; readonly item: McpCall }>();
  readonly #asked = new Set<number>();
  #sequence = 0;
  #head: Pick<WireResponse, "created_at" | "model"> | undefined;
  #end: (SegmentEnd & { readonly status: WireResponse["status"] }) | undefined;

  constructor(place: AnswerPlace) {
    this.#place = place;
    this.#fold = new SegmentFold(place.began);
  }

  get hasBegun(): boolean {
    return this.#head !== undefined;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Takes the next event of the request, and returns the events that it adds to the response. */
  take(event: string): readonly ResponseStreamEvent[] {
    return this.#number(this.#fold.take(event).flatMap((change) => this.#apply(change)));
  }

  /** The last events of a response whose request waits for an answer. */
  endAtWait(): readonly ResponseStreamEvent[] {
    return this.#number(this.#fold.closeAtWait().flatMap((change) => this.#apply(change)));
  }

  /** The response as of the newest event. */
  response(): WireResponse {
    const { status = "in_progress", turn, at, waits = [], usage } = this.#end ?? {};
    const asked = waits.find((wait) => wait.tool === undefined && !isApproval(wait));
    const error = turn?.outcome === "error" ? turn.error : undefined;
    return {
      id: toAnswerId("resp", this.#place),
      object: "response",
      created_at: 0,
      model: this.#place.agent,
      ...this.#head,
      status,
      ...(status === "completed" && at !== undefined && { completed_at: toSeconds(at) }),
      access_programs: null,
      conversation: { id: this.#place.runId },
      error: error === undefined ? null : { code: "server_error", message: error.message },
      incomplete_details: null,
      instructions: null,
      metadata: {
        run_id: this.#place.runId,
        request_id: this.#place.requestId,
        ...(asked !== undefined && { wait_id: String(asked.waitId) }),
        ...(error !== undefined && { error_code: error.code }),
      },
      output: this.#output.map((item) => ({ ...item })),
      parallel_tool_calls: true,
      temperature: null,
      text: { format: { type: "text" } },
      tool_choice: "auto",
      tools: [],
      top_p: null,
      ...(usage !== undefined && { usage: toUsage(usage) }),
    };
  }

  #number(events: readonly Unnumbered[]): readonly ResponseStreamEvent[] {
    return events.map((event) => {
      const numbered: ResponseStreamEvent = { ...event, sequence_number: this.#sequence };
      this.#sequence += 1;
      return numbered;
    });
  }

  #apply(change: SegmentChange): readonly Unnumbered[] {
    switch (change.type) {
      case "begin":
        this.#head = { created_at: toSeconds(change.at), model: toModelName(change.turn) };
        return [this.#lifecycle("response.created"), this.#lifecycle("response.in_progress")];
      case "close":
        return this.#close(change);
      case "text":
        return change.part.depth > 0 ? [] : this.#say(change.part, change.text);
      case "wait":
        return [...this.#closeTexts(), ...this.#ask(change.wait)];
      case "file":
        if (!change.part.file.isGenerated) return [];
        return [...this.#closeTexts(), ...this.#sayWhole(toLink(change.part.file), change.part.id)];
      case "call":
        if (change.call.depth > 1) return [];
        return [...this.#closeTexts(), ...(isShown(change.call) ? this.#beginCall(change.call) : [])];
      case "attempt":
        // What the model has said before stays, as something that is not complete.
        return change.call.kind === "model" ? this.#closeTexts("incomplete", change.call.callId) : [];
      case "result":
        if (change.call.depth > 1) return [];
        if (change.call.kind === "model") return this.#closeTexts("completed", change.call.callId);
        return this.#endCall(change.call);
      case "rest":
      case "progress":
      case "received":
        return [];
      default: {
        const never: never = change;
        return never;
      }
    }
  }

  #say(part: TextPart, delta: string): readonly Unnumbered[] {
    const key = `${part.kind} ${part.branch ?? ""}`;
    const known = this.#texts.get(key);
    const begun: Unnumbered[] = [];
    let open = known;
    if (known === undefined || known.part.completion !== part.completion) {
      // Branches speak at the same time; everything else is said one after the other.
      if (part.branch === undefined) begun.push(...this.#closeTexts("completed", undefined, true));
      else if (known !== undefined) begun.push(...this.#closeText(key, known, "completed"));
      open = this.#openText(key, part);
      begun.push(...added(open));
    }
    if (open === undefined) return begun;
    open.text += delta;
    const place = { item_id: open.item.id, output_index: open.index, content_index: 0, delta };
    return [
      ...begun,
      part.kind === "text"
        ? { type: "response.output_text.delta", ...place, logprobs: [] }
        : { type: "response.reasoning_text.delta", ...place },
    ];
  }

  #openText(key: string, part: TextPart): OpenText {
    const { requestId } = this.#place;
    const event = this.#fold.view.head;
    const item =
      part.kind === "text"
        ? toMessage(toItemId("msg", requestId, event), "in_progress", [])
        : toReasoning(toItemId("rs", requestId, event));
    const open: OpenText = { index: this.#output.length, item, part, text: "" };
    this.#output.push(item);
    this.#texts.set(key, open);
    return open;
  }

  /** Ends the texts that may grow: those of a completion, those outside of branches, or all. */
  #closeTexts(
    status: "completed" | "incomplete" = "completed",
    completion?: CallId,
    outside = false,
  ): readonly Unnumbered[] {
    return [...this.#texts].flatMap(([key, open]) => {
      if (completion !== undefined && open.part.completion !== completion) return [];
      if (outside && open.part.branch !== undefined) return [];
      return this.#closeText(key, open, status);
    });
  }

  #closeText(key: string, open: OpenText, status: "completed" | "incomplete"): readonly Unnumbered[] {
    this.#texts.delete(key);
    const { index, item, text } = open;
    const place = { item_id: item.id, output_index: index, content_index: 0 };
    if (item.type === "message") {
      const part = { type: "output_text", text, annotations: [] } as const;
      const whole: ResponseOutputMessage = { ...item, status, content: [{ ...part, annotations: [] }] };
      this.#output[index] = whole;
      return [
        { type: "response.output_text.done", ...place, text, logprobs: [] },
        { type: "response.content_part.done", ...place, part: { ...part, annotations: [] } },
        { type: "response.output_item.done", output_index: index, item: whole },
      ];
    }
    const part = { type: "reasoning_text", text } as const;
    const whole: ResponseReasoningItem = { ...item, status, content: [part] };
    this.#output[index] = whole;
    return [
      { type: "response.reasoning_text.done", ...place, text },
      { type: "response.content_part.done", ...place, part },
      { type: "response.output_item.done", output_index: index, item: whole },
    ];
  }

  /** A text that is there as a whole. */
  #sayWhole(text: string, event: number): readonly Unnumbered[] {
    const item = toMessage(toItemId("msg", this.#place.requestId, event), "in_progress", []);
    const part = { type: "output_text", text, annotations: [] } as const;
    const whole = toMessage(item.id, "completed", [{ ...part, annotations: [] }]);
    const index = this.#output.push(whole) - 1;
    const place = { item_id: item.id, output_index: index, content_index: 0 };
    return [
      { type: "response.output_item.added", output_index: index, item },
      { type: "response.content_part.added", ...place, part: { ...part, text: "", annotations: [] } },
      { type: "response.output_text.delta", ...place, delta: text, logprobs: [] },
      { type: "response.output_text.done", ...place, text, logprobs: [] },
      { type: "response.content_part.done", ...place, part: { ...part, annotations: [] } },
      { type: "response.output_item.done", output_index: index, item: whole },
    ];
  }

  #ask(wait: WaitView): readonly Unnumbered[] {
    this.#asked.add(wait.waitId);
    if (wait.tool !== undefined) return this.#callClient(wait, wait.tool);
    if (!isApproval(wait)) return this.#sayWhole(toQuestion(wait), wait.waitId);
    const { approval, questions } = wait;
    const { tool, args } = isObject(approval) ? approval : {};
    const item: ResponseOutputItem.McpApprovalRequest = {
      id: toItemId("mcpr", this.#place.requestId, wait.waitId),
      type: "mcp_approval_request",
      name: typeof tool === "string" ? tool : (approvalKeyOf(wait) ?? ""),
      arguments: JSON.stringify(args ?? questions),
      server_label: wait.agent,
    };
    const index = this.#output.push(item) - 1;
    return [
      { type: "response.output_item.added", output_index: index, item },
      { type: "response.output_item.done", output_index: index, item },
    ];
  }

  /** The call of a tool that the client runs. */
  #callClient(wait: WaitView, tool: NonNullable<WaitView["tool"]>): readonly Unnumbered[] {
    const { id: call_id, function: called } = toToolCall(wait, tool);
    const id = toItemId("fc", this.#place.requestId, wait.waitId);
    const item = { id, type: "function_call", call_id, ...called, status: "completed" } as const;
    const index = this.#output.push(item) - 1;
    const place = { item_id: id, output_index: index };
    const begun = { ...item, arguments: "", status: "in_progress" } as const;
    return [
      { type: "response.output_item.added", output_index: index, item: begun },
      { type: "response.function_call_arguments.delta", ...place, delta: item.arguments },
      { type: "response.function_call_arguments.done", ...place, arguments: item.arguments },
      { type: "response.output_item.done", output_index: index, item },
    ];
  }

  #beginCall(call: CallView): readonly Unnumbered[] {
    const item: McpCall = {
      id: toItemId("mcp", this.#place.requestId, call.startedId),
      type: "mcp_call",
      name: call.functionName ?? call.name,
      arguments: JSON.stringify(call.args ?? {}),
      server_label: call.caller,
      status: "in_progress",
      approval_request_id: null,
      error: null,
      output: null,
    };
    const index = this.#output.push(item) - 1;
    this.#calls.set(call.key, { index, item });
    const place = { item_id: item.id, output_index: index };
    return [
      { type: "response.output_item.added", output_index: index, item: { ...item, arguments: "" } },
      { type: "response.mcp_call.in_progress", ...place },
      { type: "response.mcp_call_arguments.done", ...place, arguments: item.arguments },
    ];
  }

  /** Ends a call; `undefined` for one that ends with its turn, or goes on after the response. */
  #endCall({
    key,
    outcome,
    text,
    result,
    error,
  }: Pick<CallView, "key"> & Partial<CallView>): readonly Unnumbered[] {
    const open = this.#calls.get(key);
    if (open === undefined) return [];
    this.#calls.delete(key);
    const { index, item } = open;
    const place = { item_id: item.id, output_index: index };
    const content = [{ type: "text", text: error ?? "" }];
    const fields: Partial<McpCall> =
      outcome === "success"
        ? { status: "completed", output: text ?? JSON.stringify(result ?? null) }
        : outcome === undefined
          ? { status: "incomplete" }
          : { status: "failed", error: { type: "mcp_tool_execution_error", content } };
    const whole: McpCall = { ...item, ...fields };
    this.#output[index] = whole;
    const type = outcome === "success" ? "response.mcp_call.completed" : "response.mcp_call.failed";
    return [
      ...(outcome === undefined ? [] : [{ type, ...place } as const]),
      { type: "response.output_item.done", output_index: index, item: whole },
    ];
  }

  #close(end: SegmentEnd): readonly Unnumbered[] {
    const { turn, unsaid, waits } = end;
    const isDone = turn === undefined || turn.outcome === "success";
    const events = [...this.#closeTexts(isDone ? "completed" : "incomplete")];
    for (const key of this.#calls.keys()) events.push(...this.#endCall({ key }));
    if (unsaid !== "") events.push(...this.#sayWhole(unsaid, turn?.endedId ?? 0));
    if (turn === undefined)
      for (const wait of waits) if (!this.#asked.has(wait.waitId)) events.push(...this.#ask(wait));
    this.#end = { ...end, status: isDone ? "completed" : turn.outcome === "error" ? "failed" : "cancelled" };
    // The protocol has no event for a response that was canceled.
    const type = isDone
      ? "response.completed"
      : turn.outcome === "error"
        ? "response.failed"
        : "response.incomplete";
    return [...events, this.#lifecycle(type)];
  }

  #lifecycle(
    type: `response.${"created" | "in_progress" | "completed" | "failed" | "incomplete"}`,
  ): Unnumbered {
    return { type, response: this.response() as ResponseObject };
  }
}

/** Whether a question is one for yes or no that its reader may answer. */
function isApproval(wait: WaitView): boolean {
  return wait.question === undefined && approvalKeyOf(wait) !== undefined;
}

/** Whether a call is one that clients see: of a tool or of an agent. */
function isShown({ kind }: CallView): boolean {
  return kind !== "model" && kind !== "sleep";
}

function toMessage(
  id: string,
  status: ResponseOutputMessage["status"],
  content: ResponseOutputMessage["content"],
): ResponseOutputMessage {
  return { id, type: "message", role: "assistant", status, content };
}

function toReasoning(id: string): ResponseReasoningItem {
  return { id, type: "reasoning", summary: [], content: [], status: "in_progress" };
}

function added({ index, item }: OpenText): readonly Unnumbered[] {
  const place = { item_id: item.id, output_index: index, content_index: 0 };
  return [
    { type: "response.output_item.added", output_index: index, item },
    {
      type: "response.content_part.added",
      ...place,
      part:
        item.type === "message"
          ? { type: "output_text", text: "", annotations: [] }
          : { type: "reasoning_text", text: "" },
    },
  ];
}

function toSeconds(time: string): number {
  return Math.floor(Date.parse(time) / 1_000);
}

function toUsage({
  input_tokens: input = 0,
  output_tokens: output = 0,
  cached_input_tokens: cached = 0,
  reasoning_tokens: reasoning = 0,
}: Usage): ResponseUsage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}
