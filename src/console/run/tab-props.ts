import type { RunStore } from "../../client/store/run-store.ts";
import type { RunView } from "../../client/view/run-view.ts";

/** What every tab of a run gets. */
export interface RunTabProps {
  readonly store: RunStore;
  /** The run as of the chosen event. */
  readonly view: RunView;
  /** Whether the view is not the newest one. */
  readonly isPast: boolean;
  /** Shows the run as of another event. */
  onAt(eventId: number): void;
}
