import * as z from "zod";
import { artifactId, requestId, runId } from "../fields.ts";
import type { Shape } from "../fields.ts";
import type { ArtifactId, RequestId, RunId } from "../ids.ts";
import { agentDescriptor } from "./descriptor.ts";
import type { AgentDescriptor } from "./descriptor.ts";
import { problem } from "./problem.ts";
import type { Problem } from "./problem.ts";
import { requestStatus, runStatus, runSummary } from "./status.ts";
import type { RequestStatus, RunStatus, RunSummary } from "./status.ts";

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

/** The answers of the routes, except events, by name. */
export interface AnswerTypes {
  readonly AgentEntry: AgentEntry;
  readonly AgentDescriptor: AgentDescriptor;
  readonly Accepted: Accepted;
  readonly RequestStatus: RequestStatus;
  readonly RunSummary: RunSummary;
  readonly RunStatus: RunStatus;
  readonly UploadedArtifact: UploadedArtifact;
  readonly Problem: Problem;
}

const text = z.string();

/** @internal The schema of each answer. */
export const answerSchemas: { readonly [Name in keyof AnswerTypes]: z.ZodType<AnswerTypes[Name]> } = {
  AgentEntry: z
    .object({
      name: text,
      path: text.describe("The path of the agent's routes, relative to the list."),
    } satisfies Shape<AgentEntry>)
    .describe("An agent of this server."),
  AgentDescriptor: agentDescriptor,
  Accepted: z
    .object({
      request_id: requestId,
      run_id: runId.nullable().describe("null only for the configuration of an agent."),
    } satisfies Shape<Accepted>)
    .describe("The request was accepted; read its events for the result."),
  RequestStatus: requestStatus,
  RunSummary: runSummary,
  RunStatus: runStatus,
  UploadedArtifact: z
    .object({ artifact_id: artifactId, url: text } satisfies Shape<UploadedArtifact>)
    .describe("The address of an uploaded file."),
  Problem: problem,
};
