import type { Environment } from "../../ports/environment.ts";
import type { CallId } from "../../protocol/ids.ts";
import { isUnder } from "../journal/call-id.ts";
import type { RemoteHandler, RemoteCursor } from "../agent/remote-port.ts";
import type { TurnJournal, LoggedRemoteWork } from "../replay/turn-journal.ts";
import type { Recorder } from "../journal/recorder.ts";

/** Whose log it is, and how those elsewhere are told. */
export interface UnreplayedRemoteWorkOptions {
  readonly recorder: Recorder;
  readonly environment: Environment;
  /** An agent elsewhere that an agent here may call. */
  remoteOf(name: string): RemoteHandler | undefined;
}

/** The work elsewhere that the log has open, and that nothing here has taken up again. */
export class UnreplayedRemoteWork {
  readonly #open: Map<string, LoggedRemoteWork>;
  readonly #options: UnreplayedRemoteWorkOptions;

  constructor({ remote, outcomes }: TurnJournal, options: UnreplayedRemoteWorkOptions) {
    this.#open = remote.size === 0 ? NONE : new Map(remote);
    for (const scope of this.#open.keys()) if (outcomes.has(scope)) this.#open.delete(scope);
    this.#options = options;
  }

  /** Goes on with the work for a scope: what was kept of it last. */
  take(scope: string): RemoteCursor | undefined {
    const state = this.#open.get(scope)?.state;
    this.#open.delete(scope);
    return state;
  }

  /** Nobody needs what is done under a call: once that is in the log, those who do it are told. */
  giveUp(above: CallId): void {
    const { recorder, environment, remoteOf } = this.#options;
    for (const [scope, { agent, state }] of this.#open) {
      if (!isUnder(scope, above)) continue;
      this.#open.delete(scope);
      const abandon = (): void => remoteOf(agent)?.abandon(state.kept, environment);
      // A step later it is written down why. The run hears of a failed commit by itself.
      Promise.resolve()
        .then(() => recorder.committed())
        .then(abandon, () => {});
    }
  }
}

/** Nothing is ever put there. */
const NONE: Map<string, LoggedRemoteWork> = new Map<string, LoggedRemoteWork>();
