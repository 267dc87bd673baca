import type { Environment } from "../../ports/environment.ts";
import type { CallId } from "../../protocol/ids.ts";
import { isUnder } from "../journal/call-id.ts";
import type { Foreign, ForeignState } from "../agent/remote-port.ts";
import type { Journal, LoggedForeign } from "../replay/turn-journal.ts";
import type { Recorder } from "../journal/recorder.ts";

/** Whose log it is, and how those elsewhere are told. */
export interface ForeignAheadOptions {
  readonly recorder: Recorder;
  readonly environment: Environment;
  /** An agent elsewhere that an agent here may call. */
  foreignOf(name: string): Foreign | undefined;
}

/** The work elsewhere that the log has open, and that nothing here has taken up again. */
export class ForeignAhead {
  readonly #open: Map<string, LoggedForeign>;
  readonly #options: ForeignAheadOptions;

  constructor({ foreign, outcomes }: Journal, options: ForeignAheadOptions) {
    this.#open = foreign.size === 0 ? NONE : new Map(foreign);
    for (const scope of this.#open.keys()) if (outcomes.has(scope as CallId)) this.#open.delete(scope);
    this.#options = options;
  }

  /** Goes on with the work for a scope: what was kept of it last. */
  take(scope: string): ForeignState | undefined {
    const state = this.#open.get(scope)?.state;
    this.#open.delete(scope);
    return state;
  }

  /** Nobody needs what is done under a call: once that is in the log, those who do it are told. */
  giveUp(above: CallId): void {
    const { recorder, environment, foreignOf } = this.#options;
    for (const [scope, { agent, state }] of this.#open) {
      if (!isUnder(scope, above)) continue;
      this.#open.delete(scope);
      const abandon = (): void => foreignOf(agent)?.abandon(state.kept, environment);
      // A step later it is written down why. The run hears of a failed commit by itself.
      Promise.resolve()
        .then(() => recorder.committed())
        .then(abandon, () => {});
    }
  }
}

/** Nothing is ever put there. */
const NONE: Map<string, LoggedForeign> = new Map<string, LoggedForeign>();
