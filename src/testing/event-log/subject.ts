import { onTestFinished } from "vitest";
import type { Cursor, EventLog } from "../../ports/event-log.ts";
import type { Batch, LogRecord, RequestMark, RunAlias, RunRow } from "../../ports/log-batch.ts";
import { createSpeaker } from "../../protocol/events/encode.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";

/** An engine under test. */
export interface EventLogSubject {
  /** The name of the engine in the test report. */
  readonly name: string;
  /** Opens an empty log; the suite closes it. */
  open(): Promise<EventLog>;
  /** For a durable engine: closes the log and opens the same data again. */
  reopen?(log: EventLog): Promise<EventLog>;
  /** For an engine that several nodes share: opens the data of a log for one more node, beside it. */
  join?(log: EventLog): Promise<EventLog>;
  /** For an engine that shares hints between nodes: from now on no hint reaches a log. */
  loseHints?(log: EventLog): Promise<void>;
}

/** One of several nodes that share a log. */
export type Node = EventLog & { readonly node: string };

/** Opens an empty log for the duration of a test. */
export async function openFor(subject: EventLogSubject): Promise<EventLog> {
  const log = await subject.open();
  onTestFinished(() => log.close());
  return log;
}

/** Closes a log and opens the same data again, for the rest of the test. */
export async function reopenFor(
  reopen: (log: EventLog) => Promise<EventLog>,
  log: EventLog,
): Promise<EventLog> {
  const next = await reopen(log);
  onTestFinished(() => next.close());
  return next;
}

/** Opens the data of a log for one more node, for the rest of the test. */
export async function joinFor(join: (log: EventLog) => Promise<EventLog>, log: EventLog): Promise<Node> {
  const joined = await join(log);
  onTestFinished(() => joined.close());
  if (joined.node === undefined) throw new Error("a node that shares a log has an id");
  return joined as Node;
}

export function asRunId(text: string): RunId {
  return text;
}

/** The id of a run that can take a name from another one: this one, or one like it. */
export function besideId(log: EventLog, other: string, text: string): RunId {
  for (let n = 0; ; n += 1) {
    const id = asRunId(n === 0 ? text : `${text}-${n}`);
    if (log.isBeside?.(id, asRunId(other)) !== false) return id;
  }
}

export function asRequestId(text: string): RequestId {
  return text;
}

/** An alias of agent `echo`. */
export function alias(name: string): RunAlias {
  return { agent: "echo", name };
}

/** The row of an idle run of agent `echo`. */
export function row(fields: Partial<RunRow> = {}): RunRow {
  return {
    agent: "echo",
    status: "idle",
    createdAt: 1_000,
    updatedAt: 1_000,
    turns: 1,
    initialInput: null,
    metadata: {},
    ...fields,
  };
}

/** Encoded events with the given ids. */
export function events(from: number, to: number): readonly string[] {
  const texts: string[] = [];
  for (let id = from; id <= to; id += 1) texts.push(JSON.stringify({ id, type: "TextOutput" }));
  return texts;
}

/** Texts of one speaker with the given ids, with characters that JSON escapes. */
export function texts(id: RunId, from: number, to: number, agent = "echo"): Texts {
  const speaker = createSpeaker({ run_id: id, request_id: asRequestId("request"), agent, depth: 0 });
  const said: (number | string)[] = [];
  for (let text = from; text <= to; text += 1) said.push(text - from, `text "${text}"\n€ 😀`);
  return { speaker, ending: "", first: from, at: 1_000 * from, said };
}

export function record(n: number, after: number): LogRecord {
  return { n, after, type: "Now", value: n * 10 };
}

/** A mark that accepts a request. */
export function accepted(id: string, fields: Partial<RequestMark>): RequestMark {
  return { requestId: asRequestId(id), phase: "queued", accepted: { n: 1, after: 0 }, ...fields };
}

/** The numbers from one to another, both included. */
export function numbers(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, index) => from + index);
}

/** A batch of `count` events that continues from the cursor, with a row if the run has none yet. */
export function nextEvents(cursor: Cursor, count: number): Batch {
  return {
    events: events(cursor.head + 1, cursor.head + count),
    records: [],
    ...(cursor.head === 0 && { run: row() }),
  };
}

/** Claims a run and appends its first events. */
export async function startRun(log: EventLog, id: string, count: number): Promise<Cursor> {
  const { cursor } = await log.claim(asRunId(id));
  return log.append(cursor, nextEvents(cursor, count));
}
