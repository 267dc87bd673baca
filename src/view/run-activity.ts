import { requestIdOf } from "../protocol/events/encode.ts";
import type { EventType } from "../protocol/events/event-body.ts";
import type { Event } from "../protocol/events/events.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Runtime } from "../runtime/api.ts";
import type { Address } from "../runtime/feeds.ts";
import { RunFold } from "./fold.ts";
import type { WaitView } from "./run-view.ts";
import { segmentsOf } from "./segments.ts";
import type { Segment } from "./segments.ts";

/** What a run is doing. */
export interface RunActivity {
  /** The id of the newest event that was read. */
  readonly cursor: number;
  /** The open questions, oldest first. */
  readonly waits: readonly WaitView[];
  /** The questions of the newest requests that are closed, oldest first. */
  readonly closed: readonly WaitView[];
  /** The requests that have begun and not ended. */
  readonly open: readonly RequestId[];
  /** The newest response: of the request that is open, else of the last one. */
  readonly newest: ResponseStart | undefined;
  /** The responses that an answer with an id of its client began. */
  readonly answers: ReadonlyMap<string, ResponseStart>;
}

/** A response and the event that began it. */
export interface ResponseStart {
  readonly requestId: RequestId;
  readonly began: number;
}

/** Reads what a run is doing from its log, mostly from the events of its newest request. */
export async function readRunActivity(runtime: Runtime, agent: string, runId: RunId): Promise<RunActivity> {
  const run: Address = { kind: "run", runId, agent };
  const { status, last_event_id: head } = await runtime.run(runId);
  const requestId = head === 0 ? undefined : await newestRequest(runtime, run);
  if (requestId === undefined)
    return { cursor: head, waits: [], closed: [], open: [], newest: undefined, answers: new Map() };
  const state = await readState(runtime, { kind: "request", runId, requestId, agent });
  // A request that was canceled in the queue can be newer than the one that is open.
  return status === "idle" || state.open.length > 0 ? state : readState(runtime, run);
}

/** The request of the newest events; undefined for a run in which none has begun. */
async function newestRequest(runtime: Runtime, run: Address): Promise<RequestId | undefined> {
  const feed = await runtime.follow(run, { filter: { level: "all" } });
  for await (const { events } of feed.pages) {
    for (const text of events) {
      const requestId = requestIdOf(text);
      if (requestId !== null) return requestId;
    }
    return undefined;
  }
  return undefined;
}

/** The events that open and close questions. Those that begin and end requests are always read. */
const TYPES: readonly EventType[] = ["WaitForInput", "ToolCall", "ToolResult", "ToolError"];

async function readState(runtime: Runtime, address: Address): Promise<RunActivity> {
  const fold = new RunFold();
  let cursor = 0;
  for (let more = true; more;) {
    const page = await runtime.read(address, { after: cursor, filter: { types: TYPES } });
    for (const text of page.events) fold.add(JSON.parse(text) as Event);
    cursor = page.cursor;
    more = page.more;
  }
  const { view } = fold;
  const last = new Map(segmentsOf(view).map((segment) => [segment.turn.requestId, segment]));
  const all = [...last.values()].sort((a, b) => b.id - a.id);
  const open = all.filter(({ end }) => end === undefined);
  const [newest] = [...open, ...all];
  const answers = view.waits.flatMap(({ resumeId, requestId, answeredId }): [string, ResponseStart][] =>
    resumeId === undefined || answeredId === undefined ? [] : [[resumeId, { requestId, began: answeredId }]],
  );
  return {
    cursor,
    waits: open.flatMap(({ waits }) => waits),
    closed: view.waits.filter(({ state }) => state !== "open"),
    open: open.map(({ turn }) => turn.requestId),
    newest: newest && toBegan(newest),
    answers: new Map(answers),
  };
}

function toBegan({ id, turn }: Segment): ResponseStart {
  return { requestId: turn.requestId, began: id };
}
