import type { WaitView } from "../../../view/run-view.ts";
import { filesOf, textOf } from "../../../view/segments.ts";
import type { Segment } from "../../../view/segments.ts";
import { toQuestion } from "../../../view/to-answer.ts";
import type { RunReading } from "../../../view/run-reader.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { StepObject } from "../objects.ts";
import { isRunning, newestOf, toInputText } from "../task/task.ts";
import { toArtifact } from "./to-artifact.ts";

/** A segment of a run as clients see it. */
export function toStep(
  reading: RunReading,
  segment: Segment,
  newest: Segment | undefined = newestOf(reading.view),
): StepObject {
  const { id, turn, parts, end, answer } = segment;
  return {
    step_id: String(id),
    task_id: reading.run.run_id,
    name: turn.operation,
    status: isRunning(reading, segment) ? "running" : "completed",
    input: answer === undefined ? toInputText(turn.input) : toInput(answer.values),
    additional_input: answer?.values ?? {},
    output: outputOf(segment),
    additional_output: moreOf(segment),
    artifacts: filesOf(parts).map(toArtifact),
    is_last: end !== undefined && reading.run.status === "idle" && newest?.id === id,
  };
}

/** The text of an answer with one key; otherwise the answer as JSON. */
function toInput(values: JsonObject): string {
  const [only, ...others] = Object.values(values);
  return toInputText(others.length === 0 && only !== undefined ? only : values) ?? "null";
}

/** The question of the oldest open wait, else the result, else the text so far. */
function outputOf({ waits: [oldest], end, parts }: Segment): string | null {
  if (oldest !== undefined) return toQuestion(oldest);
  const text = textOf(parts);
  return end?.result ?? (text === "" ? null : text);
}

function moreOf({ turn, waits, end }: Segment): JsonObject {
  const [oldest] = waits;
  return {
    request_id: turn.requestId,
    ...(end && { finish_reason: end.outcome ?? null }),
    ...(end?.error && { error: { ...end.error } }),
    ...(oldest && { wait_id: oldest.waitId, request_keys: oldest.questions, waits: waits.map(toWait) }),
  };
}

function toWait({ waitId, questions, schema }: WaitView): JsonObject {
  return { wait_id: waitId, request_keys: questions, ...(schema && { schema }) };
}
