import type { AskedWait, Segment } from "../../../view/segment.ts";
import { toQuestion } from "../../../view/to-answer.ts";
import type { RunView } from "../../../view/run-reader.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { StepObject } from "../objects.ts";
import { isRunning, newestOf, toText } from "../task/task.ts";
import { toArtifact } from "./to-artifact.ts";

/** A segment of a run as clients see it. */
export function toStep(
  view: RunView,
  segment: Segment,
  newest: Segment | undefined = newestOf(view.projection),
): StepObject {
  const { id, operation, files, end, answer } = segment;
  return {
    step_id: String(id),
    task_id: view.run.run_id,
    name: operation,
    status: isRunning(view, segment) ? "running" : "completed",
    input: answer === undefined ? toText(segment.input) : toInput(answer.values),
    additional_input: answer?.values ?? {},
    output: outputOf(segment),
    additional_output: moreOf(segment),
    artifacts: files.map(toArtifact),
    is_last: end !== undefined && view.run.status === "idle" && newest === segment,
  };
}

/** The text of an answer with one key; otherwise the answer as JSON. */
function toInput(values: JsonObject): string {
  const [only, ...others] = Object.values(values);
  return toText(others.length === 0 && only !== undefined ? only : values) ?? "null";
}

/** The question of the oldest open wait, else the result, else the text so far. */
function outputOf({ waits: [oldest], end, text }: Segment): string | null {
  if (oldest !== undefined) return toQuestion(oldest);
  return end?.result ?? (text === "" ? null : text);
}

function moreOf({ requestId, waits, end }: Segment): JsonObject {
  const [oldest] = waits;
  return {
    request_id: requestId,
    ...(end && { finish_reason: end.reason }),
    ...(end?.error && { error: { ...end.error } }),
    ...(oldest && { wait_id: oldest.waitId, request_keys: oldest.questions, waits: waits.map(toWait) }),
  };
}

function toWait({ waitId, questions, schema }: AskedWait): JsonObject {
  return { wait_id: waitId, request_keys: questions, ...(schema && { schema }) };
}
