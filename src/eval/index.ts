export { formatCases, parseCases, toCase } from "./case.ts";
export type { CaseTurn, EvalCase } from "./case.ts";
export { casesFromCsv } from "./csv.ts";
export { defineEvaluation } from "./definition.ts";
export type { Evaluation } from "./definition.ts";
export { evaluate } from "./evaluate.ts";
export type { EvaluateOptions } from "./evaluate.ts";
export { toReportPage } from "./html.ts";
export { modelJudge } from "./judge.ts";
export type { JudgeOptions } from "./judge.ts";
export { toJUnit } from "./junit.ts";
export type { AnswerCache } from "./live-models.ts";
export type { Difference } from "./playback.ts";
export { belowThresholds, compareReports } from "./report.ts";
export type { CaseReport, Comparison, EvalReport, ScoreSummary } from "./report.ts";
export {
  callsTools,
  contains,
  costsAtMost,
  exact,
  fitsSchema,
  jsonDiff,
  named,
  takesAtMost,
} from "./scorers.ts";
export type { NamedScore, Score, ScoredCase, Scorer } from "./scorers.ts";
