import type { JsonObject } from "../../protocol/json.ts";

/** A file of a task. */
export interface ArtifactObject {
  readonly artifact_id: string;
  /** Whether the agent made it; otherwise a client uploaded it. */
  readonly agent_created: boolean;
  readonly file_name: string;
  readonly relative_path: string | null;
}

/** The part of a turn between two moments at which a client must act. */
export interface StepObject {
  readonly step_id: string;
  readonly task_id: string;
  readonly name: string | null;
  readonly status: "running" | "completed";
  readonly input: string | null;
  readonly additional_input: JsonObject;
  readonly output: string | null;
  readonly additional_output: JsonObject | null;
  readonly artifacts: readonly ArtifactObject[];
  readonly is_last: boolean;
}

/** A run. */
export interface TaskObject {
  readonly task_id: string;
  readonly input: string | null;
  readonly additional_input: JsonObject;
  readonly artifacts: readonly ArtifactObject[];
  /** Absent in lists. */
  readonly steps?: readonly StepObject[];
}

/** The place of a page in a list. */
export interface Pagination {
  readonly total_items: number;
  readonly total_pages: number;
  readonly current_page: number;
  readonly page_size: number;
}
