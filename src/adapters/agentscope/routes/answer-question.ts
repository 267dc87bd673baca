import { AgentError } from "../../../errors.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { WaitView } from "../../../view/run-view.ts";
import { alreadyAnswered, findAnsweredWait, toWaitValues } from "../../../view/wait-answers.ts";
import type { GivenAnswer } from "../../../view/wait-answers.ts";
import { checkNative } from "../../../http/messages/native-request.ts";
import type { ResponsePlace } from "../response/read-response.ts";
import type { Session } from "./sessions.ts";

/** Answers, and the open questions that they can be for. */
export interface NewAnswers {
  readonly session: Session;
  /** Oldest first. */
  readonly waits: readonly WaitView[];
  readonly answers: readonly GivenAnswer[];
  /** The id that the client chose for the response. */
  readonly id: string | undefined;
}

/** Answers questions; all are found before the first one is answered. The response begins with the newest answer. */
export async function answerQuestions(
  runtime: Runtime,
  agent: string,
  { session, waits, answers, id }: NewAnswers,
): Promise<ResponsePlace> {
  const run = { agent, runId: session.runId, waits };
  const found = [];
  for (const answer of answers) {
    const wait = await findAnsweredWait(runtime, run, answer);
    const resume = checkNative({
      type: "ResumeWithInput",
      request_id: wait.requestId,
      wait_id: wait.waitId,
      request_keys: toWaitValues(wait, answer),
      // The last answer begins the response.
      ...(id !== undefined && answer === answers.at(-1) && { resume_id: id }),
    });
    found.push({ wait, resume });
  }
  let place: ResponsePlace | undefined;
  for (const { wait, resume } of found) {
    const { requestId, replayed, after } = await runtime.process(agent, resume);
    // The runtime accepts an equal answer twice. Only the result of a tool is one that a client repeats with others.
    if (replayed && wait.tool === undefined) throw alreadyAnswered(wait.waitId);
    place = { ...session, agent, requestId, began: Math.max(after + 1, place?.began ?? 0) };
  }
  if (place === undefined) throw new AgentError("conflict", "the session has no open question");
  return place;
}
