import type { StatisticsAnswer, StatisticsRow } from "../../protocol/answers/statistics.ts";
import { dollars } from "../../view/cost-text.ts";
import type { PageServer } from "../data/page-server.ts";
import type { TimePoint } from "../parts/time-point.ts";

/** The time that is looked at, by its name in the address. */
export type RangeName = "day" | "week" | "month";

/** A time that statistics are read of, and the steps of its charts. */
export interface StatisticsRange {
  readonly name: RangeName;
  readonly label: string;
  readonly step: "hour" | "day";
  readonly days: number;
}

/** What a view shows. */
export interface SumsProps {
  readonly range: StatisticsRange;
  /** The sums of the range, by the step of the range or by what the view groups by. */
  of(by: string): StatisticsAnswer;
}

export const RANGES: readonly [StatisticsRange, ...StatisticsRange[]] = [
  { name: "day", label: "Last day", step: "hour", days: 1 },
  { name: "week", label: "Last 7 days", step: "day", days: 7 },
  { name: "month", label: "Last 30 days", step: "day", days: 30 },
];

/** Sums up a range. Its days are those of the server's hours, which are counted in UTC. */
export async function readSums(
  server: PageServer,
  by: string,
  { step, days }: StatisticsRange,
  signal: AbortSignal,
): Promise<StatisticsAnswer> {
  const since =
    step === "hour"
      ? undefined
      : new Date((Math.floor(Date.now() / DAY_MS) - days + 1) * DAY_MS).toISOString();
  const { json } = await server.ask("GET", "/statistics", { query: { by, since }, signal });
  return json as StatisticsAnswer;
}

/**
 * A value for each hour or day of an answer. Those without a row get `none`, which says what it means that nothing happened;
 * of the time before the first known hour nothing is known.
 */
export function toPoints(
  { rows, from, until, since }: StatisticsAnswer,
  { step }: StatisticsRange,
  of: (row: StatisticsRow) => number | undefined,
  none: number | undefined,
): readonly TimePoint[] {
  const known = new Map(rows.map((row) => [Date.parse(row.name), row]));
  const stepMs = step === "hour" ? HOUR_MS : DAY_MS;
  const first = since === undefined ? Infinity : Date.parse(since);
  const points: TimePoint[] = [];
  for (let at = Math.floor(Date.parse(from) / stepMs) * stepMs; at < Date.parse(until); at += stepMs) {
    const row = known.get(at);
    const isKnown = at + stepMs > first;
    points.push({ at, value: row === undefined ? (isKnown ? none : undefined) : of(row) });
  }
  return points;
}

/** When an hour or a day of a chart is; a day is one in UTC. */
export function toWhen({ step }: StatisticsRange): (at: number) => string {
  return (at) => (step === "hour" ? HOUR : DAY).format(at);
}

/** What the newest value of a chart is of. */
export function newestName({ step }: StatisticsRange): string {
  return step === "hour" ? "this hour" : "today";
}

export function totalCount({ success, error, canceled }: StatisticsRow["turns"]): number {
  return success + error + canceled;
}

/** The tokens that completions have used, and made. */
export function tokenCount({
  usage: { input_tokens: into = 0, output_tokens: out = 0 },
}: StatisticsRow): number {
  return into + out;
}

/** The known cost; `undefined` if there were completions and the cost of none is known. */
export function knownCost({ usage, unknown_costs: unknown, completions }: StatisticsRow): number | undefined {
  return unknown > 0 && unknown === totalCount(completions) ? undefined : (usage.cost ?? 0);
}

/** What completions cost, for people. An unknown cost is said, and never 0. */
export function spendText(row: StatisticsRow): string {
  return row.unknown_costs > 0 && knownCost(row) !== undefined
    ? `${knownSpend(row)} + unknown`
    : knownSpend(row);
}

/** The known part of it, for a figure whose note says that there is more. */
export function knownSpend(row: StatisticsRow): string {
  if (totalCount(row.completions) === 0) return "–";
  const cost = knownCost(row);
  return cost === undefined ? "unknown" : dollars(cost);
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
