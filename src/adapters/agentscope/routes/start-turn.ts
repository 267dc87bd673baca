import { AgentError } from "../../../errors.ts";
import type { ChatRequest } from "../../../protocol/requests/requests.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { ProcessRequest } from "../request/body.ts";
import { earlierMessages, readUserInput } from "../request/user-input.ts";
import { readTools } from "../../../http/messages/client-tools.ts";
import { checkFileCount, storeFiles } from "../../../http/messages/inline-file.ts";
import { checkNative, checkSameText } from "../../../http/messages/native-request.ts";
import type { RequestAddress } from "../../../http/messages/native-request.ts";
import type { ResponsePlace } from "../response/read-response.ts";
import { createSession, userOf } from "./sessions.ts";
import type { Session } from "./sessions.ts";

/** A request that starts a turn, and where it does so. */
export interface NewTurn {
  readonly request: ProcessRequest;
  /** The session, if it exists. */
  readonly session: Session | undefined;
  /** The request with the same id, if there was one before. */
  readonly known: RequestAddress | undefined;
  readonly busy: "reject" | "queue";
  readonly fileLimitBytes: number;
}

/** Starts a turn with what the user says. Its first response begins with the turn. */
export async function startResponse(
  runtime: Runtime,
  agent: string,
  { request, session: found, known, busy, fileLimitBytes }: NewTurn,
): Promise<ResponsePlace> {
  const { text, files, attachments, rest } = readUserInput(request.input);
  const { tools, others } = readTools(runtime, agent, request.metadata);
  // The log has what was said in a session that exists.
  const earlier = found === undefined ? earlierMessages(request.input) : [];
  const chat = checkNative({
    type: "ChatRequest",
    input: text,
    on_busy: busy === "queue" ? "enqueue" : "reject",
    request_metadata: {
      ...others,
      ...(rest.length > 0 && { content: rest }),
      ...(earlier.length > 0 && { messages: earlier }),
      ...(request.userId !== undefined && { user_id: request.userId }),
    },
    ...(request.id !== undefined && { request_id: request.id }),
    ...(tools !== undefined && { tools }),
  }) as ChatRequest;
  checkFileCount(attachments.length + files.length, "input");
  const session = found ?? (await newSession(runtime, agent, request, known));
  if (known !== undefined && session !== undefined && known.runId !== session.runId) {
    throw usedElsewhere(request.id);
  }
  if (known?.agent === agent && files.length > 0) {
    await checkSameText(runtime, known, text);
    const { requestId, runId } = known;
    return { agent, requestId, runId, sessionId: session?.sessionId ?? runId };
  }
  const ids = [...attachments, ...(await storeFiles(runtime, files, fileLimitBytes))];
  const { requestId, runId } = await runtime.process(agent, {
    ...chat,
    ...(session !== undefined && { run_id: session.runId }),
    ...(ids.length > 0 && { attachments: ids }),
  });
  const own = runId ?? "";
  return { agent, requestId, runId: own, sessionId: session?.sessionId ?? own };
}

/** The session of a request whose session does not exist; undefined for a new run without a name. */
async function newSession(
  runtime: Runtime,
  agent: string,
  { id, sessionId, userId }: ProcessRequest,
  known: RequestAddress | undefined,
): Promise<Session | undefined> {
  if (known !== undefined && (sessionId !== undefined || (await userOf(runtime, known.runId)) !== userId))
    throw usedElsewhere(id);
  if (sessionId === undefined && userId === undefined) return undefined;
  if (known === undefined) return createSession(runtime, agent, { sessionId, userId });
  return { runId: known.runId, sessionId: known.runId };
}

function usedElsewhere(id = ""): AgentError {
  return new AgentError("conflict", `the id ${id} was used in another session, or by another user`);
}
