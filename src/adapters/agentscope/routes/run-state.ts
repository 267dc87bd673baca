import { requestIdOf } from "../../../protocol/events/encode.ts";
import type { Event, EventType } from "../../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { Address } from "../../../runtime/feeds.ts";
import { OpenWaits } from "../response/open-waits.ts";
import type { WaitEvent } from "../response/wait-message.ts";

/** What a run is doing. */
export interface RunState {
  /** The id of the newest event that was read. */
  readonly cursor: number;
  /** The open questions, oldest first. */
  readonly waits: readonly WaitEvent[];
  /** The requests that have begun and not ended. */
  readonly open: readonly RequestId[];
  /** The newest response: of the request that is open, else of the last one. */
  readonly newest: Began | undefined;
  /** The responses that an answer with an id of its client began. */
  readonly answers: ReadonlyMap<string, Began>;
}

/** A response and the event that began it. */
export interface Began {
  readonly requestId: RequestId;
  readonly began: number;
}

/** Reads what a run is doing from its log, mostly from the events of its newest request. */
export async function readRunState(runtime: Runtime, agent: string, runId: RunId): Promise<RunState> {
  const run: Address = { kind: "run", runId, agent };
  const { status, last_event_id: head } = await runtime.run(runId);
  const requestId = head === 0 ? undefined : await newestRequest(runtime, run);
  if (requestId === undefined)
    return { cursor: head, waits: [], open: [], newest: undefined, answers: new Map() };
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
const TYPES: readonly EventType[] = ["WaitForInput", "ToolResult", "ToolError"];

interface RequestState {
  readonly waits: OpenWaits;
  began: number;
  isOpen: boolean;
}

async function readState(runtime: Runtime, address: Address): Promise<RunState> {
  const requests = new Map<RequestId, RequestState>();
  const answers = new Map<string, Began>();
  let cursor = 0;
  for (let more = true; more;) {
    const page = await runtime.read(address, { after: cursor, filter: { types: TYPES } });
    for (const text of page.events) {
      addEvent(requests, answers, JSON.parse(text) as Event);
    }
    cursor = page.cursor;
    more = page.more;
  }
  const all = [...requests].sort(([, a], [, b]) => b.began - a.began);
  const open = all.filter(([, { isOpen }]) => isOpen);
  const [newest] = [...open, ...all];
  return {
    cursor,
    waits: open.flatMap(([, { waits }]) => waits.all),
    open: open.map(([requestId]) => requestId),
    newest: newest && { requestId: newest[0], began: newest[1].began },
    answers,
  };
}

function addEvent(requests: Map<RequestId, RequestState>, answers: Map<string, Began>, event: Event): void {
  if (event.request_id === null) return;
  const { request_id: requestId, id: began } = event;
  const known = requests.get(requestId);
  known?.waits.saw(event);
  switch (event.type) {
    case "RequestStarted":
      requests.set(requestId, { waits: new OpenWaits(), began, isOpen: true });
      break;
    case "WaitExpired":
      if (known) known.began = began;
      break;
    case "ResumeWithInput":
      if (known) known.began = began;
      if (event.resume_id !== undefined) answers.set(event.resume_id, { requestId, began });
      break;
    case "RequestCompleted":
      if (known) known.isOpen = false;
      break;
    default:
      break;
  }
}
