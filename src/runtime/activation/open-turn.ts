import type { Speaker } from "../../protocol/events/encode.ts";
import type { Agent } from "../agent/agent.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import type { RunContext } from "../run-context.ts";
import type { Inbox } from "../scheduler/inbox.ts";
import { ActiveTurn } from "../turn/active-turn.ts";
import type { TurnListener } from "../turn/active-turn.ts";
import type { RunLedger } from "./run-ledger.ts";

/** The parts of a turn that its run does not have. */
export interface OpenTurnOptions {
  readonly agent: Agent;
  readonly speaker: Speaker;
  readonly journal: TurnJournal;
  readonly inbox: Inbox;
  readonly listener: TurnListener;
}

/** Creates the turn of the started request of a run; `undefined` if none has started. */
export function openTurn(
  context: RunContext,
  { runId, key, recorder, started, state, system }: RunLedger,
  { agent, speaker, journal, inbox, listener }: OpenTurnOptions,
): ActiveTurn | undefined {
  if (started?.turn === undefined) return undefined;
  const { memory } = state;
  return new ActiveTurn({
    context,
    runId,
    key,
    request: { ...started, turn: started.turn },
    agent,
    speaker,
    journal,
    memory,
    prompt: state.prompts?.[agent.name],
    recorder,
    inbox,
    system,
    listener,
  });
}
