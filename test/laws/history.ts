import type { EventLog } from "../../src/ports/event-log.ts";
import type { LogRecord } from "../../src/ports/log-batch.ts";
import type { Event } from "../../src/protocol/events/events.ts";
import { toEncoded } from "../../src/protocol/events/texts.ts";
import type { RequestId, RunId } from "../../src/protocol/ids.ts";
import type { Json, JsonObject } from "../../src/protocol/json.ts";

/** A step of a sequence, as the tests describe it. */
export interface Item {
  readonly what: string;
  /** Set for a step with an immediate value. */
  readonly value?: Json;
  /** For a call: its id. */
  readonly callId?: string;
  /** Its position in the whole log. */
  readonly at: number;
}

/** The outcome of a call. */
export interface Outcome {
  readonly ok: boolean;
  readonly value: Json;
  readonly code?: string;
  readonly at: number;
}

/** One turn as read from the log, without any part of the runtime. */
export interface History {
  readonly root: string;
  readonly items: ReadonlyMap<string, readonly Item[]>;
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** The calls of agents, tools and effects, by their id. */
  readonly calls: ReadonlyMap<string, { readonly name: string; readonly args: Json; readonly at: number }>;
  readonly attempts: ReadonlyMap<string, number>;
  /** The text of the newest attempt of each completion. */
  readonly words: ReadonlyMap<string, readonly string[]>;
  /** The configuration of the requested agent, and of called agents. */
  readonly configs: ReadonlyMap<string, JsonObject>;
  /** Each wait with the id and the key of its question. */
  readonly waits: ReadonlyMap<string, readonly [number, string]>;
  readonly events: readonly Event[];
  /** The asks and tells. */
  readonly sent: ReadonlySet<string>;
  /** The completions whose model is away. */
  readonly away: ReadonlySet<string>;
  /** The calls that wait for another call before they start. */
  readonly queued: ReadonlySet<string>;
  /** The calls that wait for a slot of their tool. */
  readonly slotless: ReadonlySet<string>;
  /** The positions where calls got the run memory. */
  readonly taken: ReadonlyMap<string, number>;
  /** The ids of all events of the run. */
  readonly ids: readonly number[];
  /** Events and records of the run, oldest first. */
  readonly entries: readonly (Event | LogRecord)[];
}

/** The number of attempts per call that do not count: another turn may have ended the process. */
export function countSpared(entries: readonly (Event | LogRecord)[], requestId: string): number {
  return entries.filter(
    (entry) =>
      "n" in entry &&
      entry.type === "RecoveryStarted" &&
      entry["request_id"] === requestId &&
      entry["spared"] === true,
  ).length;
}

/** Reads a turn from a log. */
export async function readHistory(log: EventLog, runId: RunId, requestId: RequestId): Promise<History> {
  const { events, records } = await log.read(runId, { after: 0, records: true });
  return toHistory(
    toEncoded(events).map((text) => JSON.parse(text) as Event),
    records,
    requestId,
  );
}

/** The events and records of a run, in the order of the log. */
export function toEntries(
  all: readonly Event[],
  records: readonly LogRecord[],
): readonly (Event | LogRecord)[] {
  const entries: (Event | LogRecord)[] = [];
  let next = 0;
  for (let id = 0; id <= all.length; id += 1) {
    const event = all[id - 1];
    if (event) entries.push(event);
    for (let record = records[next]; record !== undefined && record.after === id; record = records[next]) {
      entries.push(record);
      next += 1;
    }
  }
  if (next !== records.length) throw new Error("a record stands where there is no event");
  return entries;
}

/** Selects a turn from the entries of a run. */
export function toHistory(
  all: readonly Event[],
  records: readonly LogRecord[],
  requestId: RequestId,
): History {
  const entries = toEntries(all, records);
  const turn = all
    .filter(({ type, depth }) => type === "RequestStarted" && depth === 0)
    .findIndex(({ request_id }) => request_id === requestId);
  return new HistoryReader(`c${turn + 1}`, requestId).read(entries);
}

class HistoryReader {
  readonly #root: string;
  readonly #requestId: RequestId;
  readonly #items = new Map<string, Item[]>();
  readonly #outcomes = new Map<string, Outcome>();
  readonly #calls = new Map<string, { readonly name: string; readonly args: Json; readonly at: number }>();
  readonly #attempts = new Map<string, number>();
  readonly #words = new Map<string, string[]>();
  readonly #configs = new Map<string, JsonObject>();
  /** The newest recorded configuration of each agent in this turn. */
  readonly #configOf = new Map<string, JsonObject>();
  /** The configuration of the run. */
  #runConfig: JsonObject = {};
  readonly #waits = new Map<string, readonly [number, string]>();
  readonly #sent = new Set<string>();
  readonly #away = new Set<string>();
  readonly #queued = new Set<string>();
  readonly #slotless = new Set<string>();
  readonly #taken = new Map<string, number>();
  readonly #files = new Map<string, string>();
  readonly #made = new Set<string>();
  /** The remote calls, where only calls and questions are counted. */
  readonly #elsewhere = new Set<string>();
  /** The bodies of the messages of the run. */
  readonly #bodies = new Map<number, Json>();
  #at = 0;

  constructor(root: string, requestId: RequestId) {
    this.#root = root;
    this.#requestId = requestId;
  }

  read(entries: readonly (Event | LogRecord)[]): History {
    for (const entry of entries) {
      this.#at += 1;
      if (!("n" in entry) && entry.type === "MessageReceived") this.#bodies.set(entry.id, entry.body);
      if ("n" in entry) this.#record(entry);
      else if (entry.request_id === this.#requestId) this.#event(entry);
    }
    return {
      root: this.#root,
      items: this.#items,
      outcomes: this.#outcomes,
      calls: this.#calls,
      attempts: this.#attempts,
      words: this.#words,
      configs: this.#configs,
      waits: this.#waits,
      sent: this.#sent,
      events: entries.filter(
        (entry): entry is Event => !("n" in entry) && entry.request_id === this.#requestId,
      ),
      away: this.#away,
      queued: this.#queued,
      slotless: this.#slotless,
      taken: this.#taken,
      ids: entries.filter((entry) => !("n" in entry)).map((entry) => (entry as Event).id),
      entries,
    };
  }

  #event(event: Event): void {
    switch (event.type) {
      case "RequestStarted":
        if (event.depth > 0) return;
        this.#configs.set(this.#root, this.#runConfig);
        if (event.agent === "remote") this.#elsewhere.add(this.#root);
        return;
      case "ReasoningOutput":
        this.#words.get(event.call_id)?.push(event.content);
        return;
      case "TextOutput":
      case "ToolTextOutput": {
        if ("call_id" in event && event.call_id !== undefined) {
          this.#words.get(event.call_id)?.push(event.content);
          return;
        }
        const scope = event.branch ?? event.parent_call_id ?? this.#root;
        this.#item(scope, { what: `text ${event.content}` });
        return;
      }
      case "ToolCall":
        this.#attempts.set(event.tool_call_id, event.attempt ?? 1);
        if ((event.attempt ?? 1) > 1) return;
        this.#calls.set(event.tool_call_id, {
          name: event.function_name,
          args: event.args,
          at: this.#at,
        });
        if (event.mode !== undefined) this.#sent.add(event.tool_call_id);
        if (event.function_name === "keeper") this.#queued.add(event.tool_call_id);
        if (event.function_name === "remote.perform") this.#elsewhere.add(event.tool_call_id);
        this.#call(event.tool_call_id, `call ${event.function_name} ${JSON.stringify(event.args)}`);
        return;
      case "ToolResult":
        this.#settle(event.tool_call_id, { ok: true, value: event.result });
        return;
      case "ToolError":
        this.#settle(event.tool_call_id, { ok: false, value: null, code: event.code });
        return;
      case "CompletionCall":
        this.#attempts.set(event.call_id, event.attempt);
        this.#words.set(event.call_id, []);
        this.#away.delete(event.call_id);
        if (event.attempt === 1) this.#call(event.call_id, "complete");
        return;
      case "CompletionRetry":
        this.#away.add(event.call_id);
        return;
      case "CompletionResult":
        this.#settle(event.call_id, { ok: event.error === undefined, value: event.result });
        return;
      case "WaitForInput":
        this.#waits.set(event.call_id, [event.id, Object.keys(event.request_keys)[0] ?? ""]);
        this.#call(event.call_id, `wait ${JSON.stringify(event.request_keys)}`);
        return;
      case "WaitExpired": {
        const [callId] = [...this.#waits].find(([, [waitId]]) => waitId === event.wait_id) ?? [""];
        this.#settle(callId, { ok: true, value: null });
        return;
      }
      case "ResumeWithInput": {
        const [callId] = [...this.#waits].find(([, [waitId]]) => waitId === event.wait_id) ?? [""];
        this.#settle(callId, { ok: true, value: event.request_keys });
        return;
      }
      case "ArtifactGenerated":
        if (this.#elsewhere.has(event.parent_call_id ?? this.#root)) {
          this.#item(event.parent_call_id ?? this.#root, { what: `file ${event.name}` });
          return;
        }
        this.#settle(this.#files.get(event.artifact_id) ?? "", { ok: true, value: event.name });
        return;
      default:
        return;
    }
  }

  #record(record: LogRecord): void {
    if (record.type === "ConfigRecorded") this.#runConfig = record["args"] as JsonObject;
    const callId = record["call_id"] as string;
    if (callId !== undefined && !isOf(this.#root, callId)) return;
    switch (record.type) {
      case "Sleep":
        // It is recorded again when the clock was set back.
        if (!this.#made.has(callId)) this.#call(callId, `sleep ${record["ms"] as number}`);
        return;
      case "Receive":
        if (!this.#made.has(callId)) this.#call(callId, `receive ${record["name"] as string}`);
        return;
      case "Received":
        this.#received(callId, record);
        return;
      case "Woke":
        if (record["canceled"] === true) this.#settle(callId, { ok: false, value: null, code: "canceled" });
        else this.#settle(callId, { ok: true, value: null });
        return;
      case "Now":
      case "Random": {
        const scope = record["scope"] as string;
        if (isOf(this.#root, scope)) {
          this.#item(scope, { what: record.type, value: record["value"] as Json });
        }
        return;
      }
      case "Configured": {
        const agent = record["agent"] as string;
        const args = (record["args"] ?? this.#configOf.get(agent)) as JsonObject;
        this.#configOf.set(agent, args);
        this.#configs.set(callId, args);
        return;
      }
      case "Queued":
        this.#slotless.add(callId);
        return;
      case "Begun":
        this.#slotless.delete(callId);
        return;
      case "MemoryTaken":
        this.#queued.delete(callId);
        this.#taken.set(callId, this.#at);
        return;
      case "All":
        this.#call(callId, `all ${record["branches"] as number}`);
        return;
      case "Artifact":
        this.#files.set(record["artifact_id"] as string, callId);
        this.#call(callId, `artifact ${record["name"] as string}`);
        return;
      default:
        return;
    }
  }

  #received(callId: string, record: LogRecord): void {
    const bodies = (record["ids"] as readonly number[]).map((id) => this.#bodies.get(id) as Json);
    const name = record["name"] as string | undefined;
    if (name === undefined) this.#settle(callId, { ok: true, value: bodies[0] ?? null });
    else this.#item(callId.slice(0, callId.lastIndexOf(".")), { what: `received ${name}`, value: bodies });
  }

  #call(callId: string, what: string): void {
    this.#item(callId.slice(0, callId.lastIndexOf(".")), { what, callId });
  }

  #item(scope: string, item: Omit<Item, "at">): void {
    const items = this.#items.get(scope) ?? [];
    this.#items.set(scope, items);
    items.push({ ...item, at: this.#at });
    if (item.callId === undefined) return;
    this.#made.add(item.callId);
    const place = this.#elsewhere.has(scope)
      ? items.filter(({ callId }) => callId !== undefined).length
      : items.length;
    if (item.callId !== `${scope}.${place}`)
      throw new Error(`${item.callId} is not the ${items.length}th thing of ${scope}`);
  }

  #settle(callId: string, outcome: Omit<Outcome, "at">): void {
    if (this.#outcomes.has(callId)) throw new Error(`${callId} has two outcomes`);
    if (!this.#made.has(callId))
      throw new Error(`the log has an outcome of ${callId}, which was never called`);
    this.#outcomes.set(callId, { ...outcome, at: this.#at });
  }
}

/** The open waits, with the id and the key of their questions. */
export function openWaits({ waits, outcomes }: History): readonly (readonly [string, number, string])[] {
  return [...waits]
    .filter(([callId]) => !outcomes.has(callId) && !isUnderEnded(callId, outcomes))
    .map(([callId, question]) => [callId, ...question]);
}

/**
 * Whether a turn waits for its caller: a wait is open, and every other open call is a wait, a sleep, a receive or an
 * ask, which other actors have accepted when no work is left.
 */
export function isParked({ items, outcomes, waits, sent, queued, away }: History): boolean {
  const calls = [...items.values()].flat().filter(({ what }) => !what.startsWith("all "));
  const isRest = ({ what }: Item): boolean => what.startsWith("sleep ") || what.startsWith("receive ");
  const rests = new Set(calls.filter(isRest).map(({ callId }) => callId));
  const open = calls
    .map(({ callId = "" }) => callId)
    .filter((callId) => callId !== "" && !outcomes.has(callId) && !isUnderEnded(callId, outcomes));
  const leaves = open.filter((callId) => !open.some((other) => isInside(other, callId)));
  return (
    leaves.some((callId) => waits.has(callId)) &&
    leaves.every((leaf) => [waits, rests, sent, queued, away].some((resting) => resting.has(leaf)))
  );
}

/** Whether a sequence was cut off because a call above it ended before it. */
export function isCut({ outcomes }: History, scope: string): boolean {
  for (const [callId, { code }] of outcomes) {
    if (code !== undefined && GIVEN_UP.has(code) && (scope === callId || isInside(scope, callId)))
      return true;
  }
  return false;
}

/** The codes of calls whose work may end at any place. */
const GIVEN_UP: ReadonlySet<string> = new Set(["canceled", "interrupted", "timeout", "overloaded"]);

/** Whether a call or a sequence is under a call. */
export function isInside(place: string, callId: string): boolean {
  return place.startsWith(`${callId}.`) || place.startsWith(`${callId}:`);
}

function isUnderEnded(callId: string, outcomes: History["outcomes"]): boolean {
  return [...outcomes.keys()].some((above) => isInside(callId, above));
}

function isOf(root: string, place: string): boolean {
  return place === root || place.startsWith(`${root}.`);
}
