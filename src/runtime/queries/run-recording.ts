import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { Event, EventOf } from "../../protocol/events/events.ts";
import { encodeTexts } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import type { CallId, RequestId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import type {
  RecordedAnswer,
  RecordedCall,
  RecordedCompletion,
  RecordedMessage,
  RecordedRun,
  RecordedTurn,
} from "../recording.ts";
import { forEachEntry } from "../replay/entries.ts";
import type { PlacedRecord, Visitor } from "../replay/entries.ts";
import type { PromptDigest } from "../replay/prompts.ts";
import { hideSecrets } from "../secrets/hidden.ts";

/** Reads what a run was asked and what answered it. Throws `gone` if the beginning of its log was removed. */
export async function recordRun(log: EventLog, { runId, agent }: RunEntry): Promise<RecordedRun> {
  const recorder = new RunRecorder();
  await forEachEntry(log, runId, { head: 0, records: 0 }, recorder);
  const { metadata, config, turns } = recorder;
  return {
    run_id: runId,
    agent,
    ...(metadata && { metadata: hideSecrets(metadata) as JsonObject }),
    ...(config && { config: hideSecrets(config) as JsonObject }),
    turns,
  };
}

/** The length of the events of a run that is recorded, at most: a recording is made in memory. */
const MOST_LENGTH = 64 << 20;

/** A turn that is being read. */
interface OpenTurn {
  readonly started: EventOf<"RequestStarted">;
  readonly messages: RecordedMessage[];
  readonly answers: RecordedAnswer[];
  readonly completions: RecordedCompletion[];
  readonly calls: RecordedCall[];
  /** The place of an open question among the answers, by the id of its wait. */
  readonly waits: Map<number, number>;
  /** The place of an open call among the calls. */
  readonly places: Map<CallId, number>;
  /** Calls whose own calls are not recorded, because they are not made again. */
  readonly closed: Set<CallId>;
  /** What open completions have said. */
  readonly said: Map<CallId, { text: string; reasoning: string }>;
  /** The number of completions and calls that have ended. */
  ended: number;
}

class RunRecorder implements Visitor {
  metadata: JsonObject | undefined;
  config: JsonObject | undefined;
  readonly turns: RecordedTurn[] = [];
  readonly #requests = new Map<RequestId, TurnRequest>();
  readonly #prompts = new Map<CallId, PromptDigest>();
  /** Messages that came between two turns. */
  #early: RecordedMessage[] = [];
  #turn: OpenTurn | undefined;
  /** The length of all events so far. */
  #length = 0;

  record(record: PlacedRecord): void {
    if (record.type === "Accepted") this.#requests.set(record.accepted.requestId, record.accepted.request);
    if (record.type === "ConfigRecorded") this.config = record.args;
    if (record.type !== "Prompt") return;
    const { call_id: callId, frame, digest, count } = record;
    this.#prompts.set(callId, { fields: frame, messages: digest, count });
  }

  texts(texts: Texts): void {
    for (const text of encodeTexts(texts)) this.event(text);
  }

  event(text: string): void {
    this.#length += text.length;
    if (this.#length > MOST_LENGTH)
      throw new AgentError(
        "too_large",
        `a run with more than ${MOST_LENGTH >> 20} MB of events is not recorded`,
      );
    const event = JSON.parse(text) as Event;
    if (event.type === "RunCreated") {
      if (Object.keys(event.metadata).length > 0) this.metadata = event.metadata;
      return;
    }
    if (event.type === "MessageReceived") {
      const { name, body } = event;
      if (this.#turn) this.#turn.messages.push({ name, body, after: this.#turn.ended });
      else this.#early.push({ name, body, after: 0 });
      return;
    }
    if (event.type === "RequestStarted") this.#begin(event);
    const turn = this.#turn;
    if (turn === undefined) return;
    if (event.type === "RequestCompleted") this.#end(turn, event);
    else if (event.parent_call_id === undefined || !turn.closed.has(event.parent_call_id))
      this.#step(turn, event);
    else if (event.type === "ToolCall") turn.closed.add(event.tool_call_id);
  }

  #begin(started: EventOf<"RequestStarted">): void {
    this.#turn = {
      started,
      messages: this.#early,
      answers: [],
      completions: [],
      calls: [],
      waits: new Map(),
      places: new Map(),
      closed: new Set(),
      said: new Map(),
      ended: 0,
    };
    this.#early = [];
  }

  #step(turn: OpenTurn, event: Event): void {
    switch (event.type) {
      case "WaitForInput": {
        if (event.budget) return;
        const { approval, tool } = event;
        turn.waits.set(event.wait_id, turn.answers.length);
        turn.answers.push({
          keys: Object.keys(event.request_keys),
          ...(approval && { approval }),
          ...(tool && { tool }),
        });
        return;
      }
      case "ResumeWithInput":
        answer(turn, event.wait_id, { values: event.request_keys });
        return;
      case "WaitExpired":
        answer(turn, event.wait_id, { expired: true });
        return;
      case "ToolCall":
        if (event.provider_executed !== true) call(turn, event);
        return;
      case "ToolResult":
        endCall(turn, event.tool_call_id, { result: event.result, text: event.text_result });
        return;
      case "ToolError":
        endCall(turn, event.tool_call_id, { error: event.content, code: event.code });
        return;
      case "CompletionCall":
        turn.said.set(event.call_id, { text: "", reasoning: "" });
        return;
      case "TextOutput":
      case "ReasoningOutput": {
        const said = event.call_id === undefined ? undefined : turn.said.get(event.call_id);
        if (said) said[event.type === "TextOutput" ? "text" : "reasoning"] += event.content;
        return;
      }
      case "CompletionResult":
        this.#complete(turn, event);
        return;
      default:
    }
  }

  #complete(turn: OpenTurn, event: EventOf<"CompletionResult">): void {
    const { agent, model, call_id: callId, result, error, error_code, usage, elapsed_ms } = event;
    const { text = "", reasoning = "" } = turn.said.get(callId) ?? {};
    const prompt = this.#prompts.get(callId);
    const saysText = isObject(result) && typeof result["text"] === "string";
    turn.said.delete(callId);
    turn.ended += 1;
    turn.completions.push({
      agent,
      model,
      ...(prompt && { prompt }),
      result,
      ...(!saysText && text !== "" && { text }),
      ...(reasoning !== "" && { reasoning }),
      ...(error !== undefined && { error }),
      ...(error_code && { error_code }),
      ...(Object.keys(usage).length > 0 && { usage }),
      elapsed_ms,
    });
  }

  #end(turn: OpenTurn, completed: EventOf<"RequestCompleted">): void {
    const { started, messages, answers, completions, calls } = turn;
    if (completed.request_id !== started.request_id) return;
    this.#turn = undefined;
    const { finish_reason, output, result, error, usage } = completed;
    const { request_metadata: metadata = {}, tools = [] } = this.#requests.get(started.request_id) ?? {};
    this.turns.push({
      request_id: started.request_id,
      operation: started.operation,
      input: started.input,
      at: started.ts,
      ...(Object.keys(metadata).length > 0 && { metadata: hideSecrets(metadata) as JsonObject }),
      ...(tools.length > 0 && { tools }),
      ...(started.attachments && { files: started.attachments.length }),
      ...(messages.length > 0 && { messages }),
      ...(answers.length > 0 && { answers }),
      ...(completions.length > 0 && { completions }),
      ...(calls.length > 0 && { calls }),
      end: {
        finish_reason,
        output,
        result,
        ...(error && { error }),
        ...(usage && { usage }),
        elapsed_ms: Date.parse(completed.ts) - Date.parse(started.ts),
      },
    });
  }
}

function answer(
  { waits, answers }: OpenTurn,
  waitId: number,
  given: Pick<RecordedAnswer, "values" | "expired">,
): void {
  const at = waits.get(waitId);
  const asked = at === undefined ? undefined : answers[at];
  if (at !== undefined && asked) answers[at] = { ...asked, ...given };
}

/** Records a call. What it calls itself is recorded only of another agent, whose code runs again. */
function call(turn: OpenTurn, event: EventOf<"ToolCall">): void {
  const { tool_call_id: callId, function_name: name, args, callee } = event;
  const kind = callee?.kind ?? "tool";
  if (turn.places.has(callId)) return;
  turn.places.set(callId, turn.calls.length);
  if (kind !== "agent") turn.closed.add(callId);
  // Of a call that does not end, nothing is told: it was open when its turn ended.
  turn.calls.push({ name, kind, args, code: "canceled" });
}

function endCall(
  turn: OpenTurn,
  callId: CallId,
  end: Pick<RecordedCall, "result" | "text" | "error" | "code">,
): void {
  const at = turn.places.get(callId);
  const made = at === undefined ? undefined : turn.calls[at];
  turn.ended += 1;
  if (at === undefined || made === undefined) return;
  const { name, kind, args } = made;
  turn.calls[at] = { name, kind, args, ...end };
}
