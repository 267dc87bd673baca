import type { Budget } from "../../protocol/events/event-body.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import type { Outcome } from "./turn-journal.ts";

/** Carries requests and answers between actors: the part above the runs, which finds the owner of each. */
export interface Mail {
  /**
   * Sends a request until the other actor has it in its log or refuses it. The requests of one run to one actor are
   * accepted in the order of these calls. Throws the refusal; resolves with `undefined` if the request is not wanted any
   * more.
   */
  post(letter: Letter): Promise<PostReceipt | undefined>;

  /** Cancels a request. If the other actor does not know it, it is accepted and canceled at once. */
  cancel(letter: Omit<Letter, "isWanted" | "expiresAt" | "isRepeated" | "isOwnStep">): Promise<void>;

  /**
   * Called when the started turn of a run is parked on asks alone. If the actors wait for each other, one of the asks fails.
   * Resolves when this is decided.
   */
  parked(runId: RunId): Promise<void>;

  /** Gives the answer to the actor that asked; resolves when it is in its log, or not wanted there. */
  reply(to: RunId, reply: Reply): Promise<void>;

  /** Has the completions go on that wait for a budget of an owner, which was raised, if it has room for them. Never rejects. */
  raised(owner: string, budget: Budget): Promise<void>;

  /** Has the new run of a renewed actor begin; resolves when that is in its log, also if it has begun before. */
  continueIn(to: RunId, actor: RenewedActor): Promise<void>;
}

/** A request of an actor to another one. */
export interface Letter {
  readonly from: RunId;
  readonly accepted: AcceptedRequest;
  /** Whether it may have been sent before. */
  readonly isRepeated: boolean;
  /** Whether the actor sends it to itself, directly or by its timer; too many in a second are slowed. */
  readonly isOwnStep: boolean;
  /**
   * When the request is no longer sent, in milliseconds since 1970. Default: it is sent until it is accepted or
   * refused.
   */
  readonly expiresAt?: number;
  isWanted(): boolean;
}

/** An actor whose run was renewed. */
export interface RenewedActor {
  /** Its run until now. */
  readonly source: RunId;
  readonly agent: string;
  readonly key: string;
  /** Since when it does nothing, in milliseconds since 1970, if its renewal is no work of it. */
  readonly idleSince?: number;
}

/** The run that has accepted a request. */
export interface PostReceipt {
  readonly runId: RunId;
  /** The answer, if the request is an operation that only reads: there is no other one. */
  readonly outcome?: Outcome;
}

/** The answer to an ask. */
export interface Reply {
  readonly requestId: RequestId;
  /** The call of the asking turn. */
  readonly callId: CallId;
  readonly outcome: Outcome;
  /** If true, the request is still open, and the actor that asked has it canceled. */
  readonly isRecalled?: boolean;
}
