import type { RunView } from "../../../view/run-reader.ts";
import type { RunDetails } from "../../../runtime/lists.ts";
import type { TaskObject } from "../objects.ts";
import { inputOf, newestOf } from "../task/task.ts";
import { toArtifact } from "./to-artifact.ts";
import { toStep } from "./to-step.ts";

/** A run as lists show it. */
export function toListedTask(run: RunDetails, view: RunView | undefined): TaskObject {
  return {
    task_id: run.run_id,
    input: inputOf(run, view?.projection),
    additional_input: run.metadata,
    artifacts: (view?.projection.files ?? []).map(toArtifact),
  };
}

/** A run with its steps. */
export function toTask(view: RunView): TaskObject {
  const { run, projection } = view;
  const newest = newestOf(projection);
  const steps = projection.segments.map((segment) => toStep(view, segment, newest));
  return { ...toListedTask(run, view), steps };
}
