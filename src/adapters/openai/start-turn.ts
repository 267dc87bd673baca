import { AgentError } from "../../errors.ts";
import { storeFiles } from "../../http/messages/inline-file.ts";
import { checkNative } from "../../http/messages/native-request.ts";
import type { EarlierMessage } from "../../http/messages/native-request.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import type { Host } from "../../http/routes/host.ts";
import type { RunId } from "../../protocol/ids.ts";
import { parseJson } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import { readRunActivity } from "../../view/run-activity.ts";
import { alreadyAnswered, findAnsweredWait, toWaitValues } from "../../view/wait-answers.ts";
import type { AskingRun, GivenAnswer } from "../../view/wait-answers.ts";
import type { Said } from "./content.ts";
import { isChat } from "./models.ts";
import type { ModelRef } from "./models.ts";
import type { AnswerPlace } from "./place.ts";

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
  /** An answer to a question that it names. */
  readonly answer?: GivenAnswer | undefined;
  /** The name of the field with the text, for refusals. */
  readonly field: string;
}

/** Starts a turn, or answers the question that the run asks. */
export async function startTurn(host: Host, turn: ModelRequest): Promise<AnswerPlace> {
  const { runtime } = host;
  const { model, key, answer } = turn;
  const runId = turn.runId ?? (key === undefined ? undefined : await runtime.find(model.agent, key));
  if (runId === undefined) {
    if (answer !== undefined) throw new AgentError("not_found", "a new run has no question");
    return process(host, turn, undefined);
  }
  const { agent } = await runtime.run(runId);
  if (agent !== model.agent) throw wrongField("model", `must be ${agent}, whose run ${runId} is`);
  const { waits } = await readRunActivity(runtime, agent, runId);
  if (answer === undefined && waits.length === 0) return process(host, turn, runId);
  return answerWait(host, { agent, runId, waits }, answer ?? { type: "text", text: turn.said.text });
}

async function process(host: Host, turn: ModelRequest, runId: RunId | undefined): Promise<AnswerPlace> {
  const { runtime, fileLimitBytes } = host;
  const { model, said, earlier, metadata, key } = turn;
  const { agent, operation } = model;
  const fields = {
    request_metadata: {
      ...metadata,
      ...(said.rest.length > 0 && { content: said.rest }),
      ...(runId === undefined && earlier.length > 0 && { messages: earlier }),
    },
    // A client of this protocol waits for the answer to each request.
    on_busy: "enqueue",
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

/** Answers a question. The answer to it begins with the event that has it. */
async function answerWait({ runtime }: Host, run: AskingRun, answer: GivenAnswer): Promise<AnswerPlace> {
  const wait = await findAnsweredWait(runtime, run, answer);
  const { requestId, replayed, after } = await runtime.process(
    run.agent,
    checkNative({
      type: "ResumeWithInput",
      request_id: wait.requestId,
      wait_id: wait.waitId,
      request_keys: toWaitValues(wait, answer),
    }),
  );
  // The runtime accepts an equal answer twice, for clients that repeat a request.
  if (replayed) throw alreadyAnswered(wait.waitId);
  return { agent: run.agent, runId: run.runId, requestId, began: after + 1 };
}

/** The input of an operation, which the text is as JSON. */
function readInput({ model: { operation }, said: { text }, field }: ModelRequest): Json {
  const input = parseJson(text);
  if (input !== undefined) return input;
  throw wrongField(field, `must be JSON, the input of the operation ${operation}`);
}
