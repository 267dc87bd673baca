import { typeOf } from "../../../protocol/events/encode.ts";
import type { Event } from "../../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { Runtime } from "../../../runtime/api.ts";
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

interface RequestState {
  readonly waits: Map<number, WaitEvent>;
  began: number;
  isOpen: boolean;
}

/** Reads what a run is doing from its log. */
export async function readRunState(runtime: Runtime, agent: string, runId: RunId): Promise<RunState> {
  const requests = new Map<RequestId, RequestState>();
  const answers = new Map<string, Began>();
  let cursor = 0;
  for (let more = true; more;) {
    const page = await runtime.read(
      { kind: "run", runId, agent },
      { after: cursor, filter: { types: ["WaitForInput"] } },
    );
    for (const text of page.events)
      if (typeOf(text) !== "CancelRequest") add(requests, answers, JSON.parse(text) as Event);
    cursor = page.cursor;
    more = page.more;
  }
  const all = [...requests].sort(([, a], [, b]) => b.began - a.began);
  const open = all.filter(([, { isOpen }]) => isOpen);
  const [newest] = [...open, ...all];
  return {
    cursor,
    waits: open.flatMap(([, { waits }]) => [...waits.values()]),
    open: open.map(([requestId]) => requestId),
    answers,
    newest: newest && { requestId: newest[0], began: newest[1].began },
  };
}

function add(requests: Map<RequestId, RequestState>, answers: Map<string, Began>, event: Event): void {
  if (event.request_id === null) return;
  const known = requests.get(event.request_id);
  switch (event.type) {
    case "RequestStarted":
      requests.set(event.request_id, { waits: new Map(), began: event.id, isOpen: true });
      break;
    case "WaitForInput":
      known?.waits.set(event.wait_id, event);
      break;
    case "ResumeWithInput":
      known?.waits.delete(event.wait_id);
      if (known) known.began = event.id;
      if (event.resume_id !== undefined)
        answers.set(event.resume_id, { requestId: event.request_id, began: event.id });
      break;
    case "RequestCompleted":
      known?.waits.clear();
      if (known) known.isOpen = false;
      break;
    default:
      break;
  }
}
