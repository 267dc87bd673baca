import { sha256 } from "../../shared/sha256.ts";

/** The name of the tool whose calls are the questions of agents. */
export const WAIT_TOOL = "wait_for_input";

/** The id of the tool call that shows a question. */
export function waitToolId(waitId: number): string {
  return `wait_${waitId}`;
}

/** The id under which a question is approved. */
export function approvalIdOf(requestId: string, waitId: number): string {
  return `${requestId}.${waitId}`;
}

/** The id of the message that a request begins, or an answer that a person typed, which the log has as `answeredId`. */
export function messageIdOf(requestId: string, answeredId?: number): string {
  return answeredId === undefined ? requestId : `${requestId}_${answeredId}`;
}

/** The id of the request that a message of a page begins, so that a message that is sent twice is one request. */
export async function pageRequestId(agent: string, chatId: string, messageId: string): Promise<string> {
  return `ui-${await sha256(JSON.stringify([agent, chatId, messageId]))}`;
}

/** How an answer is given: as a message of its own, or in the message that asks. */
export type AnswerKind = "text" | "tool";

/** The id of an answer in the log. It makes the answer idempotent, and says whether it begins a message. */
export async function answerIdOf(kind: AnswerKind, ...names: readonly string[]): Promise<string> {
  return `${kind === "text" ? TEXT_ANSWER : "ui-tool-"}${await sha256(JSON.stringify(names))}`;
}

/** Whether an answer was typed as a message of its own. */
export function isTextAnswer(resumeId: string | undefined): boolean {
  return resumeId?.startsWith(TEXT_ANSWER) === true;
}

/** The beginning of the ids of answers that begin a message. */
const TEXT_ANSWER = "ui-text-";
