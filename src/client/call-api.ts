import type { ClientToolCall, Questions } from "../protocol/events/event-body.ts";
import type { Event } from "../protocol/events/events.ts";
import type { ArtifactId, CallId, RequestId, RunId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { ClientTool, LoggingLevel, OnBusy } from "../protocol/requests/requests.ts";
import type { RunView } from "../view/run-view.ts";

/**
 * A request and its turn. It can be awaited and iterated, both several times. Awaiting gives the output of the turn.
 * It throws an AgentError with the code of a turn that failed or was canceled, and a WaitingError if the turn waits for
 * an answer and the call has no `answer`; the turn stays open on the server. A call that is not awaited throws nowhere.
 *
 * Iterating gives each event of the turn once, from its first one to its end, or until it waits. The newest 10,000 events
 * are kept; an iteration that needs older ones reads them from the server again.
 */
export interface AgentCall<Output> extends PromiseLike<Output>, AsyncIterable<Event> {
  /** Chosen by the client. */
  readonly requestId: RequestId;
  /** Known as soon as the server has accepted the request. */
  readonly runId: Promise<RunId>;
  /** The open questions, as far as the events have been read. */
  readonly waits: readonly OpenWait[];
  /** What has happened so far. */
  view(): Promise<RunView>;
  /** Cancels the turn. */
  cancel(): Promise<void>;
}

/** An open question. */
export interface OpenWait {
  /** The id of the event that asks. */
  readonly waitId: number;
  readonly runId: RunId;
  readonly requestId: RequestId;
  /** Who asks. */
  readonly agent: string;
  readonly depth: number;
  readonly callId: CallId;
  /** A description for each requested value. */
  readonly questions: Questions;
  /** JSON Schema of the values. */
  readonly schema: JsonObject | undefined;
  /** The call of a tool that is to be approved. */
  readonly approval: Json | undefined;
  /** The call of a tool that this client is to run: `answer({ result })`, or `answer({ result: why, is_error: true })`. */
  readonly tool: ClientToolCall | undefined;
  /** The roles that may answer; `undefined` if everyone may who sees the question. */
  readonly approvers: readonly string[] | undefined;
  /** What is asked, if this client may not answer; there are no `questions` and no schema then. */
  readonly question: string | undefined;
  /** When it ends by itself. */
  readonly expiresAt: string | undefined;
  /** When it was asked. */
  readonly from: string;
  /** Answers it. Values that do not fit are refused with `unprocessable`, and the question stays open. */
  answer(values: JsonObject): Promise<void>;
}

/** How the events of a request are followed. */
export interface RequestFollowOptions extends Interruptible {
  /**
   * Answers the questions of the agent. `undefined` leaves one open. What it throws is thrown by the call, and the turn
   * stays open.
   */
  readonly answer?: (wait: OpenWait) => Answer | Promise<Answer>;
  /** Waits until another client answers the questions of the agent. Default false. */
  readonly patient?: boolean;
}

/** Values for a question, or nothing. */
export type Answer = JsonObject | undefined;

/** How an operation is called. */
export interface AgentCallOptions extends RequestFollowOptions {
  /** The run to continue. Default: a new run. */
  readonly runId?: RunId;
  /** The name of a run of the agent; the call continues that run or creates it. */
  readonly key?: string;
  /** Makes the call idempotent: the same id gives the same turn. Default: a new id. */
  readonly requestId?: RequestId;
  /** For the agent; a model does not get it. */
  readonly metadata?: JsonObject;
  /** What happens if the run is busy. Default: the request is queued. */
  readonly onBusy?: OnBusy;
  /** Which events are delivered. Default: all. */
  readonly loggingLevel?: LoggingLevel;
  /** Ids of uploaded files. */
  readonly attachments?: readonly ArtifactId[];
  /** Tools that this client runs: a call of one is a question with `tool`. */
  readonly tools?: readonly ClientTool[];
}

/** Names the run that gets a message, by its id or by its key. */
export interface TellOptions extends ConfigureOptions {
  /** Makes the message idempotent. Default: a new id. */
  readonly requestId?: RequestId;
}

/** What a configuration is for. */
export interface ConfigureOptions extends Interruptible {
  readonly runId?: RunId;
  readonly key?: string;
}

/** An action that a signal can end. */
export interface Interruptible {
  /** Ends the listening; the turn continues. */
  readonly signal?: AbortSignal;
}
