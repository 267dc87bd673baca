import { AgentError } from "../../../errors.ts";
import type { Host } from "../../../http/routes/host.ts";
import { readGivenAnswers } from "../request/answer.ts";
import type { ProcessRequest } from "../request/body.ts";
import type { ResponsePlace } from "../response/read-response.ts";
import { answerQuestions } from "./answer-question.ts";
import type { AgentScopeOptions } from "./options.ts";
import { readRunActivity } from "../../../view/run-activity.ts";
import { findSession } from "./sessions.ts";
import { startResponse } from "./start-turn.ts";
import { findRequest } from "../../../http/messages/native-request.ts";

/** An agent, and what its routes work with. */
export interface AgentScopeService {
  readonly host: Host;
  readonly agent: string;
  /** Whether its routes are those of the root. */
  readonly isAtRoot: boolean;
  readonly options: AgentScopeOptions;
}

/** Takes a request: it answers an open question of its session, or starts a turn. */
export async function acceptRequest(
  { host, agent, options }: AgentScopeService,
  request: ProcessRequest,
): Promise<ResponsePlace> {
  const { runtime, fileLimitBytes } = host;
  const { id } = request;
  const known = id === undefined ? undefined : await findRequest(runtime, id);
  const session = await findSession(runtime, agent, request);
  const answers = readGivenAnswers(request.input);
  const namesQuestion = answers.some(({ type }) => type === "approval" || type === "result");
  // A repeated request answers nothing, although its session may ask something by now.
  if (known === undefined) {
    if (session !== undefined) {
      const { waits, answers: earlier } = await readRunActivity(runtime, agent, session.runId);
      const given = id === undefined ? undefined : earlier.get(id);
      if (given !== undefined) return { ...session, ...given, agent };
      if (namesQuestion || waits.length > 0) {
        return answerQuestions(runtime, agent, { session, waits, answers, id });
      }
    } else if (namesQuestion) {
      throw new AgentError("not_found", "the session has no question with this id");
    }
  }
  const { busy = "reject" } = options;
  return startResponse(runtime, agent, { request, session, known, busy, fileLimitBytes });
}
