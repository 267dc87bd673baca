import type { Event } from "../../protocol/events/events.ts";
import { isUnder } from "../../protocol/ids.ts";
import type { CallView, RunView, TurnView } from "../../view/run-view.ts";

/** The part of a view that belongs to one actor: a turn or a call, with everything under it. */
export function narrowTo(view: RunView, actor: CallView): RunView {
  const { key, depth } = actor;
  const turn = view.turns.find(({ requestId }) => requestId === actor.requestId);
  const parts = view.parts.filter((part) => isIn(part.actor, key));
  const partIds = new Set(parts.map(({ id }) => id));
  return {
    ...view,
    turns: turn === undefined ? [] : [actor.kind === "turn" ? turn : toTurn(turn, actor)],
    // What the actor says is the conversation; what its callees say is inside the calls.
    parts: parts.map((part) => ({ ...part, depth: part.depth - depth })),
    calls: new Map([...view.calls].filter(([other]) => isIn(other, key))),
    waits: view.waits.filter((wait) => isIn(wait.call, key)),
    machines: new Map([...view.machines].filter(([other]) => isIn(other, key))),
    files: view.files.filter(({ eventId }) => partIds.has(eventId)),
  };
}

/** Whether an event belongs to an actor: to its call, or to a call below it. */
export function isOfActor(event: Event, { requestId, callId }: CallView): boolean {
  if (event.request_id !== requestId) return false;
  const { parent_call_id: parent, tool_call_id: tool, call_id: own } = event as CallIds;
  return callId === "" || [parent, tool, own].some((id) => id !== undefined && isUnder(id, callId));
}

interface CallIds {
  readonly parent_call_id?: string;
  readonly tool_call_id?: string;
  readonly call_id?: string;
}

/** The turn as the root of one of its calls. The end of the turn is not that of the call. */
function toTurn(turn: TurnView, { key }: CallView): TurnView {
  const { endedId: _, ...open } = turn;
  return { ...open, root: key };
}

/** Whether the key of a call or a machine is that of a call, or below it. */
function isIn(key: string, above: string): boolean {
  // The key of a turn ends with `/`; what follows the space in the key of a machine is its place.
  return above.endsWith("/") ? key.startsWith(above) : isUnder(key, above) || key.startsWith(`${above} `);
}
