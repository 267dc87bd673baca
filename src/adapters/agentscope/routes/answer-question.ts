import { AgentError } from "../../../errors.ts";
import type { Event } from "../../../protocol/events/events.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { WaitView } from "../../../view/run-view.ts";
import { approvalKeyOf, checkAnswerable, toAnswer, toApproval } from "../../../view/to-answer.ts";
import type { AskedQuestion } from "../../../view/to-answer.ts";
import type { ResumeWithInput } from "../../../protocol/requests/requests.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { InputAnswer } from "../request/answer.ts";
import { checkNative } from "../../../http/messages/native-request.ts";
import { unprocessable } from "../../../http/messages/wrong-field.ts";
import type { ResponsePlace } from "../response/read-response.ts";
import type { Session } from "./sessions.ts";

/** An answer, and the open questions that it can be for. */
export interface NewAnswer {
  readonly session: Session;
  /** Oldest first. */
  readonly waits: readonly WaitView[];
  readonly answer: InputAnswer;
  /** The id that the client chose for the response. */
  readonly id: string | undefined;
}

/** Answers a question. The response to it begins with the answer. */
export async function answerQuestion(
  runtime: Runtime,
  agent: string,
  { session, waits, answer, id }: NewAnswer,
): Promise<ResponsePlace> {
  const wait = await findWait(runtime, agent, { session, waits, answer, id });
  const resume: ResumeWithInput = {
    type: "ResumeWithInput",
    request_id: wait.requestId,
    wait_id: wait.waitId,
    request_keys: toValues(wait, answer),
    ...(id !== undefined && { resume_id: id }),
  };
  const { requestId, replayed, after } = await runtime.process(agent, checkNative(resume));
  // The runtime accepts an equal answer twice, for clients that repeat a request.
  if (replayed) throw alreadyAnswered(wait.waitId);
  return { ...session, agent, requestId, began: after + 1 };
}

async function findWait(
  runtime: Runtime,
  agent: string,
  { session: { runId }, waits, answer }: NewAnswer,
): Promise<WaitView> {
  if (answer.type === "approval" || (answer.type === "values" && answer.waitId !== undefined)) {
    const { waitId } = answer;
    const open = waits.find((wait) => wait.waitId === waitId);
    if (open !== undefined) return open;
    if (waitId !== undefined && (await isWait(runtime, agent, { runId, waitId })))
      throw alreadyAnswered(waitId);
    throw new AgentError("not_found", "the session has no question with this id");
  }
  const [oldest] = waits;
  if (oldest === undefined) throw new AgentError("conflict", "the session has no open question");
  if (answer.type === "text") return oldest;
  const given = Object.keys(answer.values);
  return waits.find(({ questions }) => given.some((key) => Object.hasOwn(questions, key))) ?? oldest;
}

async function isWait(
  runtime: Runtime,
  agent: string,
  { runId, waitId }: { readonly runId: string; readonly waitId: number },
): Promise<boolean> {
  const { events } = await runtime.read({ kind: "run", runId, agent }, { after: waitId - 1, limit: 1 });
  const [event] = events.map((text) => JSON.parse(text) as Event);
  return event?.type === "WaitForInput" && event.id === waitId;
}

/** The values of an answer by the keys of its question; `unprocessable` if it does not fit. */
function toValues(wait: WaitView, answer: InputAnswer): JsonObject {
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

function alreadyAnswered(waitId: number): AgentError {
  return new AgentError("conflict", `question ${waitId} is already answered`);
}

function misfit({ questions }: WaitView): AgentError {
  return unprocessable(
    Object.entries(questions).map(([path, question]) => ({ path, message: `is asked for: ${question}` })),
  );
}

/** What a text answers: of a question for yes or no, that alone. */
function askedBy(wait: WaitView): AskedQuestion {
  const key = approvalKeyOf(wait);
  return key === undefined ? wait : { ...wait, questions: { [key]: wait.questions[key] ?? "" } };
}
