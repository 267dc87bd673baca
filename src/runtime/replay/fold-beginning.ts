import type { EventLog } from "../../ports/event-log.ts";
import type { Base } from "../../ports/log-batch.ts";
import { idOf, requestIdOf, typeOf } from "../../protocol/events/encode.ts";
import type { EventType } from "../../protocol/events/event-body.ts";
import type { Event } from "../../protocol/events/events.ts";
import { countTexts } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { pathTo } from "../journal/call-id.ts";
import { isRetry } from "../journal/progress.ts";
import { readOne, toBeginning } from "./beginning.ts";
import type { Beginning } from "./beginning.ts";
import { forEachEntry } from "./entries.ts";
import type { PlacedRecord, Visitor } from "./entries.ts";
import { toHeading, withEvent, withProgress, withRecord } from "./heading.ts";
import { initialRunState, startedOf } from "./run-state.ts";
import type { RunState } from "./run-state.ts";

/**
 * Makes the base of a run whose log is to begin behind an event: the state there, and what is still needed of the time before:
 * that of open requests, calls and questions, of unread messages, and of messages to other actors that have not arrived.
 */
export async function foldBeginning(log: EventLog, runId: RunId, end: number): Promise<Base> {
  const fold = new BeginningFold();
  await forEachEntry(log, runId, { head: 0, records: 0, end }, fold);
  for (const kind of [undefined, "dead"] as const) {
    for (const { event } of await log.outbox({ runId, ...(kind && { kind }) })) {
      const text = event > end ? undefined : await readOne(log, runId, event);
      if (text !== undefined) fold.keep(text);
    }
  }
  return { head: end, records: fold.count, data: fold.beginning as unknown as Json };
}

class BeginningFold implements Visitor {
  /** The number of records so far. */
  count = 0;
  #state: RunState = initialRunState;
  #id = 0;
  /** Events that are needed until something ends, by their ids. */
  readonly #open = new Map<number, OpenEvent>();
  readonly #messages = new Map<number, string>();
  /** Events that stay needed: of messages to other actors. */
  readonly #sent = new Map<number, string>();
  readonly #accepted = new Map<RequestId, PlacedRecord>();
  /** The newest states of the machines of the open turn, by the scopes of their actors. */
  readonly #machines = new Map<string, PlacedRecord>();

  base({ head, records, data }: Base): void {
    const beginning = toBeginning({ head, records, data });
    for (const text of beginning.events) this.#see(idOf(text), text);
    for (const record of beginning.records) this.#note(record);
    this.#state = beginning.state;
    this.#id = head;
    this.count = records;
  }

  event(text: string): void {
    this.#id += 1;
    this.#state = withEvent(this.#state, toHeading(text));
    this.#see(this.#id, text);
  }

  texts(texts: Texts): void {
    this.#id += countTexts(texts);
    this.#state = withProgress(this.#state, texts.speaker.address.request_id);
  }

  record(record: PlacedRecord): void {
    this.count = record.n;
    this.#state = withRecord(this.#state, record);
    this.#note(record);
  }

  keep(text: string): void {
    this.#sent.set(idOf(text), text);
  }

  get beginning(): Beginning {
    const { unread = [], newest = [], open: requests } = this.#state;
    const needed = new Set([...unread, ...newest].map(({ id }) => id));
    const messages = [...this.#messages].filter(([id]) => needed.has(id));
    const open = [...this.#open].map(([id, { text }]): [number, string] => [id, text]);
    const events = [...new Map([...open, ...messages, ...this.#sent])];
    const named = new Set<string | null>(requests.map(({ accepted }) => accepted.requestId));
    for (const [, text] of events) named.add(requestIdOf(text));
    const records = [...this.#accepted].filter(([requestId]) => named.has(requestId));
    return {
      state: this.#state,
      events: events.toSorted(([a], [b]) => a - b).map(([, text]) => text),
      records: [...records.map(([, record]) => record), ...this.#machines.values()].toSorted(
        (a, b) => a.n - b.n,
      ),
    };
  }

  #note(record: PlacedRecord): void {
    if (record.type === "Accepted") this.#accepted.set(record.accepted.requestId, record);
    else if (record.type === "MachineState") this.#machines.set(record.scope, record);
    else if (record.type === "Continued") this.#machines.clear();
  }

  #see(id: number, text: string): void {
    const type = typeOf(text);
    if (type === "MessageReceived") this.#messages.set(id, text);
    if (!SEEN.has(type)) return;
    const event = JSON.parse(text) as Event;
    switch (event.type) {
      case "RequestStarted":
      case "RequestCanceling":
      case "WaitForInput":
        this.#open.set(id, { text, event });
        return;
      case "ToolCall":
      case "CompletionCall":
        // Of the attempts after the first one, the newest.
        if (isRetry(event)) this.#end((other) => isRetry(other) && callOf(other) === callOf(event));
        this.#open.set(id, { text, event });
        return;
      case "StateChanged":
        // The newest one of its actor.
        this.#end((other) => other.type === "StateChanged" && actorOf(other) === actorOf(event));
        this.#open.set(id, { text, event });
        return;
      case "ToolResult":
      case "ToolError":
      case "CompletionResult":
        this.#endCall(callOf(event) ?? "");
        return;
      case "ResumeWithInput":
      case "WaitExpired":
        this.#open.delete(event.wait_id);
        return;
      case "RequestCompleted":
        if (event.depth > 0) return;
        this.#end((other) => other.request_id === event.request_id);
        // The machines are those of the turn that has started, which the end of a request inside it leaves open.
        if (startedOf(this.#state) === undefined) this.#machines.clear();
        return;
      default:
    }
  }

  /** A call has ended, and with it everything below it. */
  #endCall(callId: string): void {
    this.#end((event) => callOf(event) === callId || isUnder(event.parent_call_id, callId));
    for (const scope of this.#machines.keys()) if (isUnder(scope, callId)) this.#machines.delete(scope);
  }

  #end(isOver: (event: Event) => boolean): void {
    for (const [id, { event }] of this.#open) if (isOver(event)) this.#open.delete(id);
  }
}

interface OpenEvent {
  readonly text: string;
  readonly event: Event;
}

/** What opens or ends something. */
const SEEN: ReadonlySet<EventType> = new Set([
  "RequestStarted",
  "RequestCanceling",
  "RequestCompleted",
  "WaitForInput",
  "ResumeWithInput",
  "WaitExpired",
  "ToolCall",
  "ToolResult",
  "ToolError",
  "CompletionCall",
  "CompletionResult",
  "StateChanged",
]);

function callOf(event: Event): string | undefined {
  if ("tool_call_id" in event) return event.tool_call_id;
  return event.type === "CompletionCall" || event.type === "CompletionResult" ? event.call_id : undefined;
}

/** The actor that an event belongs to: a call, or the turn of a request. */
function actorOf({ parent_call_id: callId, request_id: requestId }: Event): string {
  return callId ?? requestId ?? "";
}

/** Whether a call or scope is that of a call, or below it. */
function isUnder(scope: string | undefined, callId: string): boolean {
  return scope !== undefined && pathTo(scope).includes(callId);
}
