import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useVisible } from "./hooks/virtual.ts";

interface LongListProps<Row> {
  readonly label: string;
  /** Which list the rows are of, if it can be another one: that is shown from its beginning. */
  readonly of?: string | undefined;
  readonly rows: readonly Row[];
  /** The height of a row. */
  readonly rowPx: number;
  /** The name of the row that is to be in sight when another one becomes it. */
  readonly shown?: string | undefined;
  /** Whether the rows are those of other filters than the ones asked for. */
  readonly isStale?: boolean;
  /** Whether there are more rows, which `more` reads. */
  readonly hasMore?: boolean;
  more?(): void;
  nameOf(row: Row): string;
  /** The element of a row; what takes its focus has the class `row`. */
  children(row: Row): VNode;
}

/**
 * A list of which only what is in sight is drawn. The next rows are read before their place comes into sight, the arrow
 * keys go from row to row, and a change above what is in sight does not move it.
 */
export function LongList<Row>({
  label,
  of,
  rows,
  rowPx,
  shown,
  isStale = false,
  hasMore = false,
  more,
  nameOf,
  children,
}: LongListProps<Row>): VNode {
  const visible = useVisible(rows.length, rowPx);
  const { ref, start, end, height, top, scrolled, scrollTo } = visible;
  const list = useRef<HTMLUListElement>(null);

  const isNearEnd = end >= rows.length - AHEAD;
  useEffect(() => {
    if (isNearEnd && hasMore) more?.();
  }, [isNearEnd, hasMore, more, rows]);

  const before = useRef({ of, rows });
  useLayoutEffect(() => {
    const { of: oldOf, rows: old } = before.current;
    before.current = { of, rows };
    const isScaled = height < rows.length * rowPx;
    if (old === rows || ref.current === null || scrolled === 0) return;
    if (oldOf !== of) ref.current.scrollTop = 0;
    if (oldOf !== of || isScaled) return;
    const places = new Map(rows.map((row, at) => [nameOf(row), at]));
    const first = Math.floor(scrolled / rowPx);
    for (const [at, row] of old.slice(first).entries()) {
      const place = places.get(nameOf(row));
      if (place === undefined) continue;
      const moved = (place - first - at) * rowPx;
      if (moved !== 0) ref.current.scrollTop = scrolled + moved;
      return;
    }
  });

  const shownAt = rows.findIndex((row) => nameOf(row) === shown);
  const wasShown = useRef<string>(undefined);
  useEffect(() => {
    if (shown === wasShown.current || shownAt === -1) return;
    wasShown.current = shown;
    scrollTo(shownAt);
  });

  /** The row that takes the focus as soon as it is drawn. */
  const wanted = useRef<number>(undefined);
  const focus = (at: number): boolean => {
    const row = list.current?.children[at - start]?.querySelector<HTMLElement>(".row");
    row?.focus();
    return row !== undefined && row !== null;
  };
  useLayoutEffect(() => {
    if (wanted.current !== undefined && focus(wanted.current)) wanted.current = undefined;
  });
  const go = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor((ref.current?.clientHeight ?? 0) / rowPx) - 1);
    const step = stepOf(event.key, page, rows.length);
    const row = event.target instanceof Element ? event.target.closest("li") : null;
    if (step === undefined || row === null) return;
    const at = wanted.current ?? start + Array.prototype.indexOf.call(list.current?.children, row);
    const to = Math.max(0, Math.min(at + step, rows.length - 1));
    if (to === at) return;
    event.preventDefault();
    wanted.current = undefined;
    if (focus(to)) return;
    wanted.current = to;
    scrollTo(to);
  };
  return (
    <div class={isStale ? "long-list stale" : "long-list"} ref={ref} tabIndex={-1}>
      <div style={{ height: `${height}px` }}>
        <ul aria-label={label} ref={list} style={{ transform: `translateY(${top}px)` }} onKeyDown={go}>
          {rows.slice(start, end).map((row, at) => (
            <li
              key={nameOf(row)}
              style={{ height: `${rowPx}px` }}
              aria-setsize={hasMore ? -1 : rows.length}
              aria-posinset={start + at + 1}
            >
              {children(row)}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

/** How many rows before the end the next page is read. */
const AHEAD = 40;

/** By how many rows a key moves the focus. */
function stepOf(key: string, page: number, rows: number): number | undefined {
  switch (key) {
    case "ArrowDown":
      return 1;
    case "ArrowUp":
      return -1;
    case "PageDown":
      return page;
    case "PageUp":
      return -page;
    case "Home":
      return -rows;
    case "End":
      return rows;
    default:
      return undefined;
  }
}
