import type { Approval, Questions } from "../protocol/events/event-body.ts";
import type { RequestId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { AnswerLinkOptions } from "./agent/turn-api.ts";

/** What the holder of a link may see. */
export interface OpenedAnswerLink {
  readonly agent: string;
  /** Whether the wait can be answered; otherwise how it has ended. */
  readonly state: "open" | "answered" | "closed";
  /** What is asked. */
  readonly questions: Questions;
  readonly schema?: JsonObject;
  readonly approval?: Approval;
  /** The roles that may answer, if the holder has none of them. */
  readonly approvers?: readonly string[];
  /** Who has answered, if the state is `answered` and they have a name. */
  readonly answeredBy?: string;
}

/** Addresses at which one wait can be answered, for people who have no account. */
export interface AnswerLinks {
  /** An address below that of the server, for the oldest open wait of a request or the one with this id. */
  create(requestId: RequestId, options?: AnswerLinkOptions & { readonly waitId?: number }): Promise<string>;
  /** What a link is for; `undefined` for a forged one, and one that has expired. Changes nothing. */
  open(token: string): Promise<OpenedAnswerLink | undefined>;
  /** Answers the wait of a link. Throws `conflict` if it is closed, and `unprocessable` if the values do not fit. */
  answer(token: string, values: JsonObject): Promise<void>;

  /** Whose sign-in elsewhere has this state; `undefined` for a forged one, one that has expired, and one that is over. */
  signIn(state: string): Promise<{ readonly owner: string } | undefined>;
  /** Ends a sign-in elsewhere with the address to which the browser was led: answers the questions that wait for it. */
  endSignIn(state: string, address: string): Promise<void>;
}
