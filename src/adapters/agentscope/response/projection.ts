import type { Event, TurnError } from "../../../protocol/events/events.ts";
import { ResponseBuilder } from "../builders/response.ts";
import type { AgentScopeObject, ObjectError, UsageObject } from "../objects.ts";
import { addEvent } from "./add-event.ts";
import type { OpenResponse } from "./add-event.ts";
import type { Ending } from "./end-message.ts";
import { Texts } from "./texts.ts";
import { Calls, Tools } from "./tools.ts";
import { OpenWaits } from "./open-waits.ts";
import { addUsage, toUsage } from "./usage.ts";
import { askQuestion } from "./wait-message.ts";

/** The response to show. */
export interface ProjectedResponse {
  readonly sessionId: string;
  /** The id of the event that begins it. Default: the first response of the request. */
  readonly began?: number | undefined;
}

/**
 * Turns the events of one request into the objects of one of its responses. The first response begins with
 * RequestStarted; each answer to a question begins another one. It needs all events of the request from its start,
 * because a response repeats the oldest open question. Equal events give equal objects.
 */
export class Projection {
  readonly #wanted: ProjectedResponse;
  readonly #calls = new Calls();
  readonly #waits = new OpenWaits();
  /** The usage of the turn until now. */
  #usage: UsageObject | null = null;
  /** The texts of earlier responses of the request. */
  #saidBefore = "";
  #current: OpenResponse | undefined;
  #timeMs: number | null = null;
  #cursor = 0;
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
    return this.#cursor;
  }

  /** Takes the next event of the request and returns the objects that it adds to the response. */
  take(text: string): readonly AgentScopeObject[] {
    if (this.#hasEnded) return [];
    const event = JSON.parse(text) as Event;
    // An answer or an expired wait ends a response before its own time begins.
    const isNext = event.type === "ResumeWithInput" || event.type === "WaitExpired";
    const ended = isNext ? this.#end({ status: "completed" }) : [];
    if (this.#hasEnded) return ended;
    this.#cursor = event.id;
    this.#timeMs = Date.parse(event.ts);
    this.#waits.saw(event);
    const objects = this.#objectsOf(event);
    return this.#isWanted ? objects : [];
  }

  /** Ends a response whose request waits for an answer. */
  park(): readonly AgentScopeObject[] {
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

  #objectsOf(event: Event): AgentScopeObject[] {
    switch (event.type) {
      case "RequestStarted":
        return this.#begin(event.request_id, event.run_id);
      case "WaitExpired":
        return this.#begin(`${event.request_id}_${event.id}`, event.run_id);
      case "ResumeWithInput":
        return this.#begin(event.resume_id ?? `${event.request_id}_${event.id}`, event.run_id);
      case "RequestCompleted":
        return this.#complete(event);
      case "ToolCall":
        if (!this.#calls.add(event) || event.depth > 0) return [];
        break;
      case "CompletionResult":
        this.#usage = addUsage(this.#usage, toUsage(event.usage));
        break;
      default:
        break;
    }
    return this.#current === undefined ? [] : addEvent(this.#current, event);
  }

  #begin(id: string, runId = ""): AgentScopeObject[] {
    const { sessionId } = this.#wanted;
    const began = this.#cursor;
    const response = new ResponseBuilder({
      id,
      sessionId,
      now: () => this.#timeMs,
      // The id of an event is unique in its run, so that of a message is, too.
      messageId: (index) => `msg_${runId}_${began}_${index}`,
    });
    this.#current = {
      began,
      response,
      texts: new Texts(response),
      tools: new Tools(response, this.#calls),
      asked: new Set(),
    };
    return [response.created(), response.inProgress()];
  }

  #complete({
    finish_reason: reason,
    result,
    result_truncated,
    error,
  }: Extract<Event, { readonly type: "RequestCompleted" }>): AgentScopeObject[] {
    if (reason === "canceled") return this.#end({ status: "canceled" });
    if (reason === "error") return this.#end({ status: "failed", error: toError(error) });
    // An agent can return its text instead of sending it.
    const isNew = result !== this.#saidBefore && result_truncated !== true;
    const isUnsaid = isNew && this.#current?.texts.said === undefined;
    return this.#end({ status: "completed" }, isUnsaid ? result : null);
  }

  /** Ends the current response; `text` is what is left to say. Returns nothing if it is not the wanted one. */
  #end(ending: Ending, text: string | null = null): AgentScopeObject[] {
    const wasWanted = this.#isWanted;
    this.#saidBefore += this.#current?.texts.said ?? "";
    const objects = this.#closed(ending, text);
    if (!wasWanted) return [];
    this.#hasEnded = true;
    return objects;
  }

  #closed(ending: Ending, text: string | null = null): AgentScopeObject[] {
    if (this.#current === undefined) return [];
    const { response, texts, tools, asked } = this.#current;
    const objects = [...texts.closeAll(ending), ...tools.closeAll(ending)];
    if (text !== null && text !== "")
      objects.push(...texts.add(text, "message", undefined), ...texts.closeOwn());
    const usage = this.#usage;
    switch (ending.status) {
      case "completed": {
        const { oldest } = this.#waits;
        if (oldest !== undefined && !asked.has(oldest.wait_id))
          objects.push(...askQuestion(response, oldest));
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

/** The error of a turn; its codes are written in upper case. */
function toError(error: TurnError | undefined): ObjectError {
  return {
    code: (error?.code ?? "agent_error").toUpperCase(),
    message: error?.message ?? "the agent failed",
  };
}
