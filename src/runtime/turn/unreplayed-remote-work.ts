import type { CallId } from "../../protocol/ids.ts";
import { isUnder } from "../journal/call-id.ts";
import type { RemoteCursor } from "../agent/remote-port.ts";
import type { TurnJournal, LoggedRemoteWork } from "../replay/turn-journal.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { RunContext } from "../run-context.ts";

/** The remote work that the log has open and the replayed code has not continued yet. */
export class UnreplayedRemoteWork {
  readonly #open: Map<string, LoggedRemoteWork>;
  readonly #context: RunContext;
  readonly #recorder: Recorder;

  constructor(context: RunContext, { remote, outcomes }: TurnJournal, recorder: Recorder) {
    this.#open = remote.size === 0 ? NONE : new Map(remote);
    for (const scope of this.#open.keys()) if (outcomes.has(scope)) this.#open.delete(scope);
    this.#context = context;
    this.#recorder = recorder;
  }

  /** Removes and returns the newest cursor of a scope, for the code that continues it. */
  take(scope: string): RemoteCursor | undefined {
    const state = this.#open.get(scope)?.state;
    this.#open.delete(scope);
    return state;
  }

  /** Abandons the work under a call. The other servers are informed after the reason is committed. */
  giveUp(above: CallId): void {
    const { agents, environment } = this.#context;
    for (const [scope, { agent, state }] of this.#open) {
      if (!isUnder(scope, above)) continue;
      this.#open.delete(scope);
      const abandon = (): void => agents.remote.get(agent)?.abandon(state.kept, environment);
      // A microtask later, when the reason is recorded. A failed commit is reported to the run.
      Promise.resolve()
        .then(() => this.#recorder.committed())
        .then(abandon, () => {});
    }
  }
}

/** A shared empty map; it is never changed. */
const NONE: Map<string, LoggedRemoteWork> = new Map<string, LoggedRemoteWork>();
