import type { Environment } from "../../ports/environment.ts";
import type { EventBody, Questions, ToolErrorCode, TurnErrorCode } from "../../protocol/events.ts";
import type { ArtifactId, CallId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Caller } from "../../protocol/requests.ts";
import type { Memory } from "./turn-api.ts";

/** What makes an agent one whose work is done elsewhere: the runtime asks this instead of a handler. */
export interface RemoteHandler {
  /** Whether the agent's operations are known; until then any may be asked for. */
  readonly known: boolean;

  /** Learns what the agent can do. Resolves when that is known, or cannot be learned at present; never rejects. */
  ready(): Promise<void>;

  /**
   * Has an operation performed and tells what happens there as it happens. Called again after a crash,
   * with what was kept last; it then goes on from there. Ends soon after the signal has fired.
   */
  perform(asked: RemoteRequest, place: RemoteSession): Promise<RemoteEnd>;

  /** Tells the other side, in the background, that what was kept last belongs to a call that was canceled. */
  abandon(kept: Json, environment: Environment): void;
}

/** What is asked for. */
export interface RemoteRequest {
  readonly operation: string;
  readonly input: Json;
  readonly metadata: JsonObject;
  /** The files that came with the request; none where another agent asks. */
  readonly attachments: readonly RemoteFile[];
  /** The turns that led to the request; the last is the one that asks. */
  readonly caller: readonly Caller[];
  /** How deep the agent stands that is asked, other servers included. */
  readonly depth: number;
}

/** A file of ours. */
export interface RemoteFile {
  readonly artifactId: ArtifactId;
  /** Opens it; `not_found` when it is not there any more. */
  open(): Promise<{
    readonly name: string;
    readonly mimeType: string;
    readonly body: AsyncIterable<Uint8Array>;
  }>;
}

/** How the work ended. */
export type RemoteEnd = RemoteResult | RemoteError;

/** What came of the work. */
export interface RemoteResult {
  readonly ok: true;
  /** The result in words; `null` where there are none, or where what was said is the answer. */
  readonly result: string | null;
  /** The structured result. */
  readonly output: Json;
  /** Whether the result in words was cut. */
  readonly truncated: boolean;
}

/** Why nothing came of it. */
export interface RemoteError {
  readonly ok: false;
  /** For an agent that called this one. */
  readonly toolCode: ToolErrorCode;
  /** For a client that asked this one. */
  readonly turnCode: TurnErrorCode;
  readonly message: string;
}

/** Who speaks on the other side. */
export interface RemoteSpeaker {
  readonly agent: string;
  /** 0 for the agent that was asked there. */
  readonly depth: number;
  /** The call, by its id here, under which it speaks; only for depths above 0. */
  readonly parent?: CallId;
}

/** A question of somebody on the other side. */
export interface RemoteQuestion {
  readonly callId: CallId;
  readonly questions: Questions;
  readonly schema?: JsonObject;
  readonly give: Give;
}

/**
 * Gives an answer to the other side, before it is logged here; throws what is wrong with it, and then the
 * question stays open. May be called again with the same answer.
 */
export type Give = (values: JsonObject) => Promise<void>;

/** A file of the other side, to be kept as one of ours. */
export interface StoredFile {
  readonly artifactId: ArtifactId;
  readonly name: string;
  readonly mimeType: string;
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * The place of a foreign call in a turn: the way in which what happens elsewhere gets into our log. What is
 * told between two awaits is committed together, or not at all. Nothing is taken after the signal.
 */
export interface RemoteSession {
  /** Names the call in all the world, and equally on every attempt: what makes it harmless to ask twice. */
  readonly key: string;
  readonly environment: Environment;
  /** Fires when nobody wants the answer any more, or this process lets go of the turn. */
  readonly signal: AbortSignal;
  /** Whether the process lets go of the turn, which then goes on some other time. */
  readonly released: boolean;
  /** What was kept last, in an earlier life of the process. */
  readonly kept: Json | undefined;
  /** What the agent keeps for the run. */
  readonly memory: Memory;
  /** How deep whoever speaks on the other side may be. */
  readonly depthLimit: number;

  /** Makes the id of a new call. */
  newCall(): CallId;

  /** Logs what somebody there says, or a file that was stored. */
  say(voice: RemoteSpeaker, body: EventBody): void;

  /** Notes that a call is open there, so that it ends here when its turn does. Calls from before are open already. */
  began(callId: CallId, name: string, voice: RemoteSpeaker): void;

  /** Notes that it has ended by itself. */
  ended(callId: CallId): void;

  /** Asks the caller of the turn. Resolves when the answer is in the log. */
  ask(voice: RemoteSpeaker, question: RemoteQuestion): Promise<void>;

  /** Goes on with a question that an earlier life has asked. */
  askedBefore(callId: CallId, give: Give): Promise<void>;

  /** Logs an answer that was given on the other side by somebody else. */
  answered(callId: CallId, values: JsonObject): void;

  /** Stores a file; the answer is what to say of it. Storing it again under the same id does no harm. */
  store(file: StoredFile): Promise<EventBody>;

  /** Says whether work goes on there, or all there is to do is to wait for answers. */
  busy(isBusy: boolean): void;

  /** Keeps what a later life has to know, together with all that was told before. Resolves at the commit. */
  keep(state: Json): Promise<void>;

  /** Resolves when all is in the log that has happened here so far; rejects when that cannot be any more. */
  committed(): Promise<void>;
}

/** What the log holds of a foreign call: what was kept, and how far its ids were counted. */
export interface RemoteCursor {
  readonly calls: number;
  /** The questions that are open or whose answer has not been delivered. */
  readonly waits: readonly CallId[];
  /** The files that the agent itself has published. */
  readonly files: readonly PublishedFile[];
  readonly kept: Json;
}

/** A file that an actor published. */
export interface PublishedFile {
  readonly name: string;
  readonly mimeType: string;
  readonly url: string;
}

/** The work that was done elsewhere failed there. */
export class RemoteFailure extends Error {
  override readonly name = "ForeignFailure";
  readonly toolCode: ToolErrorCode;
  readonly turnCode: TurnErrorCode;

  constructor({ message, toolCode, turnCode }: RemoteError) {
    super(message);
    this.toolCode = toolCode;
    this.turnCode = turnCode;
  }
}
