import type { Event } from "./events.ts";
import type { ArtifactId, RequestId, RunId } from "./ids.ts";

/** An agent in the list that `GET /` answers with. */
export interface AgentEntry {
  readonly name: string;
  /** Where its routes are, relative to the list. */
  readonly path: string;
}

/** The answer to a request that was taken and is not waited for. */
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

/** The answer to a configuration: shaped as a RequestCompleted, but part of no history. */
export type ConfigureCompleted = Omit<Event & { readonly type: "RequestCompleted" }, "id" | "run_id"> & {
  readonly id: 0;
  /** `null` for the configuration of an agent. */
  readonly run_id: RunId | null;
};
