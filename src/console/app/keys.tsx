import "../styles/palette.css";
import { Fragment } from "preact";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** The keys of the page. */
export function Keys({ onClose }: { readonly onClose: () => void }): VNode {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  return (
    <dialog class="palette" ref={box} aria-label="Keys" onClose={onClose}>
      <h2>Keys</h2>
      <dl class="facts">
        {KEYS.map(([key, does]) => (
          <Fragment key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </Fragment>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="button">
          Close
        </button>
      </form>
    </dialog>
  );
}

const KEYS = [
  ["Ctrl K", "go to a place, an agent or a run"],
  ["/", "search"],
  ["g o · g r · g a · g c · g i · g h", "Overview, Runs, Agents, Actors, Inbox, Health"],
  ["↑ ↓, Page ↑, Home and so on", "the next row of a list, or one further away"],
  ["← →", "on the scrubber: one event back or on; with Shift a turn"],
  ["End", "on the scrubber: the newest event"],
  ["Enter", "send a message; with Shift a new line"],
  ["?", "these keys"],
] as const;
