export { conversationKey } from "./conversation-key.ts";
export { project, RunFold } from "./fold.ts";
export { callKey } from "./run-view.ts";
export type {
  CallKind,
  CallView,
  Change,
  FileView,
  MachineStep,
  MachineView,
  OpenCallCounts,
  OpenText,
  PartView,
  Phase,
  RunView,
  TextPart,
  Times,
  TurnView,
  WaitView,
} from "./run-view.ts";
export { RunReader } from "./run-reader.ts";
export type { RunReaderOptions, RunReading } from "./run-reader.ts";
export { filesOf, openWaitsOf, segmentsOf, textOf } from "./segments.ts";
export type { GivenValues, Segment } from "./segments.ts";
export { toAnswer, toQuestion } from "./to-answer.ts";
