import { AgentError, toAgentError } from "../../../errors.ts";
import { checkParsed } from "../../../view/check-parsed.ts";
import type { RunReader } from "../../../view/run-reader.ts";
import type { RequestId } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { Runtime } from "../../../runtime/api.ts";
import { TASK } from "../wire/messages.ts";
import type { ToolRequest, ToolResponse } from "../wire/messages.ts";
import { AnswerReader } from "./answer-reader.ts";
import { toRefusalLines } from "./refusal-lines.ts";

export interface ToolCallOptions {
  readonly runtime: Runtime;
  readonly runs: RunReader;
}

/** Calls an operation of an agent as a tool with the name `agent.operation`. A failure is part of the answer. */
export async function executeToolCall(
  { runtime, runs }: ToolCallOptions,
  request: ToolRequest,
  signal: AbortSignal,
): Promise<ToolResponse> {
  const { sender_id: sender, receiver_id: toolbox, session_id: session } = request;
  const base = { sender_id: toolbox, receiver_id: sender, session_id: session };
  try {
    const answer = await perform({ runtime, runs }, request, signal);
    return { ...base, ...answer };
  } catch (thrown) {
    const { code, message, details } = toAgentError(thrown);
    if (code === "internal" || code === "unavailable") throw thrown;
    return { ...base, ...failed(toRefusalLines(message, details).join("; ")) };
  }
}

type Answer = Pick<ToolResponse, "content" | "error_message" | "is_error">;

async function perform(
  { runtime, runs }: ToolCallOptions,
  { sender_id, session_id, tool_name: name, arguments: text }: ToolRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const [agent = "", operation = ""] = splitName(name);
  if (!runtime.agents.includes(agent) || !hasOperation(runtime, agent, operation))
    throw new AgentError("not_found", `there is no tool ${name}`, { hint: "GetNodes lists the tools" });
  const receipt = await runtime.process(agent, {
    type: "OperationRequest",
    operation,
    input: parseArguments(name, text),
    request_metadata: { aip: { sender_id, session_id } },
  });
  const cancel = (): void => cancelRequest(runtime, agent, receipt.requestId);
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  const reader = new AnswerReader(runtime, runs);
  const options = { stream: false, structured: true, signal: NEVER };
  for await (const part of reader.read(receipt, options)) {
    signal.removeEventListener("abort", cancel);
    const { content, status } = part;
    if (status === TASK.finished) return { is_error: false, error_message: "No Error", content };
    const said = content.flatMap((item) => item.text ?? []).join("\n");
    if (status !== TASK.waiting) return failed(`Error executing tool: ${said}`);
    // A tool call has no way to give the answer.
    cancel();
    return failed(`the tool asks a question, which a tool call cannot answer: ${said}`);
  }
  return failed("the tool gave no answer");
}

/** The call is read to its end even after a cancel, because its end is what the cancel waits for. */
const NEVER = new AbortController().signal;

function splitName(name: string): readonly string[] {
  const dot = name.indexOf(".");
  return dot < 0 ? [name] : [name.slice(0, dot), name.slice(dot + 1)];
}

function hasOperation(runtime: Runtime, agent: string, operation: string): boolean {
  return runtime.describe(agent).operations.some(({ name }) => name === operation);
}

function parseArguments(name: string, text: string): Json {
  if (text.trim() === "") return {};
  let parsed: Json;
  try {
    parsed = JSON.parse(text) as Json;
  } catch {
    throw new AgentError("unprocessable", `the arguments of ${name} are no JSON`);
  }
  return checkParsed(parsed, "the JSON of the arguments");
}

function cancelRequest(runtime: Runtime, agent: string, requestId: RequestId): void {
  const request = { type: "CancelRequest", request_id: requestId } as const;
  // It has ended, or the runtime is closing.
  runtime.process(agent, request).catch(() => {});
}

function failed(message: string): Answer {
  return { is_error: true, error_message: message, content: [] };
}
