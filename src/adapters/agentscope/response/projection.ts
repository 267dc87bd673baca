import { EventDecoder } from "../../../protocol/events/encode.ts";
import type { TurnError, Usage } from "../../../protocol/events/outcome-codes.ts";
import { RunFold } from "../../../view/fold.ts";
import { rootCall } from "../../../view/run-view.ts";
import type { Change, PartView, TurnView, FileView } from "../../../view/run-view.ts";
import { mergeUsage } from "../../../view/turns.ts";
import { ResponseBuilder } from "../builders/response.ts";
import type { AgentScopeObject, ContentValue, ObjectError } from "../objects.ts";
import type { ResponseEnd } from "./end-message.ts";
import { TextMessages, toUsageObject } from "./text-messages.ts";
import { ToolMessages } from "./tool-messages.ts";
import { askQuestion } from "./wait-message.ts";

/** The response to show. */
export interface ProjectedResponse {
  readonly sessionId: string;
  /** The id of the event that begins it. Default: the first response of the request. */
  readonly began?: number | undefined;
  /** Whether calls of agents are told apart from those of tools. Default false. */
  readonly components?: boolean | undefined;
}

/** The response that is being built. */
interface OpenResponse {
  /** The id of the event that began it. */
  readonly began: number;
  readonly response: ResponseBuilder;
  readonly texts: TextMessages;
  readonly tools: ToolMessages;
  /** The questions that it has, by the ids of their waits. */
  readonly asked: Set<number>;
}

/**
 * Turns the events of one request into the objects of one of its responses. The first response begins with
 * RequestStarted; each answer to a question begins another one. It needs all events of the request from its start,
 * because a response repeats the oldest open question. Equal events give equal objects.
 */
export class Projection {
  readonly #wanted: ProjectedResponse;
  readonly #decoder = new EventDecoder();
  readonly #fold = new RunFold();
  /** The usage of the turn until now. */
  #usage: Usage = {};
  /** The texts of earlier responses of the request. */
  #saidBefore = "";
  #current: OpenResponse | undefined;
  #timeMs: number | null = null;
  #hasEnded = false;

  constructor(wanted: ProjectedResponse) {
    this.#wanted = wanted;
  }

  /** Whether the last object of the response was returned. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The id of the newest event that was taken. */
  get cursor(): number {
    return this.#fold.view.head;
  }

  /** Takes the next event of the request and returns the objects that it adds to the response. */
  take(text: string): readonly AgentScopeObject[] {
    if (this.#hasEnded) return [];
    const event = this.#decoder.decode(text);
    // An answer or an expired wait ends a response before its own time begins.
    const isNext = event.type === "ResumeWithInput" || event.type === "WaitExpired";
    const ended = isNext ? this.#end({ status: "completed" }) : [];
    if (this.#hasEnded) return ended;
    this.#timeMs = Date.parse(event.ts);
    const changes = this.#fold.take(event);
    const [first] = changes;
    // Most events change one thing.
    const objects =
      changes.length === 1 && first ? this.#objectsOf(first) : changes.flatMap((one) => this.#objectsOf(one));
    return this.#isWanted ? objects : [];
  }

  /** Ends a response whose request waits for an answer. */
  endAtWait(): readonly AgentScopeObject[] {
    return this.#hasEnded ? [] : this.#end({ status: "completed" });
  }

  /**
   * Ends the answer to a reader although the response continues in the log. These objects are in no log, so they have
   * no sequence number.
   */
  interrupt(error: ObjectError, requestId: string): readonly AgentScopeObject[] {
    if (this.#hasEnded) return [];
    this.#hasEnded = true;
    const begun = this.#isWanted ? [] : this.#begin(requestId);
    return [...begun, ...this.#closed({ status: "failed", error })].map((object) => ({
      ...object,
      sequence_number: null,
    }));
  }

  get #isWanted(): boolean {
    const { began } = this.#wanted;
    return this.#current !== undefined && (began === undefined || this.#current.began === began);
  }

  #objectsOf(change: Change): readonly AgentScopeObject[] {
    switch (change.type) {
      case "input":
        return this.#begin(change.turn.requestId);
      case "answer":
      case "expiry": {
        const { resumeId, requestId } = change.wait;
        return this.#begin(resumeId ?? `${requestId}_${this.cursor}`);
      }
      case "end":
        return this.#complete(change.turn);
      case "result":
        if (change.call.kind === "model") this.#usage = mergeUsage(this.#usage, change.call.usage ?? {});
        break;
      default:
        break;
    }
    return this.#current === undefined ? [] : this.#add(this.#current, change);
  }

  /** The objects that a change inside a response adds to it. What called agents do is the output of their call. */
  #add({ response, texts, tools, asked }: OpenResponse, change: Change): readonly AgentScopeObject[] {
    switch (change.type) {
      case "text":
        if (change.part.depth > 0) return this.#addInside(tools, change.part, change.text);
        if (change.part.kind === "text") return texts.add(change.text, "message", change.part.completion);
        return [...texts.closeOwn(), ...texts.add(change.text, "reasoning", change.part.completion)];
      case "wait":
        asked.add(change.wait.waitId);
        return [...texts.closeOwn(), ...askQuestion(response, change.wait)];
      case "file": {
        const { file } = change.part;
        return file.isGenerated ? [...texts.closeOwn(), ...addWhole(response, toFileContent(file))] : [];
      }
      case "progress":
        return tools.progress(rootCall(this.#fold.view, change.call), change.text);
      case "call":
      case "attempt":
        return change.call.depth > 1 ? [] : addCall(texts, tools, change);
      case "result":
        if (change.call.depth > 1) return [];
        if (change.call.kind === "model") return texts.closeCompletion(change.call);
        return tools.result(change.call);
      case "rest":
      case "input":
      case "answer":
      case "expiry":
      case "received":
      case "end":
        return [];
      default: {
        const never: never = change;
        return never;
      }
    }
  }

  /** What a called agent says is part of the output of its call. */
  #addInside(tools: ToolMessages, { kind, actor }: PartView, text: string): readonly AgentScopeObject[] {
    const call = kind === "text" ? this.#fold.view.calls.get(actor) : undefined;
    return call === undefined ? [] : tools.progress(rootCall(this.#fold.view, call), text);
  }

  #begin(id: string): AgentScopeObject[] {
    const { sessionId, components = false } = this.#wanted;
    const { head: began, runId } = this.#fold.view;
    const response = new ResponseBuilder({
      id,
      sessionId,
      now: () => this.#timeMs,
      milliseconds: true,
      // The id of an event is unique in its run, so that of a message is, too.
      messageId: (index) => `msg_${runId}_${began}_${index}`,
    });
    this.#current = {
      began,
      response,
      texts: new TextMessages(response),
      tools: new ToolMessages(response, components),
      asked: new Set(),
    };
    return [response.created(), response.inProgress()];
  }

  #complete({ outcome, result = null, isResultCut = false, error }: TurnView): AgentScopeObject[] {
    if (outcome === "canceled") return this.#end({ status: "canceled" });
    if (outcome === "error") return this.#end({ status: "failed", error: toError(error) });
    // An agent can return its text instead of sending it.
    const isNew = result !== this.#saidBefore && !isResultCut;
    const isUnsaid = isNew && this.#current?.texts.said === undefined;
    return this.#end({ status: "completed" }, isUnsaid ? result : null);
  }

  /** Ends the current response; `text` is what is left to say. Returns nothing if it is not the wanted one. */
  #end(ending: ResponseEnd, text: string | null = null): AgentScopeObject[] {
    const wasWanted = this.#isWanted;
    this.#saidBefore += this.#current?.texts.said ?? "";
    const objects = this.#closed(ending, text);
    if (!wasWanted) return [];
    this.#hasEnded = true;
    return objects;
  }

  #closed(ending: ResponseEnd, text: string | null = null): AgentScopeObject[] {
    if (this.#current === undefined) return [];
    const { response, texts, tools, asked } = this.#current;
    const objects = [...texts.closeAll(ending), ...tools.closeAll(ending)];
    if (text !== null && text !== "")
      objects.push(...texts.add(text, "message", undefined), ...texts.closeOwn());
    const usage = toUsageObject(this.#usage);
    switch (ending.status) {
      case "completed": {
        const oldest = this.#fold.view.waits.find(({ state }) => state === "open");
        if (oldest !== undefined && !asked.has(oldest.waitId)) objects.push(...askQuestion(response, oldest));
        // Clients wait forever for the text of an empty response.
        if (response.messages.length === 0) {
          objects.push(...texts.add("", "message", undefined), ...texts.closeOwn());
        }
        return [...objects, response.completed(usage)];
      }
      case "canceled":
        return [...objects, response.canceled(usage)];
      case "failed":
        return [...objects, response.failed(ending.error, usage)];
      default: {
        const never: never = ending;
        return never;
      }
    }
  }
}

/** A call of the asked agent itself. Only a completion shows that it was made again. */
function addCall(
  texts: TextMessages,
  tools: ToolMessages,
  { type, call }: Extract<Change, { readonly type: "call" | "attempt" }>,
): readonly AgentScopeObject[] {
  if (call.kind === "model")
    return [...texts.closeOwn(), ...(call.attempt > 1 ? texts.withdraw(call.callId) : [])];
  return call.kind === "sleep" || type === "attempt" ? [] : [...texts.closeOwn(), ...tools.call(call)];
}

function addWhole(response: ResponseBuilder, value: ContentValue): AgentScopeObject[] {
  const message = response.message();
  return [message.inProgress(), message.addContent(value), message.completed()];
}

/** The error of a turn; its codes are written in upper case. */
function toError(error: TurnError | undefined): ObjectError {
  return {
    code: (error?.code ?? "agent_error").toUpperCase(),
    message: error?.message ?? "the agent failed",
  };
}

/** A file of an agent as content, by its media type. */
function toFileContent({ url, name, artifactId, mimeType }: FileView): ContentValue {
  const [kind = "", subtype = ""] = (mimeType.split(";", 1)[0] ?? "").trim().toLowerCase().split("/");
  switch (kind) {
    case "image":
      return { type: "image", image_url: url };
    case "video":
      return { type: "video", video_url: url };
    case "audio":
      return { type: "audio", data: url, format: subtype };
    default:
      return { type: "file", file_url: url, file_id: artifactId, filename: name, file_data: null };
  }
}
