import { AgentError, toAgentError } from "../../../errors.ts";
import type { Event } from "../../../protocol/events/events.ts";
import type { ChatRequest } from "../../../protocol/requests/requests.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { Address } from "../../../runtime/feeds.ts";
import type { ProcessRequest } from "../request/body.ts";
import { earlierMessages, readUserInput } from "../request/user-input.ts";
import { storeFiles } from "../../../http/messages/inline-file.ts";
import { checkNative } from "../../../http/messages/native-request.ts";
import { wrongField } from "../../../http/messages/wrong-field.ts";
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

/** The place of a request. */
export type RequestAddress = Extract<Address, { readonly kind: "request" }>;

/** Starts a turn with what the user says. Its first response begins with the turn. */
export async function startResponse(
  runtime: Runtime,
  agent: string,
  { request, session: found, known, busy, fileLimitBytes }: NewTurn,
): Promise<ResponsePlace> {
  const { text, files, attachments, rest } = readUserInput(request.input);
  // The log has what was said in a session that exists.
  const earlier = found === undefined ? earlierMessages(request.input) : [];
  const chat = checkNative({
    type: "ChatRequest",
    input: text,
    on_busy: busy === "queue" ? "enqueue" : "reject",
    request_metadata: {
      ...request.metadata,
      ...(rest.length > 0 && { content: rest }),
      ...(earlier.length > 0 && { messages: earlier }),
      ...(request.userId !== undefined && { user_id: request.userId }),
    },
    ...(request.id !== undefined && { request_id: request.id }),
  }) as ChatRequest;
  if (attachments.length + files.length > FILES_LIMIT) {
    throw wrongField("input", `must have at most ${FILES_LIMIT} files`);
  }
  const session = found ?? (await newSession(runtime, agent, request, known));
  if (known !== undefined && session !== undefined && known.runId !== session.runId) {
    throw usedElsewhere(request.id);
  }
  // The files of a repeated request were stored before, under other ids, so only the texts are compared.
  if (known?.agent === agent && files.length > 0) {
    await checkText(runtime, known, text);
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

/** The most files that a request can attach. */
const FILES_LIMIT = 100;

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

/** Fails if a request began with another text. One that waits in a queue has not logged its text yet. */
async function checkText(runtime: Runtime, known: RequestAddress, text: string): Promise<void> {
  const [first] = (await runtime.read(known, { after: 0, limit: 1 })).events;
  const event = first === undefined ? undefined : (JSON.parse(first) as Event);
  if (event?.type !== "RequestStarted" || event.input === text) return;
  throw new AgentError("conflict", `the id ${known.requestId} was used for another text`);
}

function usedElsewhere(id = ""): AgentError {
  return new AgentError("conflict", `the id ${id} was used in another session, or by another user`);
}

/** The request with an id; undefined if there is none. */
export async function findRequest(runtime: Runtime, id: string): Promise<RequestAddress | undefined> {
  try {
    const address = await runtime.resolve(id);
    return address.kind === "request" ? address : undefined;
  } catch (thrown) {
    if (toAgentError(thrown).code === "not_found") return undefined;
    throw thrown;
  }
}
