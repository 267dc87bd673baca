import type { Host } from "../../../http/routes/host.ts";
import type { Act } from "../steps/execute.ts";
import type { SharedActs } from "../steps/shared-acts.ts";
import type { TasksReader } from "../task/tasks-reader.ts";

/** Settings of the adapter. */
export interface TasksOptions {
  /**
   * What a step of an ended task does: it starts another turn, or it is the last step again and the agent is not
   * asked. Default false.
   */
  readonly again?: boolean;
}

/** What the routes of an agent work with. */
export interface TasksService {
  readonly host: Host;
  readonly tasks: TasksReader;
  readonly acts: SharedActs<Act>;
  readonly options: TasksOptions;
}
