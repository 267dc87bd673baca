import { AgentError } from "../../errors.ts";
import { CALLEE_KINDS, MACHINE_STATUSES } from "../../protocol/actors.ts";
import type { Callee } from "../../protocol/actors.ts";
import type { EventBody, StateStep } from "../../protocol/events/event-body.ts";
import type { CallId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import { checkJson } from "../../protocol/schema/check-json.ts";
import type { RemoteSession, RemoteSpeaker } from "../../runtime/agent/remote-port.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../../runtime/journal/json-limits.ts";
import type { ReceivedEvent } from "../stream/received-events.ts";
import {
  NAME_LIMIT,
  isCompletionCode,
  isGiven,
  isTimestamp,
  isToolCode,
  toName,
  toOrdinal,
  toLimitedText,
  toUsage,
} from "./fields.ts";
import { toId } from "./ids.ts";
import type { OpenThere, RemoteState } from "./state.ts";

/** Maximum number of open remote calls, and of open completions. */
const OPEN_LIMIT = 1_000;

/**
 * Converts the events of a remote agent to local ones. Remote ids become ids of this turn, so that local
 * guarantees hold: ids are unique, a call has one start and one end, and an event belongs to an open call.
 */
export class RemoteEvents {
  readonly #name: string;
  readonly #session: RemoteSession;
  readonly #calls: Map<string, { readonly here: CallId; readonly name: string }>;
  readonly #completions: Map<string, CallId>;

  /** `name` is the local name of the agent. */
  constructor(name: string, session: RemoteSession, { calls, completions }: RemoteState) {
    this.#name = name;
    this.#session = session;
    this.#calls = new Map(calls.map(([there, here, name]) => [there, { here, name }]));
    this.#completions = new Map(completions);
  }

  /** The open remote calls and completions, for the saved state. */
  get open(): Pick<RemoteState, "calls" | "completions"> {
    const calls = [...this.#calls].map(([there, { here, name }]): OpenThere => [there, here, name]);
    return { calls, completions: [...this.#completions] };
  }

  /** Throws for an event that cannot be logged, or that belongs to another request. */
  check(event: ReceivedEvent, { requestId, runId }: RemoteState): void {
    const [issue] = checkJson(event);
    if (issue) throw this.#fault(`an event that cannot be kept: ${issue.path} ${issue.message}`);
    const { request_id: request, run_id: run, depth = 0 } = event;
    // In the draft of the protocol some events lack these fields.
    if (isGiven(request) && toId(request) !== requestId) throw this.#fault("an event of another request");
    if (isGiven(run) && runId !== undefined && toId(run) !== runId)
      throw this.#fault("an event of another run");
    if (!Number.isSafeInteger(depth) || (depth as number) < 0)
      throw this.#fault("an event without a valid depth");
    if ((depth as number) > this.#session.depthLimit)
      throw new AgentError(
        "call_failed",
        `agent ${this.#name} is part of a chain of agents that is too deep`,
      );
  }

  /** The speaker of an event. */
  speakerOf({ agent, depth = 0, parent_call_id: parent }: ReceivedEvent): RemoteSpeaker {
    const name = typeof agent === "string" && agent !== "" ? agent.slice(0, NAME_LIMIT) : this.#name;
    if (depth === 0) return { agent: name, depth: 0 };
    const above = typeof parent === "string" ? this.#calls.get(parent) : undefined;
    // Without a parent, it is the newest open call.
    const call = above ?? [...this.#calls.values()].at(-1);
    return { agent: name, depth: depth as number, ...(call && { parent: call.here }) };
  }

  /** Logs an event of the agent's work; other types are ignored. */
  log(event: ReceivedEvent): void {
    const speaker = this.speakerOf(event);
    const body = this.#toBody(event, speaker);
    if (body) this.#session.say(speaker, body);
  }

  #toBody(event: ReceivedEvent, speaker: RemoteSpeaker): EventBody | undefined {
    switch (event.type) {
      case "TextOutput":
        return {
          type: "TextOutput",
          content: toLimitedText(event["content"]),
          ...branchOf(event),
          ...this.#sourceOf(event),
        };
      case "ReasoningOutput": {
        const source = this.#sourceOf(event);
        return source && { type: "ReasoningOutput", content: toLimitedText(event["content"]), ...source };
      }
      case "ToolCall":
        return this.#toolCall(event, speaker);
      case "ToolTextOutput": {
        const [, call] = this.#find(event) ?? [];
        if (call === undefined) return undefined;
        const content = toLimitedText(event["content"]);
        return { type: "ToolTextOutput", content, tool_call_id: call.here, ...branchOf(event) };
      }
      case "ToolResult": {
        const call = this.#end(event);
        const { result, text_result: text } = event as {
          readonly result?: Json;
          readonly text_result?: unknown;
        };
        const text_result = typeof text === "string" ? text : toLimitedText(result);
        return (
          call && {
            type: "ToolResult",
            ...call,
            text_result,
            result: result === undefined ? text_result : result,
          }
        );
      }
      case "ToolError": {
        const call = this.#end(event);
        const { code } = event;
        return (
          call && {
            type: "ToolError",
            ...call,
            content: toLimitedText(event["content"]),
            code: isToolCode(code) ? code : "tool_error",
          }
        );
      }
      case "CompletionCall":
        return this.#completionCall(event);
      case "CompletionRetry":
        return this.#completionRetry(event);
      case "CompletionResult":
        return this.#completionResult(event);
      case "StateChanged":
        return toStateChanged(event);
      case "Custom":
        return toCustom(event);
      case "Sleeping": {
        const { until } = event;
        return isTimestamp(until) ? { type: "Sleeping", call_id: this.#session.newCall(), until } : undefined;
      }
      default:
        // The local call replaces the start and end of the remote turn. Unknown types are dropped.
        return undefined;
    }
  }

  #toolCall(event: ReceivedEvent, speaker: RemoteSpeaker): EventBody {
    const {
      tool_call_id: id,
      args,
      attempt,
    } = event as { readonly args?: Json; readonly [field: string]: unknown };
    const name = toName(event["function_name"], "tool");
    const there = typeof id === "string" ? id : `${name}#${event.id}`;
    const known = this.#calls.get(there);
    const call = known ?? { here: this.#session.newCall(), name };
    if (!known) {
      if (this.#calls.size >= OPEN_LIMIT) throw this.#fault(`more than ${OPEN_LIMIT} calls at a time`);
      this.#calls.set(there, call);
      this.#session.began(call.here, name, speaker);
    }
    return {
      type: "ToolCall",
      function_name: call.name,
      args: args ?? null,
      tool_call_id: call.here,
      ...calleeOf(event),
      ...(known && { attempt: toOrdinal(attempt, 2) }),
      ...deadlineOf(event),
    };
  }

  /** The open call of an event: the one it names, or for a server without ids, the most likely one. */
  #find(
    event: ReceivedEvent,
  ): readonly [string, { readonly here: CallId; readonly name: string }] | undefined {
    const { tool_call_id: id, function_name: name } = event;
    if (typeof id === "string") {
      const call = this.#calls.get(id);
      return call && [id, call];
    }
    const open = [...this.#calls];
    return open.find(([, call]) => call.name === name) ?? open.at(-1);
  }

  /** Ends the call of an event; `undefined` if it is not open. */
  #end(event: ReceivedEvent): { readonly function_name: string; readonly tool_call_id: CallId } | undefined {
    const [there, call] = this.#find(event) ?? [];
    if (there === undefined || call === undefined) return undefined;
    this.#calls.delete(there);
    this.#session.ended(call.here);
    return { function_name: call.name, tool_call_id: call.here };
  }

  #completionCall(event: ReceivedEvent): EventBody {
    const { id, call_id: given, model, attempt } = event;
    const there = typeof given === "string" ? given : `completion#${id}`;
    const known = this.#completions.get(there);
    const here = known ?? this.#session.newCall();
    if (known === undefined && this.#completions.size >= OPEN_LIMIT)
      throw this.#fault(`more than ${OPEN_LIMIT} completions at a time`);
    this.#completions.set(there, here);
    return {
      type: "CompletionCall",
      model: toName(model, "model"),
      call_id: here,
      attempt: known ? toOrdinal(attempt, 2) : 1,
      ...deadlineOf(event),
    };
  }

  #completionRetry(event: ReceivedEvent): EventBody | undefined {
    const { call_id: there, model, attempt, error, error_code: code, until } = event;
    const here = typeof there === "string" ? this.#completions.get(there) : undefined;
    if (here === undefined) return undefined;
    return {
      type: "CompletionRetry",
      model: toName(model, "model"),
      call_id: here,
      attempt: toOrdinal(attempt, 1),
      error: toLimitedText(error),
      ...(isCompletionCode(code) && { error_code: code }),
      ...(isTimestamp(until) && { until }),
    };
  }

  #completionResult(event: ReceivedEvent): EventBody | undefined {
    const { call_id: given, model, usage, elapsed_ms: elapsed, result, error, error_code: code } = event;
    const there = typeof given === "string" ? given : [...this.#completions.keys()].at(-1);
    const here = there === undefined ? undefined : this.#completions.get(there);
    if (there === undefined || here === undefined) return undefined;
    this.#completions.delete(there);
    return {
      type: "CompletionResult",
      model: toName(model, "model"),
      call_id: here,
      usage: toUsage(usage),
      elapsed_ms: typeof elapsed === "number" && elapsed >= 0 ? elapsed : 0,
      result: (result ?? null) as Json,
      ...(typeof error === "string" && { error, ...(isCompletionCode(code) && { error_code: code }) }),
    };
  }

  /** The completion that a text belongs to. */
  #sourceOf({
    call_id: there,
    attempt,
  }: ReceivedEvent): { readonly call_id: CallId; readonly attempt: number } | undefined {
    const here = typeof there === "string" ? this.#completions.get(there) : undefined;
    return here === undefined ? undefined : { call_id: here, attempt: toOrdinal(attempt, 1) };
  }

  #fault(what: string): AgentError {
    return new AgentError("call_failed", `agent ${this.#name} sent ${what}`);
  }
}

/** The deadline of a remote call. */
function deadlineOf({ expires_at: at }: ReceivedEvent): { readonly expires_at?: string } {
  return isTimestamp(at) ? { expires_at: at } : {};
}

/** What a remote agent calls, as far as its server reports it. */
function calleeOf({ callee }: ReceivedEvent): { readonly callee?: Callee } {
  if (!isObject(callee)) return {};
  const kind = CALLEE_KINDS.find((known) => known === callee["kind"]);
  return kind === undefined ? {} : { callee: { kind, name: toName(callee["name"], kind) } };
}

/** Remote branch names are dropped, so that they are not confused with local ones. */
function branchOf({ branch }: ReceivedEvent): { readonly branch?: string } {
  return typeof branch === "string" ? { branch: `elsewhere/${branch.slice(0, NAME_LIMIT)}` } : {};
}

/** The most steps of one event. */
const STEPS_LIMIT = 32;

/** The transitions of a remote machine; `undefined` for an event of another form. */
function toStateChanged(event: ReceivedEvent): EventBody | undefined {
  const { value, steps: given, cause, chart, machine } = event;
  const status = MACHINE_STATUSES.find((known) => known === event["status"]);
  if (status === undefined || value === undefined || !Array.isArray(given)) return undefined;
  const steps = given.slice(0, STEPS_LIMIT).flatMap(toStep);
  const isTruncated = event["steps_truncated"] === true || given.length > STEPS_LIMIT;
  const body: EventBody = {
    type: "StateChanged",
    value: value as Json,
    cause: toStateName(cause),
    steps,
    ...(isTruncated && { steps_truncated: true }),
    status,
    chart: toStateName(chart),
    ...(typeof machine === "string" && { machine }),
  };
  toJson(body, "a transition of a remote machine", INPUT_LIMIT_BYTES);
  return body;
}

/** An event that a remote machine emitted. */
function toCustom({ name, body = null }: ReceivedEvent): EventBody {
  return {
    type: "Custom",
    name: toName(name, "event"),
    body: toJson(body, "an event of a remote machine", INPUT_LIMIT_BYTES),
  };
}

function toStep(given: unknown): readonly StateStep[] {
  if (!isObject(given)) return [];
  const { from, event, to } = given;
  if (typeof from !== "string") return [];
  return [{ from, ...(typeof event === "string" && { event }), ...(typeof to === "string" && { to }) }];
}

function toStateName(value: unknown): string {
  return typeof value === "string" ? value : "";
}
