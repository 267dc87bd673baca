import type { VNode } from "preact";
import { useMedia } from "../parts/hooks/media.ts";
import { LongList } from "../parts/long-list.tsx";
import type { Pages } from "../data/pages.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { RunListRow } from "./run-row.tsx";

interface RunListProps {
  readonly pages: Pages<RunSummary>;
  /** The ids of the runs that are selected. */
  readonly selected: ReadonlySet<string>;
  /** The words of the search. */
  readonly search: string | undefined;
  onSelect(runId: string, isSelected: boolean): void;
}

/** The runs that are read so far; more are as the list is scrolled. */
export function RunList({ pages, selected, search, onSelect }: RunListProps): VNode {
  const { rows = [], key, hasMore, more, isStale } = pages;
  const isNarrow = useMedia("(max-width: 759px)");
  return (
    <LongList
      label="Runs"
      of={key}
      rows={rows}
      rowPx={isNarrow ? NARROW_PX : ROW_PX}
      nameOf={nameOf}
      {...{ isStale, hasMore, more }}
    >
      {(run) => (
        <RunListRow
          run={run}
          isSelected={selected.has(run.run_id)}
          search={search}
          onSelect={(isSelected) => onSelect(run.run_id, isSelected)}
        />
      )}
    </LongList>
  );
}

const ROW_PX = 40;
const NARROW_PX = 76;

function nameOf(run: RunSummary): string {
  return run.run_id;
}
