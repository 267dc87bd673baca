import type { ResumeWithInput } from "../../../protocol/requests/requests.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { WaitView } from "../../../view/run-view.ts";
import { alreadyAnswered, findAnsweredWait, toWaitValues } from "../../../view/wait-answers.ts";
import type { GivenAnswer } from "../../../view/wait-answers.ts";
import { checkNative } from "../../../http/messages/native-request.ts";
import type { ResponsePlace } from "../response/read-response.ts";
import type { Session } from "./sessions.ts";

/** An answer, and the open questions that it can be for. */
export interface NewAnswer {
  readonly session: Session;
  /** Oldest first. */
  readonly waits: readonly WaitView[];
  readonly answer: GivenAnswer;
  /** The id that the client chose for the response. */
  readonly id: string | undefined;
}

/** Answers a question. The response to it begins with the answer. */
export async function answerQuestion(
  runtime: Runtime,
  agent: string,
  { session, waits, answer, id }: NewAnswer,
): Promise<ResponsePlace> {
  const wait = await findAnsweredWait(runtime, { agent, runId: session.runId, waits }, answer);
  const resume: ResumeWithInput = {
    type: "ResumeWithInput",
    request_id: wait.requestId,
    wait_id: wait.waitId,
    request_keys: toWaitValues(wait, answer),
    ...(id !== undefined && { resume_id: id }),
  };
  const { requestId, replayed, after } = await runtime.process(agent, checkNative(resume));
  // The runtime accepts an equal answer twice, for clients that repeat a request.
  if (replayed) throw alreadyAnswered(wait.waitId);
  return { ...session, agent, requestId, began: after + 1 };
}
