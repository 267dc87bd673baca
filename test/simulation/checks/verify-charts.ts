import type { Event } from "../../../src/protocol/events/events.ts";
import type { Json } from "../../../src/protocol/json.ts";
import type { LoggedRun, Observer } from "./observer.ts";

type Typed<Type extends Event["type"]> = Event & { readonly type: Type };

/** An open turn of the state machine, as far as its log was read. */
interface ChartTurn {
  readonly requestId: string;
  state: Json;
  readonly notes: unknown[];
}

/**
 * The laws of state machines: each recorded state follows from the one before by one transition of the chart, an operation
 * that joins a turn is taken by it once, in one commit, and the output has the notes in the order of the log.
 */
export function findWrongCharts({ runs, requests }: Observer): readonly string[] {
  const faults: string[] = [];
  const noted = new Set<string>();
  for (const [runId, run] of runs) {
    if (!run.events.some(({ agent }) => agent === "chart")) continue;
    const say = (what: string): number => faults.push(`run ${runId} of the chart: ${what}`);
    checkRun(run, say);
    for (const event of run.events) {
      if (event.type !== "MessageReceived") continue;
      if (noted.has(event.message_id)) say(`${event.message_id} was taken twice`);
      noted.add(event.message_id);
      if (requests.get(event.message_id)?.end?.finish_reason !== "success")
        say(`${event.message_id} was taken, and its request did not succeed`);
    }
  }
  return faults;
}

function checkRun({ events }: LoggedRun, say: (what: string) => void): void {
  let turn: ChartTurn | undefined;
  for (const [index, event] of events.entries()) {
    if (event.depth > 0) continue;
    switch (event.type) {
      case "RequestStarted":
        if (turn) checkJoined(event, events.slice(index), turn, say);
        else turn = { requestId: event.request_id, state: "idle", notes: [] };
        break;
      case "MessageReceived":
        if (turn?.requestId !== event.request_id) say(`${event.message_id} was taken by no open turn`);
        if (event.name === "note") turn?.notes.push((event.body as { readonly number: number }).number);
        break;
      case "StateChanged":
        if (turn === undefined) say(`event ${event.id} changes the state of no open turn`);
        else checkStep(turn, event, say);
        break;
      case "RequestCompleted":
        if (event.request_id !== turn?.requestId) break;
        checkEnd(turn, event, say);
        turn = undefined;
        break;
      default:
    }
  }
}

/** A request inside the turn of another one ends in the commit of its start. */
function checkJoined(
  { request_id: requestId }: Typed<"RequestStarted">,
  following: readonly Event[],
  turn: ChartTurn,
  say: (what: string) => void,
): void {
  const until = following.findIndex(
    (event) => event.type === "RequestCompleted" && event.request_id === requestId,
  );
  const between = following.slice(1, until);
  const isCanceled = between.some(({ type, request_id: id }) => type === "CancelRequest" && id === requestId);
  const taken = between.filter((event) => event.type === "MessageReceived" && event.message_id === requestId);
  const isForeign = between.some(({ request_id: id }) => id !== requestId && id !== turn.requestId);
  if (until < 0) say(`${requestId} has started in a turn, and does not end`);
  else if (taken.length !== (isCanceled ? 0 : 1) || isForeign)
    say(`${requestId} was taken ${taken.length} times by ${turn.requestId}`);
}

function checkStep(
  turn: ChartTurn,
  { id, value, cause, status }: Typed<"StateChanged">,
  say: (what: string) => void,
): void {
  const from = turn.state;
  const isNext = successorsOf(from, cause).some((next) => JSON.stringify(next) === JSON.stringify(value));
  const isDone = value === "done" || value === "aborted";
  if (!isNext || isDone !== (status === "done"))
    say(`event ${id} changes ${JSON.stringify(from)} to ${JSON.stringify(value)} for ${cause}`);
  turn.state = value;
}

/** The states that follow a state for an event; the chart in other words. */
function successorsOf(state: Json, cause: string): readonly Json[] {
  if (state === "idle") return cause === "open" ? [{ working: { talks: "talking", calls: "calling" } }] : [];
  if (state === "done" || state === "aborted") return [];
  if (cause === "note") return [state];
  if (cause === "abort") return ["aborted"];
  if (state === "asking") return ["resume", "after patience"].includes(cause) ? ["done"] : [];
  const regions = (state as unknown as { readonly working: Regions }).working;
  const next = regionsAfter(regions, cause);
  if (next === undefined) return [];
  return [next.talks === "over" && next.calls === "over" ? "asking" : { working: { ...next } }];
}

/** The states of the two regions of `working`. */
interface Regions {
  readonly talks: string;
  readonly calls: string;
}

function regionsAfter({ talks, calls }: Regions, cause: string): Regions | undefined {
  if (talks === "talking" && cause.endsWith(" talk")) return { talks: "pausing", calls };
  if (talks === "pausing" && cause === "after pause") return { talks: "over", calls };
  if (calls === "calling" && cause.endsWith(" part")) return { talks, calls: "over" };
  return undefined;
}

function checkEnd(
  { requestId, state, notes }: ChartTurn,
  { finish_reason: reason, output }: Typed<"RequestCompleted">,
  say: (what: string) => void,
): void {
  if (reason !== "success") return;
  if (state !== "done" && state !== "aborted") say(`${requestId} has ended in ${JSON.stringify(state)}`);
  if (JSON.stringify(output) !== JSON.stringify({ notes }))
    say(`${requestId} has the output ${JSON.stringify(output)} and took the notes ${JSON.stringify(notes)}`);
}
