import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessageFunctionToolCall,
} from "openai/resources/chat/completions";
import type { CompletionUsage } from "openai/resources/completions";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { FileView, WaitView } from "../../view/run-view.ts";
import { SegmentFold } from "../../view/segment-fold.ts";
import type { InnerChange, SegmentChange, SegmentEnd } from "../../view/segment-fold.ts";
import { toQuestion } from "../../view/to-answer.ts";
import { toModelName } from "./models.ts";
import { toAnswerId } from "./place.ts";
import type { AnswerPlace } from "./place.ts";
import { toTurnFailure } from "./refusal.ts";
import { toToolCall } from "./tools.ts";

/** A piece of an answer: a text, or the call of a tool that the client runs. */
type ChatPiece =
  | {
      readonly kind: "content" | "reasoning_content";
      readonly text: string;
      /** The completion that it comes from, if a model says it. */
      readonly completion: CallId | undefined;
    }
  | {
      readonly kind: "tool_call";
      readonly call: ChatCompletionMessageFunctionToolCall;
      readonly completion?: undefined;
    };

/** What the run and the request of an answer are, as its `metadata`. */
type ChatMetadata = { readonly metadata: { readonly run_id: string; readonly request_id: string } };

/** The fields that all chunks of an answer have. */
interface ChatHead extends Pick<ChatCompletion, "id" | "created" | "model"> {
  readonly place: AnswerPlace;
}

/** The pieces of an answer in Chat Completions: texts, questions and files, all as text. */
class ChatPieces {
  readonly #asked = new Set<number>();
  #hasContent = false;

  /** What a change adds to the answer. */
  add(change: InnerChange): readonly ChatPiece[] {
    switch (change.type) {
      case "text":
        if (change.part.depth > 0) return [];
        if (change.part.kind === "text") return [this.#content(change.text, change.part.completion)];
        return [{ kind: "reasoning_content", text: change.text, completion: change.part.completion }];
      case "wait":
        return [this.#ask(change.wait)];
      case "file":
        return change.part.file.isGenerated ? [this.#paragraph(toLink(change.part.file))] : [];
      case "call":
      case "attempt":
      case "rest":
      case "progress":
      case "result":
      case "received":
        return [];
      default: {
        const never: never = change;
        return never;
      }
    }
  }

  /** What is left to say at the end: a result that was not said, and questions that are still open. */
  rest({ unsaid, waits, turn }: SegmentEnd): readonly ChatPiece[] {
    const open = turn === undefined ? waits.filter(({ waitId }) => !this.#asked.has(waitId)) : [];
    return [
      ...(unsaid === "" ? [] : [this.#content(unsaid, undefined)]),
      ...open.map((wait) => this.#ask(wait)),
    ];
  }

  #ask(wait: WaitView): ChatPiece {
    this.#asked.add(wait.waitId);
    if (wait.tool !== undefined) return { kind: "tool_call", call: toToolCall(wait, wait.tool) };
    return this.#paragraph(toQuestion(wait));
  }

  #paragraph(text: string): ChatPiece {
    return this.#content(this.#hasContent ? `\n\n${text}` : text, undefined);
  }

  #content(text: string, completion: CallId | undefined): ChatPiece {
    this.#hasContent ||= text !== "";
    return { kind: "content", text, completion };
  }
}

/** How an answer has ended: as a whole, or with an error in its place. */
export type ChatResult =
  | { readonly type: "completion"; readonly body: ChatCompletion }
  | { readonly type: "failure"; readonly status: number; readonly body: object };

/** Collects an answer as one object. What a completion said before it was made again is not in it. */
export class ChatCollector {
  readonly #place: AnswerPlace;
  readonly #fold: SegmentFold;
  readonly #pieces = new ChatPieces();
  #said: ChatPiece[] = [];
  #head: ChatHead | undefined;
  #result: ChatResult | undefined;

  constructor(place: AnswerPlace) {
    this.#place = place;
    this.#fold = new SegmentFold(place.began);
  }

  /** The answer, once it has ended. */
  get result(): ChatResult | undefined {
    return this.#result;
  }

  take(event: string): void {
    for (const change of this.#fold.take(event)) this.#apply(change);
  }

  /** The answer, if its request waits for an answer. */
  endAtWait(): ChatResult | undefined {
    for (const change of this.#fold.closeAtWait()) this.#apply(change);
    return this.#result;
  }

  #apply(change: SegmentChange): void {
    switch (change.type) {
      case "begin":
        this.#head = toHead(change, this.#place);
        break;
      case "close":
        this.#said.push(...this.#pieces.rest(change));
        this.#result = this.#toResult(change);
        break;
      default: {
        if (change.type === "attempt" && change.call.kind === "model")
          this.#said = this.#said.filter(({ completion }) => completion !== change.call.callId);
        this.#said.push(...this.#pieces.add(change));
      }
    }
  }

  #toResult(end: SegmentEnd): ChatResult | undefined {
    const { turn, usage } = end;
    if (this.#head === undefined) return undefined;
    if (turn !== undefined && turn.outcome !== "success") {
      const { status, error } = toTurnFailure(turn.error);
      return { type: "failure", status, body: { error } };
    }
    const { place, id, created, model } = this.#head;
    const join = (kind: "content" | "reasoning_content"): string =>
      this.#said.map((piece) => (piece.kind === kind ? piece.text : "")).join("");
    const calls = this.#said.flatMap((piece) => (piece.kind === "tool_call" ? piece.call : []));
    const content = join("content");
    const reasoning = join("reasoning_content");
    const message = {
      role: "assistant",
      content: content === "" && calls.length > 0 ? null : content,
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(reasoning !== "" && { reasoning_content: reasoning }),
    } as const;
    const body: ChatCompletion & ChatMetadata = {
      id,
      object: "chat.completion",
      created,
      model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: toFinishReason(end) }],
      usage: toCompletionUsage(usage),
      ...toMetadata(place),
    };
    return { type: "completion", body };
  }
}

/** The frames of an answer that is streamed. */
export class ChatFrames {
  readonly #place: AnswerPlace;
  readonly #withUsage: boolean;
  readonly #fold: SegmentFold;
  readonly #pieces = new ChatPieces();
  /** How many calls of tools the client got. */
  #calls = 0;
  #head: ChatHead | undefined;

  constructor(place: AnswerPlace, withUsage: boolean) {
    this.#place = place;
    this.#withUsage = withUsage;
    this.#fold = new SegmentFold(place.began);
  }

  get hasEnded(): boolean {
    return this.#fold.hasEnded;
  }

  take(event: string): string {
    return this.#toFrames(this.#fold.take(event));
  }

  /** The last frames of an answer whose request waits for an answer. */
  endAtWait(): string {
    return this.#toFrames(this.#fold.closeAtWait());
  }

  #toFrames(changes: readonly SegmentChange[]): string {
    let frames = "";
    for (const change of changes) {
      if (change.type === "begin") frames += this.#begin(toHead(change, this.#place));
      else if (change.type === "close") frames += this.#end(change);
      else frames += this.#say(this.#pieces.add(change));
    }
    return frames;
  }

  #begin(head: ChatHead): string {
    this.#head = head;
    return this.#chunk({ role: "assistant", content: "" }, null, toMetadata(head.place));
  }

  #say(pieces: readonly ChatPiece[]): string {
    return pieces.map((piece) => this.#chunk(this.#toDelta(piece), null)).join("");
  }

  #toDelta(piece: ChatPiece): ChatCompletionChunk.Choice.Delta {
    if (piece.kind !== "tool_call") return { [piece.kind]: piece.text };
    const index = this.#calls;
    this.#calls += 1;
    return { tool_calls: [{ index, ...piece.call }] };
  }

  #end(end: SegmentEnd): string {
    const { turn, usage } = end;
    const rest = this.#say(this.#pieces.rest(end));
    if (turn !== undefined && turn.outcome !== "success")
      return rest + toFrame({ error: toTurnFailure(turn.error).error });
    const total: ChatCompletionChunk = { ...this.#base(), choices: [], usage: toCompletionUsage(usage) };
    return `${rest}${this.#chunk({}, toFinishReason(end))}${this.#withUsage ? toFrame(total) : ""}${DONE}`;
  }

  #chunk(
    delta: ChatCompletionChunk.Choice.Delta,
    finishReason: "stop" | "tool_calls" | null,
    more: Partial<ChatMetadata> = {},
  ): string {
    const chunk: ChatCompletionChunk = {
      ...this.#base(),
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
      ...(this.#withUsage && { usage: null }),
    };
    return toFrame({ ...chunk, ...more });
  }

  #base(): Pick<ChatCompletionChunk, "id" | "object" | "created" | "model"> {
    const { id = "", created = 0, model = "" } = this.#head ?? {};
    return { id, object: "chat.completion.chunk", created, model };
  }
}

/** A frame of server-sent events. */
export function toFrame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

const DONE = "data: [DONE]\n\n";

function toHead(
  { at, turn }: Extract<SegmentChange, { readonly type: "begin" }>,
  place: AnswerPlace,
): ChatHead {
  return {
    id: toAnswerId("chatcmpl", place),
    created: Math.floor(Date.parse(at) / 1_000),
    model: toModelName(turn),
    place,
  };
}

/** Why an answer has ended: the client is to run tools, or all is said. */
function toFinishReason({ turn, waits }: SegmentEnd): "stop" | "tool_calls" {
  return turn === undefined && waits.some(({ tool }) => tool !== undefined) ? "tool_calls" : "stop";
}

function toMetadata({ runId, requestId }: AnswerPlace): ChatMetadata {
  return { metadata: { run_id: runId, request_id: requestId } };
}

function toCompletionUsage(usage: Usage): CompletionUsage {
  const { input_tokens: input = 0, output_tokens: output = 0 } = usage;
  const { cached_input_tokens: cached, reasoning_tokens: reasoning } = usage;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** A file as a link in a text; its name cannot end the link. */
export function toLink({ name, url }: FileView): string {
  return `[${name.replace(/[[\]\\]/g, "\\$&")}](${url})`;
}
