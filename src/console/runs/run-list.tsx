import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { useMedia } from "../parts/hooks/media.ts";
import { useVisible } from "../parts/hooks/virtual.ts";
import type { RunPages } from "../data/run-pages.ts";
import { RunListRow } from "./run-row.tsx";

interface RunListProps {
  readonly pages: RunPages;
  /** The ids of the runs that are selected. */
  readonly selected: ReadonlySet<string>;
  /** The words of the search. */
  readonly search: string | undefined;
  onSelect(runId: string, isSelected: boolean): void;
}

/** Runs of which only those in sight are drawn. The next page is read before its place comes into sight. */
export function RunList({ pages, selected, search, onSelect }: RunListProps): VNode {
  const { runs = [], hasMore, more, isStale } = pages;
  const isNarrow = useMedia("(max-width: 759px)");
  const rowPx = isNarrow ? NARROW_PX : ROW_PX;
  const visible = useVisible(runs.length, rowPx);
  const isNearEnd = visible.end >= runs.length - AHEAD;
  useEffect(() => {
    if (isNearEnd && hasMore) more();
  }, [isNearEnd, hasMore, more, runs]);
  return (
    <div class={isStale ? "run-list stale" : "run-list"} ref={visible.ref} tabIndex={-1}>
      <div style={{ height: `${visible.height}px` }}>
        <ul
          aria-label="Runs"
          style={{ transform: `translateY(${visible.top}px)` }}
          onKeyDown={(event) => {
            const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
            if (step !== 0 && focusNext(event.target, step)) event.preventDefault();
          }}
        >
          {runs.slice(visible.start, visible.end).map((run, at) => (
            <li
              key={run.run_id}
              style={{ height: `${rowPx}px` }}
              aria-setsize={hasMore ? -1 : runs.length}
              aria-posinset={visible.start + at + 1}
            >
              <RunListRow
                run={run}
                isSelected={selected.has(run.run_id)}
                search={search}
                onSelect={(isSelected) => onSelect(run.run_id, isSelected)}
              />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

const ROW_PX = 40;
const NARROW_PX = 76;

/** How many rows before the end the next page is read. */
const AHEAD = 40;

/** Moves the focus from the row of an element to a neighbour; returns whether there is one. */
function focusNext(element: EventTarget | null, step: 1 | -1): boolean {
  const row = element instanceof Element ? element.closest("li") : null;
  const next = step > 0 ? row?.nextElementSibling : row?.previousElementSibling;
  const link = next?.querySelector<HTMLElement>("a.run-row");
  if (!link) return false;
  link.focus();
  return true;
}
