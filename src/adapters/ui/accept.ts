import { AgentError } from "../../errors.ts";
import { checkFileCount, storeFiles } from "../../http/messages/inline-file.ts";
import { checkNative, checkSameText, findRequest } from "../../http/messages/native-request.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { ChatRequest, ResumeWithInput } from "../../protocol/requests/requests.ts";
import type { Receipt } from "../../runtime/api.ts";
import { answerIdOf, messageIdOf, pageRequestId, waitToolId } from "../../view/ui/names.ts";
import type { AnswerKind } from "../../view/ui/names.ts";
import { earlierTexts, readToolAnswers, toGivenAnswer } from "../../view/ui/tool-answers.ts";
import type { ToolAnswer } from "../../view/ui/tool-answers.ts";
import { checkOwnAnswer, findTypedWait, toWaitValues } from "../../view/wait-answers.ts";
import type { PlacedQuestion } from "../../view/wait-answers.ts";
import { findAgain, leaveTurn, repeatTurn } from "./again.ts";
import { readUserMessage } from "./body.ts";
import type { UiRequest } from "./body.ts";
import { findChat, openQuestions, readQuestions } from "./chat.ts";
import type { ChatRun, ChatService, MessagePlace } from "./chat.ts";

/** Takes what is new in the messages of a page: a text begins a turn or answers a question, a tool part answers its question. */
export async function acceptMessage(
  service: ChatService,
  request: UiRequest,
  artifacts: string,
): Promise<MessagePlace> {
  const chat = await findChat(service, request.chatId);
  const { role } = request.last;
  if (role === "assistant") return answerTools(service, chat, request);
  if (role !== "user") throw wrongField("messages", "must end with a message of the user or the assistant");
  const isChanged = request.trigger === "submit-message" && request.messageId === request.last.id;
  const again =
    isChanged || request.trigger === "regenerate-message"
      ? await findAgain(service, chat, request)
      : undefined;
  if (again !== undefined) {
    if (!isChanged) return repeatTurn(service, chat, again, request);
    const next = await leaveTurn(service, chat, again);
    // The id of the message was that of the request that was left.
    return startTurn(service, next, { ...request, last: { ...request.last, id: "" } }, artifacts);
  }
  const answered = await answerText(service, chat, request);
  return answered ?? startTurn(service, chat, request, artifacts);
}

/** Starts a turn, in the run of the chat or in a new one. */
async function startTurn(
  { host, agent }: ChatService,
  chat: ChatRun,
  { last, messages, tools, metadata }: UiRequest,
  artifacts: string,
): Promise<MessagePlace> {
  const { runtime, fileLimitBytes } = host;
  const { text, files, attachments, rest } = readUserMessage(last, artifacts);
  checkFileCount(attachments.length + files.length, "parts");
  // The log has what was said in a chat that exists.
  const earlier = chat.runId === undefined ? earlierTexts(messages) : [];
  const request = checkNative({
    type: "ChatRequest",
    input: text,
    request_metadata: {
      ...metadata,
      ...(rest.length > 0 && { content: rest }),
      ...(earlier.length > 0 && { messages: earlier }),
    },
    ...(chat.key === undefined ? { run_id: chat.runId } : { key: chat.key }),
    ...(tools !== undefined && { tools }),
    // A message that is sent twice is one request.
    ...(last.id !== "" && { request_id: await pageRequestId(agent, chat.id, last.id) }),
  } as ChatRequest) as ChatRequest;
  const { request_id: id } = request;
  const known = id === undefined || files.length === 0 ? undefined : await findRequest(runtime, id);
  if (known !== undefined) {
    await checkSameText(runtime, known, text);
    const { runId, requestId } = known;
    return { runId, requestId, messageId: messageIdOf(requestId), after: 0 };
  }
  const ids = [...attachments, ...(await storeFiles(runtime, files, fileLimitBytes))];
  const { requestId, runId } = await runtime.process(agent, {
    ...request,
    ...(ids.length > 0 && { attachments: ids }),
  });
  return { runId: runId ?? "", requestId, messageId: messageIdOf(requestId), after: 0 };
}

/** Answers the oldest question of a chat with a text, which begins a message; undefined if nothing is asked. */
async function answerText(
  service: ChatService,
  chat: ChatRun,
  { last }: UiRequest,
): Promise<MessagePlace | undefined> {
  const id = await answerId("text", service, chat, last.id);
  const waits = await openQuestions(service, chat);
  const given = await findAnswered(service, chat, id);
  if (given !== undefined) return given;
  const wait = findTypedWait(waits);
  if (wait === undefined) return undefined;
  const { text, files, attachments, rest } = readUserMessage(last, "");
  if (files.length + attachments.length + rest.length > 0)
    throw wrongField("parts", "must be texts, because the message answers a question");
  const receipt = await answer(service, wait, toWaitValues(wait, { type: "text", text }), id);
  return toNewMessage(chat, receipt);
}

/** The message that an answer with an id has begun, if the answer was given before. */
async function findAnswered(
  service: ChatService,
  { runId }: ChatRun,
  id: string | undefined,
): Promise<MessagePlace | undefined> {
  if (runId === undefined || id === undefined) return undefined;
  const [newest] = (await service.host.runtime.requests(runId)).filter(
    ({ started }) => started !== undefined,
  );
  if (newest === undefined) return undefined;
  const requestId = newest.request_id;
  const events = await readQuestions(service, runId, requestId);
  const given = events.findLast((event) => event.type === "ResumeWithInput" && event.resume_id === id);
  return given && { runId, requestId, messageId: messageIdOf(requestId, given.id), after: 0 };
}

function toNewMessage({ runId = "" }: ChatRun, { requestId, after }: Receipt): MessagePlace {
  return { runId, requestId, messageId: messageIdOf(requestId, after + 1), after: 0 };
}

/** Answers the questions that a message shows as tool calls. The message goes on. */
async function answerTools(service: ChatService, chat: ChatRun, { last }: UiRequest): Promise<MessagePlace> {
  const answers = readToolAnswers(last.parts);
  const waits = await openQuestions(service, chat);
  const open = answers.flatMap((given) => {
    const wait = waits.find(({ waitId }) => waitToolId(waitId) === given.toolCallId);
    return wait === undefined
      ? []
      : [{ wait, values: toWaitValues(wait, toGivenAnswer(wait.waitId, given)), given }];
  });
  const { runId = "" } = chat;
  let first: Receipt | undefined;
  for (const { wait, values, given } of open) {
    const id = await answerId("tool", service, chat, last.id, given.toolCallId);
    const receipt = await answer(service, wait, values, id);
    first ??= receipt;
  }
  if (first !== undefined)
    return { runId, requestId: first.requestId, messageId: last.id, after: first.after };
  return findToolAnswer(service, chat, last.id, answers);
}

/** The answer of a message to a question that is closed by now: the same one was sent twice, or another one was given. */
async function findToolAnswer(
  service: ChatService,
  chat: ChatRun,
  messageId: string,
  answers: readonly ToolAnswer[],
): Promise<MessagePlace> {
  const newest = answers.at(-1);
  if (newest === undefined) {
    throw new AgentError(
      "unprocessable",
      "the last message is one of the assistant and answers no question",
      {
        hint: "end with a message of the user, or with an approval or an output of a question",
      },
    );
  }
  const { runId } = chat;
  const id = await answerId("tool", service, chat, messageId, newest.toolCallId);
  const requests = runId === undefined ? [] : await service.host.runtime.requests(runId);
  for (const { request_id: requestId, started } of requests.slice(0, REQUESTS)) {
    if (runId === undefined || started === undefined) continue;
    const events = await readQuestions(service, runId, requestId);
    const given = events.find((event) => event.type === "ResumeWithInput" && event.resume_id === id);
    if (given !== undefined) return { runId, requestId, messageId, after: given.id - 1 };
  }
  throw new AgentError(
    "conflict",
    `the question ${newest.toolCallId} of this chat is already answered, or has ended`,
    {
      hint: "the stream of the chat shows what has happened",
    },
  );
}

/** In how many of the newest requests a repeated answer is looked for. */
const REQUESTS = 3;

async function answer(
  { host, agent }: ChatService,
  { requestId, waitId }: PlacedQuestion,
  values: JsonObject,
  id: string | undefined,
): Promise<Receipt> {
  const resume: ResumeWithInput = {
    type: "ResumeWithInput",
    request_id: requestId,
    wait_id: waitId,
    request_keys: values,
    ...(id !== undefined && { resume_id: id }),
  };
  const receipt = await host.runtime.process(agent, checkNative(resume));
  checkOwnAnswer(receipt, waitId, id);
  return receipt;
}

/** The id of the answer that a message gives, so that sending it twice is one answer; none for a message without an id. */
async function answerId(
  kind: AnswerKind,
  { agent }: ChatService,
  { id }: ChatRun,
  messageId: string,
  ...names: readonly string[]
): Promise<string> {
  // Without an id of its message, an answer is one of a kind.
  const own = messageId === "" ? crypto.randomUUID() : messageId;
  return answerIdOf(kind, agent, id, own, ...names);
}
