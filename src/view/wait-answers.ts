import { AgentError } from "../errors.ts";
import type { Event, EventOf } from "../protocol/events/events.ts";
import type { RunId } from "../protocol/ids.ts";
import { isObject } from "../protocol/json.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { Receipt, Runtime } from "../runtime/api.ts";
import { isOwnAnswer } from "../runtime/queries/acknowledge.ts";
import type { WaitView } from "./run-view.ts";
import { approvalKeyOf, checkAnswerable, toAnswer, toApproval } from "./to-answer.ts";
import type { AskedQuestion } from "./to-answer.ts";

/** What a client of a wire answers to a question of a run. */
export type GivenAnswer =
  /** Yes or no. Without `waitId` it names no question that can exist. */
  | {
      readonly type: "approval";
      readonly waitId: number | undefined;
      readonly approve: boolean;
      readonly reason?: string;
    }
  /** Values by their keys. */
  | { readonly type: "values"; readonly waitId?: number; readonly values: JsonObject }
  /** The result of a tool that the client runs, or of a question that it shows as the call of one. */
  | {
      readonly type: "result";
      readonly waitId: number | undefined;
      readonly result: Json;
      /** Whether the call has failed; the result then says why. */
      readonly isError?: boolean;
    }
  | { readonly type: "text"; readonly waitId?: number; readonly text: string };

/** A question and where it is asked. */
export type PlacedQuestion = AskedQuestion & Pick<WaitView, "requestId" | "waitId">;

/** A run and its open questions, oldest first. */
export interface AskingRun {
  readonly agent: string;
  readonly runId: RunId;
  readonly waits: readonly WaitView[];
}

/**
 * The question that an answer is for: the one that it names, else the oldest that its values fit, else the oldest. Throws `conflict`
 * for one that is answered already, `not_found` for one that never was. The result of a tool may be sent again: whether it is the
 * same, the runtime decides.
 */
export async function findAnsweredWait(
  runtime: Runtime,
  { agent, runId, waits }: AskingRun,
  answer: GivenAnswer,
): Promise<PlacedQuestion> {
  const { waitId } = answer;
  if (answer.type === "approval" || answer.type === "result" || waitId !== undefined) {
    const open = waits.find((wait) => wait.waitId === waitId);
    if (open !== undefined) return open;
    const closed = waitId === undefined ? undefined : await readWait(runtime, { agent, runId, waitId });
    if (closed?.tool !== undefined && answer.type === "result") return closed;
    if (closed !== undefined) throw alreadyAnswered(closed.waitId);
    throw new AgentError("not_found", "the run has no question with this id");
  }
  const oldest = answer.type === "text" ? findTypedWait(waits) : waits[0];
  if (oldest === undefined) throw new AgentError("conflict", "the run has no open question");
  if (answer.type === "text") return oldest;
  const given = Object.keys(answer.values);
  return waits.find(({ questions }) => given.some((key) => Object.hasOwn(questions, key))) ?? oldest;
}

/**
 * The oldest question that a text answers; undefined if nothing is asked. The result of a tool is not typed: `conflict` if that is
 * all that the run waits for.
 */
export function findTypedWait<Wait extends AskedQuestion>(waits: readonly Wait[]): Wait | undefined {
  const [oldest] = waits;
  const typed = waits.find(({ tool }) => tool === undefined);
  if (typed !== undefined || oldest === undefined) return typed;
  const names = waits.flatMap(({ tool }) => tool?.name ?? []);
  throw new AgentError(
    "conflict",
    `the run waits for the result of ${names.join(" and ")}, which its client runs`,
    {
      hint: "send the result, or cancel the request",
    },
  );
}

/** The values of an answer by the keys of its question; `unprocessable` if it does not fit. */
export function toWaitValues(wait: AskedQuestion, answer: GivenAnswer): JsonObject {
  checkAnswerable(wait);
  switch (answer.type) {
    case "approval": {
      const values = toApproval(wait, answer.approve, answer.reason);
      if (values === undefined) throw misfit(wait);
      return values;
    }
    case "values": {
      const asked = Object.entries(answer.values).filter(([key]) => Object.hasOwn(wait.questions, key));
      if (asked.length === 0) throw misfit(wait);
      return Object.fromEntries(asked);
    }
    case "text":
      return toAnswer(askedBy(wait), answer.text);
    case "result": {
      const { result, isError = false } = answer;
      if (wait.tool !== undefined) return { result, ...(isError && { is_error: true }) };
      if (isError) throw new AgentError("unprocessable", "an error is no answer to a question");
      return toWaitValues(wait, toTyped(wait, result));
    }
    default: {
      const never: never = answer;
      return never;
    }
  }
}

/** Throws for an equal answer that another client has given before: the runtime takes it twice. */
export function checkOwnAnswer(receipt: Receipt, waitId: number, resumeId: string | undefined): void {
  if (!isOwnAnswer(receipt, resumeId)) throw alreadyAnswered(waitId);
}

/** The error for an answer that comes too late. */
export function alreadyAnswered(waitId: number): AgentError {
  return new AgentError("conflict", `question ${waitId} is already answered`);
}

/** What a result says to a question that is no call of a tool. */
function toTyped({ questions }: AskedQuestion, result: Json): GivenAnswer {
  if (typeof result === "string") return { type: "text", text: result };
  if (isObject(result)) return { type: "values", values: result };
  const [only, ...others] = Object.keys(questions);
  return { type: "values", values: only === undefined || others.length > 0 ? {} : { [only]: result } };
}

/** A question as it was asked; undefined if the id names none. */
async function readWait(
  runtime: Runtime,
  { agent, runId, waitId }: { readonly agent: string; readonly runId: RunId; readonly waitId: number },
): Promise<PlacedQuestion | undefined> {
  const { events } = await runtime.read({ kind: "run", runId, agent }, { after: waitId - 1, limit: 1 });
  const [event] = events.map((text) => JSON.parse(text) as Event);
  if (event?.type !== "WaitForInput" || event.id !== waitId) return undefined;
  return toPlacedQuestion(event);
}

/** A question, of the event that asks it. */
export function toPlacedQuestion(event: EventOf<"WaitForInput">): PlacedQuestion {
  const { wait_id: waitId, request_id: requestId, request_keys: questions } = event;
  const { schema, tool, approvers, question } = event;
  return {
    requestId,
    waitId,
    questions,
    ...(schema && { schema }),
    ...(tool && { tool }),
    ...(approvers && { approvers }),
    ...(question !== undefined && { question }),
  };
}

function misfit({ questions }: AskedQuestion): AgentError {
  const issues = Object.entries(questions).map(([path, question]) => ({
    path,
    message: `is asked for: ${question}`,
  }));
  const faults = issues.map(({ path, message }) => `${path} ${message}`);
  return new AgentError("unprocessable", faults.join("; "), { issues });
}

/** What a text answers: of a question for yes or no, that alone. */
function askedBy(wait: AskedQuestion): AskedQuestion {
  const key = approvalKeyOf(wait);
  return key === undefined ? wait : { ...wait, questions: { [key]: wait.questions[key] ?? "" } };
}
