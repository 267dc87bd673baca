import type { RunReading } from "../../../view/run-reader.ts";
import { segmentsOf } from "../../../view/segments.ts";
import type { RunDetails } from "../../../runtime/lists.ts";
import type { TaskObject } from "../objects.ts";
import { inputOf, newestOf } from "../task/task.ts";
import { toArtifact } from "./to-artifact.ts";
import { toStep } from "./to-step.ts";

/** A run as lists show it. */
export function toListedTask(run: RunDetails, reading: RunReading | undefined): TaskObject {
  return {
    task_id: run.run_id,
    input: inputOf(run, reading?.view),
    additional_input: run.metadata,
    artifacts: (reading?.view.files ?? []).map(toArtifact),
  };
}

/** A run with its steps. */
export function toTask(reading: RunReading): TaskObject {
  const { run, view } = reading;
  const segments = segmentsOf(view);
  const newest = newestOf(view, segments);
  const steps = segments.map((segment) => toStep(reading, segment, newest));
  return { ...toListedTask(run, reading), steps };
}
