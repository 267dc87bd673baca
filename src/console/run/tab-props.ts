import type { RunStore } from "../../client/store/run-store.ts";
import type { CallView, RunView } from "../../view/run-view.ts";
import type { RunRequest } from "../../protocol/answers/status.ts";
import type { Restart } from "../data/restarts.ts";

/** What every tab of a run gets. */
export interface RunTabProps {
  readonly store: RunStore;
  /** The run as of the chosen event; only the chosen actor, if one is. */
  readonly view: RunView;
  /** The same with all actors. */
  readonly whole: RunView;
  readonly actor: CallView | undefined;
  /** When the server was started again and continued a turn, oldest first. */
  readonly restarts: readonly Restart[];
  /** Whether the view is not the newest one. */
  readonly isPast: boolean;
  /** The requests that wait now for the turns before them. */
  readonly queued: readonly RunRequest[];
  /** Shows the run as of another event. */
  onAt(eventId: number): void;
  /** Shows one actor, or all of them, in every tab. */
  onActor(key: string | undefined): void;
}
