import { createSpeaker } from "../../protocol/events/encode.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { RemoteCursor } from "../agent/remote-port.ts";
import { pathTo } from "../journal/call-id.ts";
import { isUnder } from "../../protocol/ids.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { CallRecord, LoggedCall, LoggedRemoteWork, TurnJournal } from "../replay/turn-journal.ts";
import type { RunContext } from "../run-context.ts";
import { toolCanceled } from "../scheduler/tool-end.ts";
import type { Subscriptions } from "../scheduler/subscriptions.ts";
import { toCancel } from "./open-asks.ts";
import type { OpenAsks } from "./open-asks.ts";
import type { SharedMemory } from "./shared-memory.ts";

/** What is needed of the turn: its journal, and, while it is in memory, the parts that end its calls. */
export interface LoggedTurn {
  readonly context: RunContext;
  readonly runId: RunId;
  readonly requestId: RequestId;
  readonly recorder: Recorder;
  readonly journal: TurnJournal;
  readonly calls?: { readonly shared: SharedMemory };
  readonly subscriptions?: Subscriptions | undefined;
  readonly openAsks?: OpenAsks | undefined;
}

/** The calls, and the work on other servers, that the log has open and the replayed code has not reached again. */
export class UnreplayedCalls {
  readonly #turn: LoggedTurn;
  readonly #calls = new Map<CallId, MadeCall>();
  /** All open calls of the log by the calls and scopes above them, themselves included. */
  #callsUnder: Map<string, MadeCall[]> | undefined;
  readonly #remote = new Map<string, LoggedRemoteWork>();

  constructor(turn: LoggedTurn) {
    const { calls, open, scopes } = turn.journal;
    this.#turn = turn;
    for (const { callId, made } of open) if (made) this.#calls.set(callId, { callId, ...made });
    for (const [path, { remote }] of scopes)
      if (remote && calls.get(path)?.outcome === undefined) this.#remote.set(path, remote);
  }

  /** Registers that the code has made a call again. */
  reached(callId: CallId): void {
    this.#calls.delete(callId);
  }

  /** Removes and returns the newest cursor of a scope, for the code that continues the remote work. */
  takeRemote(scope: string): RemoteCursor | undefined {
    const state = this.#remote.get(scope)?.state;
    this.#remote.delete(scope);
    return state;
  }

  /** Records the cancellation of the calls under a call, deepest first, and abandons the remote work under it. */
  cancel(above: CallId): void {
    const { runId, requestId, calls, recorder, subscriptions, openAsks } = this.#turn;
    const taken = this.#take(above);
    for (const { callId } of taken) calls?.shared.leave(callId);
    for (const call of taken) {
      const { agent, depth, parentCallId } = call;
      const speaker = createSpeaker({
        run_id: runId,
        request_id: requestId,
        agent,
        depth,
        ...(parentCallId !== undefined && { parent_call_id: parentCallId }),
      });
      if (parentCallId !== undefined) subscriptions?.introduce(speaker, parentCallId);
      recorder.event(speaker, toolCanceled(call));
      if (call.sent?.mode === "ask") recorder.outbox(toCancel(call.sent));
      openAsks?.dropped(call.callId);
    }
    for (const scope of this.#remote.keys()) if (isUnder(scope, above)) this.#abandon(scope);
  }

  #take(above: CallId): readonly MadeCall[] {
    if (this.#calls.size === 0) return [];
    this.#callsUnder ??= byPath(this.#calls.values());
    const calls = (this.#callsUnder.get(above) ?? []).filter(({ callId }) => this.#calls.delete(callId));
    return calls.toReversed().sort((a, b) => b.depth - a.depth);
  }

  /** Informs the other server after the reason is committed. */
  #abandon(scope: string): void {
    const { context, recorder } = this.#turn;
    const { agent, state } = this.#remote.get(scope) ?? {};
    this.#remote.delete(scope);
    if (agent === undefined || state === undefined) return;
    const abandon = (): void => context.agents.remote.get(agent)?.abandon(state.kept, context.environment);
    // Waits one microtask, after which the reason is recorded. A failed commit is reported to the run.
    Promise.resolve()
      .then(() => recorder.committed())
      .then(abandon, () => {});
  }
}

type MadeCall = LoggedCall & Pick<CallRecord, "callId">;

function byPath(calls: Iterable<MadeCall>): Map<string, MadeCall[]> {
  const under = new Map<string, MadeCall[]>();
  for (const call of calls) {
    for (const above of pathTo(call.callId)) {
      const known = under.get(above);
      if (known) known.push(call);
      else under.set(above, [call]);
    }
  }
  return under;
}
