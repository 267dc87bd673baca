import type { Event } from "../../protocol/events/events.ts";
import { project } from "../../view/fold.ts";
import type { RunView } from "../../view/run-view.ts";

/** The events of a run that were read so far, with the view of each of them. */
export class RunLog {
  /** All events, oldest first. The list grows in place, because a copy for each batch would take minutes. */
  readonly events: Event[] = [];
  /** The views after each 2,000 events. */
  readonly #checkpoints: RunView[] = [];
  #view: RunView = project([]);
  #folded = 0;
  /** The view of the last past event that was asked for. */
  #past: RunView | undefined;

  /** The view of all events. */
  get view(): RunView {
    const { events } = this;
    while (this.#folded < events.length) {
      const end = Math.min(events.length, (this.#checkpoints.length + 1) * CHECKPOINT);
      this.#view = project(events.slice(this.#folded, end), this.#view);
      this.#folded = end;
      if (end % CHECKPOINT === 0) this.#checkpoints.push(this.#view);
    }
    return this.#view;
  }

  /** The view of the events up to the one with this id. */
  at(eventId: number): RunView {
    const { view, events } = this;
    if (eventId >= view.head) return view;
    const checkpoint = this.#checkpoints.findLastIndex(({ head }) => head <= eventId);
    const start = (checkpoint + 1) * CHECKPOINT;
    const count = events.slice(start, start + CHECKPOINT).filter(({ id }) => id <= eventId).length;
    const newest = events[start + count - 1];
    if (this.#past === undefined || this.#past.head !== (newest?.id ?? 0))
      this.#past = project(events.slice(start, start + count), this.#checkpoints[checkpoint]);
    return this.#past;
  }
}

const CHECKPOINT = 2_000;
