import type { Event } from "../events/events.ts";
import type { ArtifactId, RequestId, RunId } from "../ids.ts";

/** An agent in the list of `GET /`. */
export interface AgentEntry {
  readonly name: string;
  /** The path of its routes, relative to the list. */
  readonly path: string;
}

/** The answer to an accepted request when the client does not wait. */
export interface Accepted {
  readonly request_id: RequestId;
  /** `null` only for the configuration of an agent. */
  readonly run_id: RunId | null;
}

/** The answer to an upload. */
export interface UploadedArtifact {
  readonly artifact_id: ArtifactId;
  readonly url: string;
}

/** The answer to a configuration: has the shape of a RequestCompleted, but is not in the log. */
export type ConfigureCompleted = Omit<Event & { readonly type: "RequestCompleted" }, "id" | "run_id"> & {
  readonly id: 0;
  /** `null` for the configuration of an agent. */
  readonly run_id: RunId | null;
};
