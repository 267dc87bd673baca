import * as z from "zod";
import { questions } from "../events/event-body.ts";
import { FINISH_REASONS, TURN_ERROR_CODES } from "../events/outcome-codes.ts";
import { holdReason, turnError, usage } from "../events/outcome-schemas.ts";
import type { Questions } from "../events/event-body.ts";
import type { FinishReason, HoldReason, TurnError, TurnErrorCode, Usage } from "../events/outcome-codes.ts";
import type { ForkedFrom } from "../events/events.ts";
import { count, json, ordinal, requestId, runId, timestamp } from "../fields.ts";
import type { Shape } from "../fields.ts";
import type { RequestId, RunId } from "../ids.ts";
import type { Json } from "../json.ts";

const REQUEST_PHASES = ["queued", "running", "waiting", "held", "completed"] as const;

/** The state of a request. A held one continues when code is served that can continue it. */
export type RequestPhase = (typeof REQUEST_PHASES)[number];

/** The state of a request as clients see it: the cleanup steps of a `canceling` one run before it ends. */
export type RequestState = RequestPhase | "canceling";

const RUN_PHASES = ["idle", "running", "waiting", "held"] as const;

/** The state of a run. */
export type RunPhase = (typeof RUN_PHASES)[number];

/** Why a turn is held, and since when. */
export interface HeldTurn extends HoldReason {
  readonly since: string;
}

/** What a request waits for from outside: the oldest open question, otherwise what its parked turn waits for. */
export type WaitingFor =
  | {
      readonly kind: "input";
      readonly wait_id: number;
      /** The roles that may answer. */
      readonly approvers?: readonly string[];
      readonly expires_at?: string;
    }
  /** The result of a tool that the client runs. */
  | {
      readonly kind: "tool";
      readonly wait_id: number;
      readonly name: string;
      readonly args: Json;
      readonly expires_at?: string;
    }
  | { readonly kind: "sleep"; readonly expires_at: string }
  /** `names` are all names that it waits for, if they are several; `name` is the first. */
  | {
      readonly kind: "message";
      readonly name: string;
      readonly names?: readonly string[];
      readonly expires_at?: string;
    }
  | ModelAwaited
  | ActorAwaited;

/** The model that a request waits for, because it is away. */
export interface ModelAwaited {
  readonly kind: "model";
  /** The model, with its account if it has one. */
  readonly model: string;
  /** The models that are asked instead, if one of them is there first. */
  readonly fallback?: readonly string[];
  /** When it is asked again; later if it is still away then. */
  readonly retry_at: string;
  /** When the request continues even if no model is there. */
  readonly expires_at: string;
}

/** The actor whose answer a request waits for. */
export interface ActorAwaited {
  readonly kind: "actor";
  readonly agent: string;
  readonly key?: string;
  readonly run_id?: RunId;
  /** The request there. */
  readonly request_id: RequestId;
  readonly expires_at?: string;
}

/** The answer of `GET /request/{request_id}`. */
export interface RequestStatus {
  readonly request_id: RequestId;
  readonly run_id: RunId;
  readonly agent: string;
  readonly operation: string;
  readonly status: RequestState;
  readonly finish_reason?: FinishReason;
  readonly result?: string | null;
  readonly output?: Json;
  readonly error?: TurnError;
  /** The questions of the oldest open wait, while the request waits. */
  readonly request_keys?: Questions;
  /** What that wait asks, for a reader who may not answer it. */
  readonly question?: string;
  readonly wait_id?: number;
  /** The state value of the agent's machine, if it is one and has changed its state in the turn. */
  readonly state?: Json;
  /** The operations that the machine takes now, guards not considered; absent when the request has ended. */
  readonly accepts?: readonly string[];
  readonly waiting_for?: WaitingFor;
  /** Why it is held, if it is. */
  readonly held?: HeldTurn;
  /** When the parked request continues by itself, if it does. */
  readonly wake_at?: string;
  readonly created_at: string;
  readonly completed_at?: string;
  /** The id of the request's newest event, 0 when it has none. */
  readonly last_event_id: number;
}

/** The newest turn of a run. */
export interface LastTurn {
  readonly request_id: RequestId;
  readonly operation: string;
  /** The version of the agent's code that began it, if it is known. */
  readonly agent_version?: string;
  readonly started_at: string;
  /** Absent while the turn is not at its end. */
  readonly ended_at?: string;
  readonly finish_reason?: FinishReason;
  readonly error_code?: TurnErrorCode;
  /** The beginning of the error's message; absent where the log is encrypted. */
  readonly error_message?: string;
  /** The beginning of its result; absent where the log is encrypted. */
  readonly result?: string;
  /** Since when its cleanup steps run, if they run. */
  readonly canceling?: { readonly since: string };
  /** Why it is held, if it is. */
  readonly held?: HeldTurn;
  /** Since when the actor takes no requests, if the turn has failed and its supervisor has stopped it. */
  readonly stopped?: { readonly since: string };
}

/** One row of `GET /runs`. */
export interface RunSummary {
  readonly run_id: RunId;
  readonly agent: string;
  readonly status: RunPhase;
  readonly created_at: string;
  readonly updated_at: string;
  readonly initial_input: Json;
  readonly turns: number;
  /** The name that the run was created with. */
  readonly key?: string;
  /** The event in another run that this run was forked from. */
  readonly forked_from?: ForkedFrom;
  /** Absent before the first turn, for a fork before its first own turn, and for older logs. */
  readonly last_turn?: LastTurn;
  /** The number of open waits. */
  readonly open_waits: number;
  /** The number of queued requests. */
  readonly queued: number;
  /** When the parked request continues by itself, if it does. */
  readonly wake_at?: string;
  /** The usage of all turns that have ended. */
  readonly usage?: Usage;
  readonly last_event_id: number;
}

/** A request of a run. */
export interface RunRequest {
  readonly request_id: RequestId;
  readonly status: RequestPhase;
  readonly created_at: string;
  /** The id of its first event; absent while it is queued. */
  readonly started?: number;
  /** The id of its last event, once it has ended. */
  readonly completed?: number;
}

/** The answer of `GET /runs/{run_id}`. */
export interface RunStatus extends RunSummary {
  /** Its newest requests, the newest first. */
  readonly requests: readonly RunRequest[];
}

const text = z.string();

const finishReason = z.enum(FINISH_REASONS);

const held: z.ZodType<HeldTurn> = z
  .object({ ...holdReason, since: timestamp } satisfies Shape<HeldTurn>)
  .describe("Why the turn is held: no code that is served can continue it.");

const lastTurn = z
  .object({
    request_id: requestId,
    operation: text,
    agent_version: text.exactOptional().describe("The version of the agent's code that began the turn."),
    started_at: timestamp,
    ended_at: timestamp.exactOptional().describe("Absent while the turn is not at its end."),
    finish_reason: finishReason.exactOptional(),
    error_code: z.enum(TURN_ERROR_CODES).exactOptional(),
    error_message: text
      .exactOptional()
      .describe("The beginning of the error's message; absent where the log is encrypted."),
    result: text
      .exactOptional()
      .describe("The beginning of the turn's result; absent where the log is encrypted."),
    canceling: z
      .object({ since: timestamp })
      .exactOptional()
      .describe("Present while the cleanup steps of the turn run: it was canceled or has failed."),
    held: held.exactOptional(),
    stopped: z
      .object({ since: timestamp })
      .exactOptional()
      .describe("Present while the actor takes no requests: its supervisor has stopped it for this turn."),
  } satisfies Shape<LastTurn>)
  .describe("The newest turn of the run.");

const summaryFields = {
  run_id: runId,
  agent: text,
  status: z.enum(RUN_PHASES),
  created_at: timestamp,
  updated_at: timestamp,
  initial_input: json,
  turns: count,
  key: text.exactOptional().describe("The name that the run was created with."),
  forked_from: z
    .object({ run_id: runId, id: count })
    .exactOptional()
    .describe("The run and event that this run was forked from."),
  last_event_id: count,
  last_turn: lastTurn
    .exactOptional()
    .describe("Absent before the first turn, for a fork before its first own turn, and for older logs."),
  open_waits: count.describe("The number of open waits."),
  queued: count.describe("The number of queued requests."),
  wake_at: timestamp.exactOptional().describe("When the parked request continues by itself."),
  usage: usage.exactOptional().describe("The usage of all turns that have ended."),
} satisfies Shape<RunSummary>;
const requestPhase = z.enum(REQUEST_PHASES);

const runRequest = z.object({
  request_id: requestId,
  status: requestPhase,
  created_at: timestamp,
  started: ordinal.exactOptional().describe("The id of its first event; absent while it is queued."),
  completed: ordinal.exactOptional().describe("The id of its last event, once it has ended."),
} satisfies Shape<RunRequest>);

const waitingFor: z.ZodType<WaitingFor> = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("input"),
    wait_id: ordinal,
    approvers: z.array(text).exactOptional().describe("The roles that may answer."),
    expires_at: timestamp.exactOptional(),
  }),
  z.object({
    kind: z.literal("tool"),
    wait_id: ordinal,
    name: text,
    args: json,
    expires_at: timestamp.exactOptional(),
  }),
  z.object({ kind: z.literal("sleep"), expires_at: timestamp }),
  z.object({
    kind: z.literal("message"),
    name: text,
    names: z.array(text).exactOptional(),
    expires_at: timestamp.exactOptional(),
  }),
  z.object({
    kind: z.literal("model"),
    model: text,
    fallback: z.array(text).exactOptional().describe("The models that are asked instead."),
    retry_at: timestamp.describe("When it is asked again; later if it is still away then."),
    expires_at: timestamp,
  }),
  z.object({
    kind: z.literal("actor"),
    agent: text,
    key: text.exactOptional(),
    run_id: runId.exactOptional(),
    request_id: requestId.describe("The request there."),
    expires_at: timestamp.exactOptional(),
  }),
]);

/** @internal The schema of the state of a request. */
export const requestStatus: z.ZodType<RequestStatus> = z
  .object({
    request_id: requestId,
    run_id: runId,
    agent: text,
    operation: text,
    status: requestPhase,
    finish_reason: finishReason.exactOptional(),
    result: text.nullable().exactOptional(),
    output: json.exactOptional(),
    error: turnError.exactOptional(),
    request_keys: questions.exactOptional().describe("The questions of the oldest open wait."),
    question: text.exactOptional().describe("What it asks, for a reader who may not answer it."),
    wait_id: ordinal.exactOptional().describe("The oldest open wait."),
    state: json.exactOptional().describe("XState's state value, if the agent is a state machine."),
    accepts: z
      .array(text)
      .exactOptional()
      .describe("The operations that the machine takes now; its guards are not considered."),
    waiting_for: waitingFor
      .exactOptional()
      .describe("What the request waits for from outside; clients ignore kinds that they do not know."),
    held: held.exactOptional(),
    wake_at: timestamp.exactOptional().describe("When the parked request continues by itself."),
    created_at: timestamp,
    completed_at: timestamp.exactOptional(),
    last_event_id: count.describe("The id of the request's newest event, 0 when it has none."),
  } satisfies Shape<RequestStatus>)
  .describe("The state of a request.");

/** @internal The schema of a row of the list of runs. */
export const runSummary: z.ZodType<RunSummary> = z
  .object(summaryFields)
  .describe("A run in the list of runs.");

/** @internal The schema of the state of a run. */
export const runStatus: z.ZodType<RunStatus> = z
  .object({
    ...summaryFields,
    requests: z.array(runRequest).describe("Its newest requests, the newest first."),
  } satisfies Shape<RunStatus>)
  .describe("A run and its newest requests.");
