import type { RunId } from "../../protocol/ids.ts";
import type { RunView, TurnView } from "../../view/run-view.ts";
import { keepDraft } from "../data/drafts.ts";
import type { PageServer } from "../data/page-server.ts";

/** Where a run is forked to try a turn again. */
export interface ForkPoint {
  /** The turn that is tried again. */
  readonly turn: TurnView;
  /** The event at which the history of the fork ends: the end of the turn before, or 0. */
  readonly after: number;
}

/** The point before the newest turn of a view; `undefined` before the first one. */
export function forkPointOf({ turns }: RunView): ForkPoint | undefined {
  const turn = turns.at(-1);
  if (turn === undefined) return undefined;
  const before = turns.findLast(({ endedId }) => endedId !== undefined && endedId < turn.startedId);
  return { turn, after: before?.endedId ?? 0 };
}

/** Creates a run with the history before a turn; the input of the turn is the draft of its next message. */
export async function forkBefore(
  server: PageServer,
  runId: string,
  { turn, after }: ForkPoint,
): Promise<RunId> {
  const { json } = await server.ask("POST", `/runs/${encodeURIComponent(runId)}/fork`, { body: { after } });
  const { run_id: forked } = json as { readonly run_id: RunId };
  keepDraft(`run ${forked}`, typeof turn.input === "string" ? turn.input : JSON.stringify(turn.input));
  return forked;
}

/** Creates a run that goes on from a question of an open turn, which the code that is served asks anew. */
export async function forkAt(server: PageServer, runId: string, waitId: number): Promise<RunId> {
  const body = { wait_id: waitId };
  const { json } = await server.ask("POST", `/runs/${encodeURIComponent(runId)}/fork`, { body });
  return (json as { readonly run_id: RunId }).run_id;
}
