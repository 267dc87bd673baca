import type { CallView, RunView } from "../../view/run-view.ts";

/** Where a time is on the axis, from 0 to 1, with the long pauses cut out. */
export interface Axis {
  toShare(time: number): number;
  /** The pauses that are cut out, with what was there. */
  readonly cuts: readonly AxisCut[];
  /** The times to write on the axis: milliseconds of shown time since the start. */
  readonly ticks: readonly { readonly share: number; readonly ms: number }[];
}

export interface AxisCut {
  /** The middle of the cut, from 0 to 1. */
  readonly share: number;
  readonly ms: number;
}

/** One call in the timeline. */
export interface TimelineRow {
  readonly call: CallView;
  /** How deep it is drawn: 0 for a turn. */
  readonly level: number;
  /** When the request of a turn was accepted, if it was queued. */
  readonly queuedAt?: string;
}

/** The calls of a run as a tree, in the order in which they began. */
export function toRows({ turns, calls }: RunView): readonly TimelineRow[] {
  const rows: TimelineRow[] = [];
  const add = (key: string, level: number, queuedAt?: string): void => {
    const call = calls.get(key);
    if (call === undefined) return;
    rows.push({ call, level, ...(queuedAt !== undefined && { queuedAt }) });
    for (const child of call.children) add(child, level + 1);
  };
  for (const { root, acceptedAt } of turns) add(root, 0, root.endsWith("/") ? acceptedAt : undefined);
  return rows;
}

/** The axis of the calls of a run, up to `now`. */
export function toAxis(rows: readonly TimelineRow[], now: number): Axis {
  const spans = rows.map(({ call, queuedAt }) => ({
    from: Date.parse(queuedAt ?? call.startedAt),
    to: call.endedAt === undefined ? now : Date.parse(call.endedAt),
    works: isWork(call),
  }));
  const times = [...new Set(spans.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const first = times[0] ?? now;
  const pieces = times.slice(1).map((to, at) => ({ from: times[at] ?? first, to }));
  const isIdle = toIdleCheck(spans);
  const steps = pieces.filter((piece) => !isIdle(piece)).map(({ from, to }) => to - from);
  const longest = Math.max(10 * median(steps), SHORTEST_CUT_MS);
  const drawn = pieces.map((piece) => {
    const ms = piece.to - piece.from;
    return { ...piece, ms, isCut: ms > longest && isIdle(piece), width: ms };
  });
  const shown = drawn.reduce((sum, { isCut, ms }) => sum + (isCut ? 0 : ms), 0);
  const cutWidth = Math.max(shown, 1) * CUT_SHARE;
  let total = 0;
  const placed = drawn.map((piece) => {
    const start = total;
    const width = piece.isCut ? cutWidth : piece.ms;
    total += width;
    return { ...piece, start, width };
  });
  const whole = Math.max(total, 1);

  function toShare(time: number): number {
    const piece = placed[lastBefore(placed, time)];
    if (piece === undefined) return 0;
    const inside = Math.min(1, Math.max(0, (time - piece.from) / Math.max(piece.ms, 1e-9)));
    return (piece.start + inside * piece.width) / whole;
  }
  const cuts = placed
    .filter(({ isCut }) => isCut)
    .map(({ start, width, ms }) => ({ share: (start + width / 2) / whole, ms }));
  return { toShare, cuts, ticks: toTicks(placed, shown, whole) };
}

/** An axis on which every event of the run has the same width. */
export function toEventAxis(head: number): (eventId: number) => number {
  return (eventId) => (head <= 1 ? 0 : (eventId - 1) / (head - 1));
}

const SHORTEST_CUT_MS = 100;

/** The width of a cut, as a share of what is not cut. */
const CUT_SHARE = 0.08;

/** Whether a call does something itself. A wait or a sleep does not, and a caller only while its calls do. */
function isWork({ kind, children }: CallView): boolean {
  return kind !== "wait" && kind !== "sleep" && kind !== "turn" && children.length === 0;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Whether nothing works in a piece of time: it has no working span, or only a wait or sleep. */
function toIdleCheck(spans: readonly (Span & { readonly works: boolean })[]): (piece: Span) => boolean {
  const working = spans.filter(({ works }) => works);
  return ({ from, to }) => !working.some((span) => span.from < to && span.to > from);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function lastBefore(pieces: readonly { readonly from: number }[], time: number): number {
  let low = 0;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((pieces[middle]?.from ?? 0) <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

interface Placed extends Span {
  readonly isCut: boolean;
  readonly start: number;
  readonly width: number;
  readonly ms: number;
}

/** Four to eight round times, fewer in a run of less than five milliseconds. */
function toTicks(pieces: readonly Placed[], shownMs: number, whole: number): Axis["ticks"] {
  if (shownMs <= 0) return [];
  const rough = Math.max(shownMs / 5, 1);
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => one >= rough) ?? rough;
  const ticks: { share: number; ms: number }[] = [];
  let passed = 0;
  let next = 0;
  for (const { isCut, ms, start } of pieces) {
    if (isCut) continue;
    for (; next <= passed + ms; next += step)
      ticks.push({ share: (start + next - passed) / whole, ms: next });
    passed += ms;
  }
  return ticks;
}
