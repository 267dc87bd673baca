import type { OperationDescriptor } from "../protocol/answers/descriptor.ts";
import type { Statechart } from "../protocol/answers/statechart.ts";
import type { CalleeKind } from "../protocol/actors.ts";
import type { CallId, RequestId, RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { CopyPart } from "./queries/log-copy.ts";
import type { RecordedRun } from "./recording.ts";

/** What people who operate a server may see of it. The answers are as the routes of the console send them. */
export interface Inspection {
  server(): InspectedServer;

  /** An agent with what it calls; `not_found` for an unknown one. */
  agent(name: string): InspectedAgent;

  /**
   * The state of a run as of one of its events, by default the newest; `not_found`, or `gone` for a removed run. It reads
   * the log of the run from its beginning.
   */
  run(runId: RunId, at?: number): Promise<InspectedRun>;

  /**
   * A copy of all runs with an open turn, to replay these turns elsewhere with other code: their events and records, and the kept
   * versions of code, but no secret value and no file of a run.
   */
  openTurns(): AsyncIterable<CopyPart>;

  /** What a completion was asked; `not_found` if the log does not have it. */
  completion(requestId: RequestId, callId: CallId): Promise<InspectedCompletion>;

  /**
   * What a run was asked and what answered it, to try other code with it; `not_found`, or `gone` for a removed run, also if only
   * the beginning of its log was removed; `too_large` above 64 MB of events.
   */
  recording(runId: RunId): Promise<RecordedRun>;
}

/** The process that answers. */
export interface InspectedServer {
  /** Different for each process. */
  readonly instance: string;
  readonly started_at: string;
  readonly durability: "memory" | "relaxed" | "full";
  /** The limits of runs, by name. */
  readonly limits: { readonly [name: string]: number };
}

/** An agent with everything it calls. */
export interface InspectedAgent {
  readonly name: string;
  readonly purpose: string;
  readonly kind: CalleeKind;
  readonly effect: "idempotent" | "unsafe";
  readonly version?: string;
  /** The name of its model, if it is made from one. */
  readonly model?: string;
  readonly memory: "own" | "run";
  readonly tools: readonly InspectedCallee[];
  /** Why tools of it are not available now, or some of them; absent if they are. */
  readonly away?: readonly string[];
  /** The other agents that it calls. */
  readonly collaborators: readonly InspectedCallee[];
  /** The names of the served agents that call it. */
  readonly called_by: readonly string[];
  readonly statechart?: Statechart;
}

/** A tool or an agent that an agent calls. */
export interface InspectedCallee {
  /** The caller's name for it. */
  readonly name: string;
  /** Its own name. */
  readonly agent: string;
  readonly kind: CalleeKind;
  readonly purpose: string;
  readonly effect: "idempotent" | "unsafe";
  readonly operations: readonly OperationDescriptor[];
  /** Whether it can be asked here by itself. */
  readonly served: boolean;
  /** The name of the agent in the caller's definition, if the runtime has bound another one in its place. */
  readonly instead_of?: string;
}

/** The state of a run as of an event. Values whose names are those of secrets are replaced by `[secret]`. */
export interface InspectedRun {
  readonly run_id: RunId;
  readonly agent: string;
  /** The id of the event. */
  readonly at: number;
  /** The number of turns that had started. */
  readonly turns: number;
  /** The memory of each agent. */
  readonly memory: JsonObject;
  /** The machines of the newest turn that had one. */
  readonly machines: readonly InspectedMachine[];
  readonly config: { readonly version: number; readonly args: JsonObject } | null;
  /** The accepted requests that had not started, in their order. */
  readonly queued: readonly InspectedRequest[];
  /** The messages that no turn had read. */
  readonly unread: readonly { readonly id: number; readonly name: string }[];
  /** Whether the run is in the memory of the process now. */
  readonly in_memory: boolean;
  /** What happened to the run between its events, oldest first. */
  readonly marks: readonly InspectedMark[];
}

/** A state machine after a transition. */
export interface InspectedMachine {
  readonly request_id: RequestId;
  /** The call that runs it; empty for the turn itself. */
  readonly call_id: string;
  readonly value: Json;
  readonly status: string;
  readonly context: Json;
  /** The machines inside it, by their ids. */
  readonly children?: { readonly [id: string]: Omit<InspectedMachine, "request_id" | "call_id"> };
}

/** A request in the mailbox. */
export interface InspectedRequest {
  readonly request_id: RequestId;
  readonly operation: string;
  readonly input: Json;
  readonly accepted_at: string;
}

/** Something that depends on the process, so that it is not an event. */
export interface InspectedMark {
  readonly type: "accepted" | "recovered" | "released";
  /** The id of the event before it. */
  readonly after: number;
  readonly request_id: RequestId;
  readonly at?: string;
}

/** What a completion was asked. */
export interface InspectedCompletion {
  readonly run_id: RunId;
  readonly request_id: RequestId;
  readonly call_id: CallId;
  readonly agent: string;
  /** Above 1 if changed code has asked something else after a crash. */
  readonly attempt: number;
  readonly instructions?: Json;
  /** The conversation; `null` for each message that was too long to keep. */
  readonly messages: readonly Json[];
  /** How many of the messages were in the prompt before this one. */
  readonly known_messages: number;
  readonly tools?: Json;
  /** The other fields of the prompt. */
  readonly settings: JsonObject;
  /** The whole input, of a model with another form of input. */
  readonly input?: Json;
  /** True if texts were cut to keep the prompt small. */
  readonly cut: boolean;
}
