export { projectRun } from "./run-projection.ts";
export type { RunCreation, RunProjection } from "./run-projection.ts";
export { RunReader } from "./run-reader.ts";
export type { RunReaderOptions, RunView } from "./run-reader.ts";
export type { AskedWait, GivenValues, ProjectedRequest, RequestEnd, RunFile, Segment } from "./segment.ts";
export { toAnswer, toQuestion } from "./to-answer.ts";
