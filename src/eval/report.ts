import type { FinishReason, TurnError, Usage } from "../protocol/events/outcome-codes.ts";
import type { Json } from "../protocol/json.ts";
import type { Difference } from "./playback.ts";
import type { NamedScore } from "./scorers.ts";

/** What an evaluation has found. It is plain JSON, so it can be kept and compared. */
export interface EvalReport {
  /** The name of the data set. */
  readonly name: string;
  /** What was tried, for example a model; absent for the agents as they are. */
  readonly variant?: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly cases: readonly CaseReport[];
  /** By the name of the scorer. */
  readonly scores: { readonly [name: string]: ScoreSummary };
  /** The cases with the expected answer, of those that have one. */
  readonly equal: number;
  /** The cases whose turns did not all end. */
  readonly incomplete: number;
  /** The completions that were asked of a model. */
  readonly asked: number;
  /** What the asked completions have cost, as far as their models have a price. */
  readonly spent: number;
  readonly elapsed_ms: number;
}

/** What became of one case. */
export interface CaseReport {
  readonly id: string;
  readonly agent: string;
  readonly input: Json;
  /** `null` if the last turn did not end, or has failed. */
  readonly output: Json;
  readonly expected?: Json;
  /** Whether each turn has ended as it is expected to; absent if the case expects nothing. */
  readonly equal?: boolean;
  readonly finish_reason?: FinishReason;
  readonly error?: TurnError;
  /** Why not all turns have ended. */
  readonly incomplete?: string;
  readonly scores: readonly NamedScore[];
  readonly asked: number;
  readonly difference?: Difference;
  readonly tools: readonly string[];
  readonly usage: Usage;
  readonly model_ms: number;
}

/** What is looked at together: reports of one data set, and the one before. */
export interface ReportPage {
  readonly reports: readonly EvalReport[];
  readonly before?: EvalReport;
}

/** The scores of one scorer. */
export interface ScoreSummary {
  readonly mean: number;
  /** The bounds of the mean with a confidence of 95 %. */
  readonly low: number;
  readonly high: number;
  /** The cases to which it applies. */
  readonly count: number;
}

/** The mean of scores, with the interval in which it would be for other such cases 19 times of 20 (Student's t). */
export function summarizeScores(scores: readonly number[]): ScoreSummary {
  const count = scores.length;
  const mean = scores.reduce((sum, score) => sum + score, 0) / Math.max(count, 1);
  if (count < 2) return { mean, low: mean, high: mean, count };
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / (count - 1);
  const margin = quantile(count - 1) * Math.sqrt(variance / count);
  return { mean, low: Math.max(0, mean - margin), high: Math.min(1, mean + margin), count };
}

/** The 97.5 % quantile of Student's t distribution, by Cornish and Fisher's expansion; within 1 % from 3 degrees on. */
function quantile(degrees: number): number {
  const exact = [12.706, 4.303, 3.182, 2.776, 2.571][degrees - 1];
  if (exact !== undefined) return exact;
  const z = 1.959_964;
  return z + (z ** 3 + z) / (4 * degrees) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2);
}

/** What is different from an earlier report. */
export interface Comparison {
  /** By scorer: the mean now, and before. */
  readonly scores: { readonly [name: string]: { readonly now: number; readonly before?: number } };
  /** The cases with a lower score or another answer than before. */
  readonly worse: readonly string[];
  readonly better: readonly string[];
  readonly changed: readonly string[];
}

/** Compares a report with an earlier one of the same data set, case by case. */
export function compareReports(now: EvalReport, before: EvalReport): Comparison {
  const earlier = new Map(before.cases.map((one) => [one.id, one]));
  const worse: string[] = [];
  const better: string[] = [];
  const changed: string[] = [];
  for (const one of now.cases) {
    const other = earlier.get(one.id);
    if (other === undefined) continue;
    const by = totalOf(one, before) - totalOf(other, now);
    if (by < 0) worse.push(one.id);
    else if (by > 0) better.push(one.id);
    else if (JSON.stringify(one.output) !== JSON.stringify(other.output)) changed.push(one.id);
  }
  const scores = Object.entries(now.scores).map(([name, { mean }]) => {
    const known = before.scores[name];
    return [name, { now: mean, ...(known && { before: known.mean }) }] as const;
  });
  return { scores: Object.fromEntries(scores), worse, better, changed };
}

/** The sum of the scores that the report beside it has, too. */
function totalOf({ scores, incomplete }: CaseReport, beside: EvalReport): number {
  const known = scores.filter(({ name }) => Object.hasOwn(beside.scores, name));
  return known.reduce((sum, { score }) => sum + (score ?? 0), 0) - (incomplete === undefined ? 0 : 1);
}

/** Whether a case did not end, or has a score below 1. */
export function isFlawed({ scores, incomplete }: CaseReport): boolean {
  return incomplete !== undefined || scores.some(({ score }) => score !== null && score < 1);
}

/** What a table with a column for each report has. */
export interface ReportTable {
  /** The names of all scorers. */
  readonly scorers: readonly string[];
  /** What the reports say of all their cases, besides the scores, with a text for each report. */
  readonly figures: readonly { readonly what: string; readonly texts: readonly string[] }[];
}

/** Puts reports beside each other. */
export function toTable(reports: readonly EvalReport[]): ReportTable {
  const columns = reports.map(figuresOf);
  return {
    scorers: [...new Set(reports.flatMap(({ scores }) => Object.keys(scores)))],
    figures: (columns[0] ?? []).map(([what], at) => ({
      what,
      texts: columns.map((column) => column[at]?.[1] ?? ""),
    })),
  };
}

function figuresOf({
  equal,
  cases,
  incomplete,
  asked,
  spent,
}: EvalReport): readonly (readonly [what: string, text: string])[] {
  const known = cases.flatMap(({ usage }) => usage.cost ?? []);
  const cost = known.reduce((sum, one) => sum + one, 0);
  return [
    ["as expected", `${equal} of ${cases.filter((one) => one.equal !== undefined).length}`],
    ["incomplete", String(incomplete)],
    ["completions asked", String(asked)],
    ["spent", amountText(spent)],
    ["cost of all completions", known.length === 0 ? "unknown" : amountText(cost)],
  ];
}

/** Lines about an answer: its scores, what it took, and where it began to differ. */
export function linesOf(one: CaseReport): readonly string[] {
  const { difference, scores, tools, asked, usage } = one;
  const cost = usage.cost === undefined ? "cost unknown" : `cost ${amountText(usage.cost)}`;
  return [
    ...scores.map(({ name, score, reason: why }) => {
      const text = `${name}: ${score === null ? "does not apply" : score.toFixed(3)}`;
      return why === undefined ? text : `${text}, ${why}`;
    }),
    `${tools.length > 0 ? `called ${tools.join(", ")}; ` : ""}${asked} asked; ${cost}`,
    ...(difference === undefined ? [] : [`first difference: ${differenceText(difference)}`]),
  ];
}

function differenceText({ completion, turn, agent, parts }: Difference): string {
  const what = parts.length > 0 ? parts.join(", ") : "not in the recording";
  return `completion ${completion} of turn ${turn} (${agent}): ${what}`;
}

function amountText(cost: number): string {
  return String(Number(cost.toPrecision(3)));
}

/** The thresholds that a report does not reach, in words. */
export function belowThresholds(
  report: EvalReport,
  thresholds: { readonly [scorer: string]: number },
): readonly string[] {
  return Object.entries(thresholds).flatMap(([name, least]) => {
    const score = report.scores[name];
    if (score === undefined) return [`${name}: no case has this score`];
    return score.mean >= least ? [] : [`${name}: ${score.mean.toFixed(3)} is below ${least}`];
  });
}
