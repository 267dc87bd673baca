import type { Environment } from "../../ports/environment.ts";
import type { CallMode, Hops, Caller } from "../../protocol/actors.ts";
import type { Approval, ClientToolCall, EventBody, Questions } from "../../protocol/events/event-body.ts";
import { isModelCode } from "../../protocol/events/outcome-codes.ts";
import type { ToolErrorCode, TurnErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { ClientTool } from "../../protocol/requests/requests.ts";
import type { ArtifactId, CallId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { PeerClaim } from "../../shared/peer-claim.ts";
import type { TraceContext } from "../../shared/trace-context.ts";
import type { Artifact, Memory } from "./turn-api.ts";

/** The implementation of an agent on another server: the runtime calls this instead of a handler. */
export interface RemoteHandler {
  /** Whether the agent's operations are known; until then any operation may be called. */
  readonly known: boolean;

  /** Whether its requests can name a run by key or id; false until that is known. */
  readonly keys?: boolean;

  /** Resolves when the agent's operations are known, or cannot be fetched now; never rejects. */
  ready(): Promise<void>;

  /**
   * Performs an operation and reports its events as they occur. After a crash it is called again with the
   * saved state, and continues from there. Ends soon after the signal has aborted.
   */
  perform(asked: RemoteRequest, place: RemoteSession): Promise<RemoteEnd>;

  /** Informs the other server, in the background, that the call of this saved state was canceled. */
  abandon(kept: Json, environment: Environment): void;
}

/** The actor of a remote agent that a request is for. */
export interface RemoteActor {
  readonly mode: CallMode;
  readonly key?: string;
  readonly runId?: RunId;
}

/** What an agent elsewhere is asked to do. */
export interface RemoteRequest {
  /** The actor that it is for; without it, the request gets a run of its own. */
  readonly actor?: RemoteActor;
  readonly hops?: Hops;
  readonly operation: string;
  readonly input: Json;
  readonly metadata: JsonObject;
  /** The files of the request; none if another agent calls. */
  readonly attachments: readonly RemoteFile[];
  /** Tools that the client runs; none if another agent calls. */
  readonly tools: readonly ClientTool[];
  /** The turns that led to the request; the last one is the caller. */
  readonly caller: readonly Caller[];
  /** The depth of the called agent, counted across all servers. */
  readonly depth: number;
  /** The trace that the request belongs to. */
  readonly trace: TraceContext;
}

/** A local file. */
export interface RemoteFile {
  readonly artifactId: ArtifactId;
  /** Opens it; `not_found` if it no longer exists. */
  open(): Promise<{
    readonly name: string;
    readonly mimeType: string;
    readonly body: AsyncIterable<Uint8Array>;
  }>;
}

/** The end of the work. */
export type RemoteEnd = RemoteResult | RemoteError;

/** A successful end. */
export interface RemoteResult {
  readonly ok: true;
  /** The result as text; `null` if there is none, or if the streamed text is the answer. */
  readonly result: string | null;
  /** The structured result. */
  readonly output: Json;
  /** Whether the text was cut. */
  readonly truncated: boolean;
}

/** A failed end. */
export interface RemoteError {
  readonly ok: false;
  /** The code for a calling agent. */
  readonly toolCode: ToolErrorCode;
  /** The code for a client. */
  readonly turnCode: TurnErrorCode;
  readonly message: string;
}

/** The failed end of a call, by why the turn on the other server ended. */
export function toRemoteError(turnCode: TurnErrorCode, message: string): RemoteError {
  const toolCode = TOOL_CODES[turnCode] ?? (isModelCode(turnCode) ? turnCode : "tool_error");
  return { ok: false, toolCode, turnCode, message };
}

/** The code of the local call for each error code of the remote turn. */
const TOOL_CODES: Partial<Record<TurnErrorCode, ToolErrorCode>> = {
  unsupported_input: "invalid_input",
  interrupted: "interrupted",
  poisoned: "interrupted",
  timeout: "timeout",
  canceled: "canceled",
};

/** A speaker on the other server. */
export interface RemoteSpeaker {
  readonly agent: string;
  /** 0 for the requested agent there. */
  readonly depth: number;
  /** The local id of its parent call; only for depths above 0. */
  readonly parent?: CallId;
}

/** A question from the other server. */
export interface RemoteWait {
  readonly callId: CallId;
  readonly questions: Questions;
  readonly schema?: JsonObject;
  /** The call that is to be approved. */
  readonly approval?: Approval;
  /** The call of a tool that the client is to run. */
  readonly tool?: ClientToolCall;
  /** The roles that may answer. */
  readonly approvers?: readonly string[];
  /** What is asked, if the server there does not take an answer from this one. */
  readonly question?: string;
  /** When it ends there without an answer, in milliseconds since 1970. */
  readonly expiresAt?: number;
  readonly give: Give;
  /** Called from that time on, again and again while the wait is open here. */
  readonly due?: () => void;
}

/**
 * Sends an answer to the other server before it is logged here. If it throws, the question stays open. It can
 * be called again with the same answer.
 */
export type Give = (values: JsonObject) => Promise<void>;

/** A remote file to store as a local one. */
export interface StoredFile {
  readonly artifactId: ArtifactId;
  readonly name: string;
  readonly mimeType: string;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * A remote call's access to its turn and the log. Everything that is reported between two awaits is committed
 * atomically. Nothing is accepted after the signal has aborted.
 */
export interface RemoteSession {
  /** A globally unique name of the call, equal on every attempt; it makes repeated requests harmless. */
  readonly key: string;
  readonly environment: Environment;
  /** Aborts when the answer is no longer needed, or when this process passivates the turn. */
  readonly signal: AbortSignal;
  /** Whether the process passivates the turn, which continues later. */
  readonly released: boolean;
  /** The state saved by an earlier activation. */
  readonly kept: Json | undefined;
  /** Whose work it is; absent for that of a shared actor. */
  readonly principal?: PeerClaim | undefined;
  /** The agent's memory of the run. */
  readonly memory: Memory;
  /** The maximum depth of speakers on the other server. */
  readonly depthLimit: number;

  newCall(): CallId;

  /** Logs an event of a remote speaker, or a stored file. */
  say(speaker: RemoteSpeaker, body: EventBody): void;

  /**
   * Registers an open remote call, so that it ends together with its turn. Calls of an earlier activation are
   * already registered.
   */
  began(callId: CallId, name: string, speaker: RemoteSpeaker): void;

  /** Registers the end of a remote call. */
  ended(callId: CallId): void;

  /** Asks the caller of the turn. Resolves when the answer is in the log. */
  ask(speaker: RemoteSpeaker, wait: RemoteWait): Promise<void>;

  /** Continues a question of an earlier activation. */
  askedBefore(wait: Pick<RemoteWait, "callId" | "give" | "due">): Promise<void>;

  /** Logs an answer that was given on the other server. */
  answered(callId: CallId, values: JsonObject): void;

  /** Logs that a question has expired on the other server. */
  expired(callId: CallId): void;

  /** Stores a file and returns its event. Storing the same id again is harmless. */
  store(file: StoredFile): Promise<EventBody>;

  /** Reports whether work is running there, or the call only waits for answers. */
  busy(isBusy: boolean): void;

  /** Saves the state together with everything reported before. Resolves when it is committed. */
  keep(state: Json): Promise<void>;

  /** Resolves when everything so far is committed; rejects when that is no longer possible. */
  committed(): Promise<void>;
}

/** The saved state of a remote call in the log, and the counter of its local ids. */
export interface RemoteCursor {
  readonly calls: number;
  /** The questions that are open or whose answer is not delivered yet. */
  readonly waits: readonly CallId[];
  /** The files that the agent itself has published. */
  readonly files: readonly Artifact[];
  readonly kept: Json;
}

/** The work on the other server failed. */
export class RemoteFailure extends Error {
  override readonly name = "RemoteFailure";
  readonly toolCode: ToolErrorCode;
  readonly turnCode: TurnErrorCode;

  constructor({ message, toolCode, turnCode }: RemoteError) {
    super(message);
    this.toolCode = toolCode;
    this.turnCode = turnCode;
  }
}
