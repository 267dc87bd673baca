import { AgentError } from "../../errors.ts";
import { storeFiles } from "../../http/messages/inline-file.ts";
import { checkNative, checkSameText, findRequest } from "../../http/messages/native-request.ts";
import type { EarlierMessage } from "../../http/messages/native-request.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { Host } from "../../http/routes/host.ts";
import type { RunId } from "../../protocol/ids.ts";
import { parseJson } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { ClientTool, TurnRequest } from "../../protocol/requests/requests.ts";
import type { Runtime } from "../../runtime/api.ts";
import { sha256 } from "../../shared/sha256.ts";
import { readRunActivity } from "../../view/run-activity.ts";
import { alreadyAnswered, findAnsweredWait, findTypedWait, toWaitValues } from "../../view/wait-answers.ts";
import type { AskingRun, GivenAnswer, PlacedQuestion } from "../../view/wait-answers.ts";
import type { Said } from "./content.ts";
import { isChat } from "./models.ts";
import type { ModelRef } from "./models.ts";
import type { AnswerPlace } from "./place.ts";
import type { ItemAnswer } from "./tools.ts";

/** What a client says to a model. */
export interface ModelRequest {
  readonly model: ModelRef;
  readonly said: Said;
  /** What was said before; counts only for a new run, since the log of any other has it. */
  readonly earlier: readonly EarlierMessage[];
  /** Reaches the agent as `request_metadata`. */
  readonly metadata: JsonObject;
  /** The run to continue. */
  readonly runId?: RunId | undefined;
  /** The key of the run, which is created if there is none. */
  readonly key?: string | undefined;
  /** Answers to questions that they name. */
  readonly answers: readonly ItemAnswer[];
  /** The tools that the client runs. */
  readonly tools?: readonly ClientTool[] | undefined;
  /** The name of the field with the text, for refusals. */
  readonly field: string;
  /** The id that the client has given to its request, so that sending it again is the same one. */
  readonly idempotencyKey?: string | undefined;
}

/** The header with the id of a request. */
export const IDEMPOTENCY_HEADER = "idempotency-key";

/** Reads the id that a client has given to its request. */
export function readIdempotencyKey(given: string | undefined): string | undefined {
  if (given === undefined || given.length <= KEY_LIMIT) return given === "" ? undefined : given;
  throw wrongField(IDEMPOTENCY_HEADER, `must have at most ${KEY_LIMIT} characters`);
}

const KEY_LIMIT = 255;

/** Starts a turn, or answers what the run asks. */
export async function startTurn(host: Host, turn: ModelRequest): Promise<AnswerPlace> {
  const { runtime } = host;
  const { model, key, answers, idempotencyKey } = turn;
  const id =
    idempotencyKey === undefined
      ? undefined
      : `openai-${await sha256(JSON.stringify([model.agent, idempotencyKey]))}`;
  const again = id === undefined ? undefined : await findRepeated(runtime, id, turn);
  if (again !== undefined) return again;
  const given = turn.runId ?? (key === undefined ? undefined : await runtime.find(model.agent, key));
  const runId = await findAskingRun(runtime, answers, given);
  if (runId === undefined) {
    if (answers.length > 0) throw new AgentError("not_found", "a new run has no question");
    return process(host, turn, { id });
  }
  const { agent } = await runtime.run(runId);
  if (agent !== model.agent) throw wrongField("model", `must be ${agent}, whose run ${runId} is`);
  const { waits, answers: earlier } = await readRunActivity(runtime, agent, runId);
  const repeated =
    id === undefined ? undefined : earlier.get(toAnswerKey(id, Math.max(answers.length, 1) - 1));
  if (repeated !== undefined) return { agent, runId, ...repeated };
  const run = { agent, runId, waits };
  if (answers.length > 0) {
    const named = answers.map(async ({ given }) => ({
      given,
      wait: await findAnsweredWait(runtime, run, given),
    }));
    return answerWaits(host, run, { answers: await Promise.all(named), id });
  }
  const wait = findTypedWait(waits);
  if (wait === undefined) return process(host, turn, { id, runId });
  const typed = { wait, given: { type: "text", text: turn.said.text } } as const;
  return answerWaits(host, run, { answers: [typed], id });
}

/** The answer to a request that was sent before with the same id; `conflict` if it said something else. */
async function findRepeated(
  runtime: Runtime,
  id: string,
  { model, said }: ModelRequest,
): Promise<AnswerPlace | undefined> {
  const known = await findRequest(runtime, id);
  if (known === undefined) return undefined;
  if (isChat(model)) await checkSameText(runtime, known, said.text);
  const { agent, runId, requestId } = known;
  return { agent, runId, requestId };
}

/** The id of one of the answers of a request. */
function toAnswerKey(id: string, index: number): string {
  return `${id}_${index}`;
}

/** The run whose questions are answered: that of the requests which the answers name, else the given one. */
async function findAskingRun(
  runtime: Runtime,
  answers: readonly ItemAnswer[],
  given: RunId | undefined,
): Promise<RunId | undefined> {
  const requests = new Set(answers.flatMap(({ requestId }) => requestId ?? []));
  let runId = given;
  for (const requestId of requests) {
    const named = await findRequest(runtime, requestId);
    if (named === undefined)
      throw new AgentError("not_found", `there is no call of the request ${requestId}`);
    if (runId !== undefined && named.runId !== runId)
      throw new AgentError("unprocessable", `the call is one of the run ${named.runId}, not of ${runId}`);
    runId = named.runId;
  }
  return runId;
}

async function process(
  host: Host,
  turn: ModelRequest,
  { id, runId }: { readonly id: string | undefined; readonly runId?: RunId },
): Promise<AnswerPlace> {
  const { runtime, fileLimitBytes } = host;
  const { model, said, earlier, metadata, key, tools } = turn;
  const { agent, operation } = model;
  const fields = {
    request_metadata: {
      ...metadata,
      ...(said.rest.length > 0 && { content: said.rest }),
      ...(runId === undefined && earlier.length > 0 && { messages: earlier }),
    },
    // A client of this protocol waits for the answer to each request.
    on_busy: "enqueue",
    ...(id !== undefined && { request_id: id }),
    ...(tools !== undefined && { tools }),
    ...(runId !== undefined && { run_id: runId }),
    ...(runId === undefined && key !== undefined && { key }),
  } as const;
  const request = checkNative(
    isChat(model)
      ? { type: "ChatRequest", input: said.text, ...fields }
      : { type: "OperationRequest", operation, input: readInput(turn), ...fields },
  ) as TurnRequest;
  if (said.attachments.length + said.files.length > FILES_LIMIT)
    throw wrongField(turn.field, `must have at most ${FILES_LIMIT} files`);
  const attachments = [...said.attachments, ...(await storeFiles(runtime, said.files, fileLimitBytes))];
  const receipt = await runtime.process(agent, {
    ...request,
    ...(attachments.length > 0 && { attachments }),
  });
  return { agent, requestId: receipt.requestId, runId: receipt.runId ?? "" };
}

/** The most files that a request can attach. */
const FILES_LIMIT = 100;

/** Answers to questions, and the id of the request that gives them, if it has one. */
interface GivenAnswers {
  readonly answers: readonly { readonly wait: PlacedQuestion; readonly given: GivenAnswer }[];
  readonly id: string | undefined;
}

/** Answers questions. What is said then begins with the event of the newest answer. */
async function answerWaits(
  { runtime }: Host,
  { agent, runId }: AskingRun,
  { answers, id }: GivenAnswers,
): Promise<AnswerPlace> {
  const resumes = answers.map(({ wait, given }, index) =>
    checkNative({
      type: "ResumeWithInput",
      request_id: wait.requestId,
      wait_id: wait.waitId,
      request_keys: toWaitValues(wait, given),
      ...(id !== undefined && { resume_id: toAnswerKey(id, index) }),
    }),
  );
  let newest: AnswerPlace | undefined;
  for (const [index, resume] of resumes.entries()) {
    const { requestId, replayed, after } = await runtime.process(agent, resume);
    const { wait: { tool, waitId } = {} } = answers[index] ?? {};
    // The runtime accepts an equal answer twice. Only the result of a tool is one that a client repeats.
    if (replayed && tool === undefined) throw alreadyAnswered(waitId ?? 0);
    const began = Math.max(after + 1, newest?.began ?? 0);
    newest = { agent, runId, requestId, began };
  }
  if (newest === undefined) throw new AgentError("conflict", "the run has no open question");
  return newest;
}

/** The input of an operation, which the text is as JSON. */
function readInput({ model: { operation }, said: { text }, field }: ModelRequest): Json {
  const input = parseJson(text);
  if (input !== undefined) return input;
  throw wrongField(field, `must be JSON, the input of the operation ${operation}`);
}
