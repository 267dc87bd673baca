import { AgentError } from "../errors.ts";
import type { Event } from "../protocol/events/events.ts";
import type { RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Runtime } from "../runtime/api.ts";
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
  | { readonly type: "text"; readonly waitId?: number; readonly text: string };

/** A run and its open questions, oldest first. */
export interface AskingRun {
  readonly agent: string;
  readonly runId: RunId;
  readonly waits: readonly WaitView[];
}

/**
 * The question that an answer is for: the one that it names, else the oldest that its values fit, else the oldest. Throws `conflict`
 * for one that is answered already, `not_found` for one that never was.
 */
export async function findAnsweredWait(
  runtime: Runtime,
  { agent, runId, waits }: AskingRun,
  answer: GivenAnswer,
): Promise<WaitView> {
  const { waitId } = answer;
  if (answer.type === "approval" || waitId !== undefined) {
    const open = waits.find((wait) => wait.waitId === waitId);
    if (open !== undefined) return open;
    if (waitId !== undefined && (await isWait(runtime, { agent, runId, waitId })))
      throw alreadyAnswered(waitId);
    throw new AgentError("not_found", "the run has no question with this id");
  }
  const [oldest] = waits;
  if (oldest === undefined) throw new AgentError("conflict", "the run has no open question");
  if (answer.type === "text") return oldest;
  const given = Object.keys(answer.values);
  return waits.find(({ questions }) => given.some((key) => Object.hasOwn(questions, key))) ?? oldest;
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
    default: {
      const never: never = answer;
      return never;
    }
  }
}

/** The error for an answer that comes too late. */
export function alreadyAnswered(waitId: number): AgentError {
  return new AgentError("conflict", `question ${waitId} is already answered`);
}

async function isWait(
  runtime: Runtime,
  { agent, runId, waitId }: { readonly agent: string; readonly runId: RunId; readonly waitId: number },
): Promise<boolean> {
  const { events } = await runtime.read({ kind: "run", runId, agent }, { after: waitId - 1, limit: 1 });
  const [event] = events.map((text) => JSON.parse(text) as Event);
  return event?.type === "WaitForInput" && event.id === waitId;
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
