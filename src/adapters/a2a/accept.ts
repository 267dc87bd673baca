import { UnsupportedOperationError } from "@a2a-js/sdk/errors";
import type { Message, SendMessageRequest } from "@a2a-js/sdk";
import { checkFileCount, storeFiles } from "../../http/messages/inline-file.ts";
import { checkNative } from "../../http/messages/native-request.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import { principalOf } from "../../http/routes/host.ts";
import type { Host } from "../../http/routes/host.ts";
import type { RequestId } from "../../protocol/ids.ts";
import { parseJson } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import type { Runtime } from "../../runtime/api.ts";
import { sha256 } from "../../shared/sha256.ts";
import { findConversation } from "../../view/conversation.ts";
import { readRunActivity } from "../../view/run-activity.ts";
import { checkOwnAnswer, findAnsweredWait, toWaitValues } from "../../view/wait-answers.ts";
import { checkString, readTaskAnswer, readParts, REPEATS } from "./message.ts";
import { contextOf, findTask, WIRE } from "./place.ts";
import type { TaskPlace } from "./place.ts";
import { addReceiver, setReceiver } from "./push.ts";
import type { TaskService } from "./tasks.ts";

/** A task that a message begins or continues. */
export interface TaskMoment {
  readonly place: TaskPlace;
  /** The id of the event before those that answer the message; 0 for a new task. */
  readonly after: number;
}

/** Starts a task, or answers the question of one. */
export async function acceptTaskMessage(
  service: TaskService,
  { message, metadata, configuration }: SendMessageRequest,
): Promise<TaskMoment> {
  const { c, host, agent } = service;
  if (message === undefined) throw wrongField("message", "is missing");
  for (const name of ["taskId", "contextId"] as const) checkString(message[name], `message.${name}`);
  if (message.messageId === "") throw wrongField("message.messageId", "is missing");
  const isRepeatable = (c.req.header("a2a-extensions") ?? "").split(/, */).includes(REPEATS);
  const { owner } = principalOf(c);
  const identity = isRepeatable ? await sha256(JSON.stringify([owner, agent, message.messageId])) : undefined;
  const receiver = configuration?.taskPushNotificationConfig;
  if (message.taskId !== "") {
    if (receiver !== undefined) await setReceiver(service, { ...receiver, taskId: message.taskId });
    return answerTask(host, agent, { message, identity });
  }
  const requestId = identity === undefined ? receiver && newRequestId() : (`req_${identity}` as RequestId);
  // Before the task begins, so that nothing of it is missed.
  if (receiver !== undefined && requestId !== undefined) await addReceiver(service, requestId, receiver);
  try {
    return await startTask(host, agent, { message, given: metadata ?? {}, requestId });
  } catch (thrown) {
    if (receiver !== undefined && requestId !== undefined)
      await service.push?.remove({ owner, requestId }, receiver.id === "" ? requestId : receiver.id);
    throw thrown;
  }
}

async function startTask(
  host: Host,
  agent: string,
  {
    message,
    given,
    requestId: chosen,
  }: {
    readonly message: Message;
    readonly given: JsonObject;
    readonly requestId: RequestId | undefined;
  },
): Promise<TaskMoment> {
  const { runtime, fileLimitBytes } = host;
  const said = readParts(message);
  const metadata: JsonObject = { ...given, ...message.metadata };
  const { operation = "chat", ...rest } = metadata;
  const isChat = operation === "chat";
  if (typeof operation !== "string") throw wrongField("metadata.operation", "must be the id of a skill");
  const { contextId: name } = message;
  const known = name === "" ? undefined : await findConversation(runtime, { wire: WIRE, agent, name });
  const fields = {
    request_metadata: { ...rest, ...(said.links.length > 0 && { content: said.links }) },
    on_busy: "enqueue",
    ...(chosen !== undefined && { request_id: chosen }),
    ...(known?.runId !== undefined && { run_id: known.runId }),
    ...(known !== undefined && known.runId === undefined && { key: known.key }),
  } as const;
  const request = checkNative(
    isChat
      ? { type: "ChatRequest", input: chatInput(said.text, said.data), ...fields }
      : {
          type: "OperationRequest",
          operation,
          input: operationInput(said.text, said.data),
          ...fields,
        },
  ) as TurnRequest;
  checkFileCount(said.files.length, "message.parts");
  const attachments = await storeFiles(runtime, said.files, fileLimitBytes);
  const { requestId, runId } = await runtime.process(agent, {
    ...request,
    ...(attachments.length > 0 && { attachments }),
  });
  return { place: { agent, requestId, runId: runId ?? "" }, after: 0 };
}

/** An id for a task whose receiver must be known before it begins. */
function newRequestId(): RequestId {
  return `req_${crypto.randomUUID().replaceAll("-", "")}` as RequestId;
}

/** What a chat hears: the texts, else the data as JSON. */
function chatInput(text: string, data: readonly Json[]): string {
  if (data.length === 0) return text;
  return [text, ...data.map((value) => JSON.stringify(value))].filter((part) => part !== "").join("\n");
}

/** The input of an operation: the data part, else the text as JSON. */
function operationInput(text: string, data: readonly Json[]): Json {
  const [value = parseJson(text)] = data;
  if (value !== undefined) return value;
  throw wrongField("message.parts", "must have a data part, the input of the operation");
}

async function answerTask(
  { runtime }: Host,
  agent: string,
  { message, identity }: { readonly message: Message; readonly identity: string | undefined },
): Promise<TaskMoment> {
  const place = await findTask(runtime, agent, message.taskId);
  const { runId, requestId } = place;
  if (message.contextId !== "" && message.contextId !== runId) {
    if (message.contextId !== (await contextOf(runtime, runId)))
      throw wrongField("message.contextId", "is not the context of the task");
  }
  const answer = readTaskAnswer(message);
  if (identity !== undefined && answer.type === "values" && answer.waitId !== undefined) {
    // Whether it is a repetition, the runtime knows; the task may be over by now.
    return give(runtime, place, {
      waitId: answer.waitId,
      values: answer.values,
      resumeId: `res_${identity}`,
    });
  }
  const { status } = await runtime.status(requestId);
  if (status === "completed") throw new UnsupportedOperationError(`the task ${requestId} is over`);
  const { waits: all } = await readRunActivity(runtime, agent, runId);
  const waits = all.filter((wait) => wait.requestId === requestId);
  if (waits.length === 0)
    throw new UnsupportedOperationError(`the task ${requestId} does not wait for an answer`);
  const wait = await findAnsweredWait(runtime, { agent, runId, waits }, answer);
  return give(runtime, place, { waitId: wait.waitId, values: toWaitValues(wait, answer) });
}

/** Gives an answer; one with an id can be sent again. */
async function give(
  runtime: Runtime,
  place: TaskPlace,
  {
    waitId,
    values,
    resumeId,
  }: { readonly waitId: number; readonly values: JsonObject; readonly resumeId?: string },
): Promise<TaskMoment> {
  const receipt = await runtime.process(
    place.agent,
    checkNative({
      type: "ResumeWithInput",
      request_id: place.requestId,
      wait_id: waitId,
      request_keys: values,
      ...(resumeId !== undefined && { resume_id: resumeId }),
    }),
  );
  checkOwnAnswer(receipt, waitId, resumeId);
  return { place, after: receipt.after };
}
