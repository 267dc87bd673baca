import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { readJson } from "../../http/messages/body.ts";
import { reply } from "../../http/messages/reply.ts";
import { unprocessable } from "../../http/messages/wrong-field.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { WaitView } from "../../view/run-view.ts";
import { openWaitsOf } from "../../view/segments.ts";
import { checkAnswerable, toAnswer } from "../../view/to-answer.ts";
import type { Receipt } from "../../runtime/api.ts";
import { parseProcess, parseResume, parseThread } from "./bodies.ts";
import type { AgenticService } from "./service.ts";
import { findThread } from "./threads.ts";

/** Starts a turn in a new thread or in a known one. */
export async function startThreadTurn(
  c: Context<AppEnv>,
  { host, agent }: AgenticService,
): Promise<Response> {
  const { runtime, bodyLimitBytes } = host;
  const { prompt, threadId, debug } = parseProcess(await readJson(c, bodyLimitBytes));
  const thread = threadId === undefined ? undefined : await findThread(runtime, agent, threadId);
  const receipt = await runtime.process(agent, {
    type: "ChatRequest",
    input: prompt,
    ...(thread && { run_id: thread.run_id }),
    ...(debug !== undefined && { request_metadata: { debug } }),
  });
  return accepted(c, receipt);
}

/** Answers the oldest question of a thread that asks for the given keys. */
export async function answerThread(
  c: Context<AppEnv>,
  { host, agent, reader }: AgenticService,
): Promise<Response> {
  const { runtime, bodyLimitBytes } = host;
  const { values, threadId } = parseResume(await readJson(c, bodyLimitBytes));
  const { run_id: runId } = await findThread(runtime, agent, threadId);
  const { view } = await reader.read(runId);
  const open = view.turns.find(({ outcome }) => outcome === undefined);
  const waits = openWaitsOf(view, open?.requestId);
  if (open === undefined || waits.length === 0)
    throw new AgentError("conflict", `thread ${threadId} waits for no input`);
  const wait = pickWait(waits, Object.keys(values));
  const receipt = await runtime.process(agent, {
    type: "ResumeWithInput",
    request_id: open.requestId,
    wait_id: wait.waitId,
    request_keys: toTyped(wait, values),
  });
  return accepted(c, receipt);
}

/** Begins a new thread in place of one that does nothing. */
export async function resetThread(c: Context<AppEnv>, { host, agent }: AgenticService): Promise<Response> {
  const { runtime, bodyLimitBytes } = host;
  const threadId = parseThread(await readJson(c, bodyLimitBytes, { optional: true }));
  if (threadId !== undefined) {
    const { status } = await findThread(runtime, agent, threadId);
    if (status !== "idle") throw new AgentError("conflict", `thread ${threadId} is ${BUSY[status]}`);
  }
  const thread = await runtime.createRun(agent, {});
  const message = `agent ${agent} has a new thread`;
  return reply(c, JSON.stringify({ status: "success", message, thread_id: thread }));
}

const BUSY = { running: "busy", waiting: "waiting for input", held: "busy" };

function accepted(c: Context<AppEnv>, { requestId, runId }: Receipt): Response {
  return reply(c, JSON.stringify({ request_id: requestId, thread_id: runId }));
}

function pickWait(waits: readonly WaitView[], keys: readonly string[]): WaitView {
  const asks = ({ questions }: WaitView): boolean =>
    keys.length > 0 && keys.every((key) => Object.hasOwn(questions, key));
  const wait = waits.find(asks);
  if (wait !== undefined) return wait;
  for (const one of waits) checkAnswerable(one);
  const asked = waits.map(({ questions }) => Object.keys(questions).join(", ")).join("; ");
  throw unprocessable([{ path: "continue_result", message: `must have the keys of a question: ${asked}` }]);
}

/** Answers of their clients are texts; each becomes the value that the question's schema asks for. */
function toTyped({ questions, schema }: WaitView, values: JsonObject): JsonObject {
  const typed = Object.entries(values).map(([key, value]): [string, Json] => {
    if (typeof value !== "string") return [key, value];
    const only = { questions: { [key]: questions[key] ?? "" }, ...(schema && { schema }) };
    return [key, toAnswer(only, value)[key] ?? null];
  });
  return Object.fromEntries(typed);
}
