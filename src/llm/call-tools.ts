import { AgentError } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import { parseWith } from "../runtime/agent/definition/schema.ts";
import { cut } from "../runtime/journal/json-limits.ts";
import type { Turn } from "../runtime/agent/turn-api.ts";
import type { Message, ModelToolCall } from "../runtime/model/prompt.ts";
import { decisionSchema, mustAsk, toNote, declinedResult } from "./approval.ts";
import type { Decision } from "./approval.ts";
import { judgeCall, judgePrompt, judgesCalls } from "./guards.ts";
import type { ModelGuard } from "./guards.ts";
import type { Callable, ToolSet } from "./tool-set.ts";

/** How the calls of one completion are made. */
export interface CallToolsOptions {
  readonly tools: ToolSet;
  readonly guards: readonly ModelGuard[];
  /** How many calls run at the same time; the others wait. */
  readonly parallelCalls: number;
  /** Bytes of all results together. */
  readonly limitBytes: number;
}

/**
 * Makes the calls of one completion in parallel and returns their results in the order of the calls. An error
 * of a call is a result too, so that the model can read it.
 */
export async function callTools(
  turn: Turn,
  calls: readonly ModelToolCall[],
  options: CallToolsOptions,
): Promise<readonly Message[]> {
  const { tools, guards, parallelCalls, limitBytes } = options;
  const each = Math.floor(limitBytes / calls.length);
  const count = Math.min(parallelCalls, calls.length);
  // Each lane has its calls from the start: which lane is free first is not the same when the handler runs again.
  const lanes = Array.from(
    { length: count },
    (_, lane) =>
      async (turn: Turn): Promise<readonly Message[]> => {
        const results: Message[] = [];
        for (let index = lane; index < calls.length; index += count)
          results.push(await callTool(turn, calls[index] as ModelToolCall, options, each));
        return results;
      },
  );
  // A call with approval or guards is a sequence of steps, and parallel sequences each need their own turn.
  const hasSteps =
    calls.length > 1 &&
    (judgesCalls(guards) || calls.some(({ name }) => tools.find(name)?.approve !== undefined));
  const results = hasSteps ? await turn.all(lanes) : await Promise.all(lanes.map((lane) => lane(turn)));
  return calls.map((_, index) => results[index % count]?.[Math.floor(index / count)] as Message);
}

/** Errors, besides those of calls, that the model gets as a result; any other ends the turn. */
const REPORTED: ReadonlySet<ErrorCode> = new Set(["unprocessable", "too_large", "model_refused"]);

/** A human must see all arguments, so they must fit into a question. */
const QUESTION_LIMIT = 16 * 1024;

async function callTool(
  turn: Turn,
  asked: ModelToolCall,
  { tools, guards }: CallToolsOptions,
  limitBytes: number,
): Promise<Message> {
  const { id: callId, name } = asked;
  const failure = (why: string): Message => {
    return { role: "tool", callId, name, content: cut(why, limitBytes), isError: true };
  };
  const tool = tools.find(name);
  if (tool === undefined) return failure(`there is no tool ${name}`);
  if (asked.error !== undefined) return failure(asked.error);
  try {
    const input = await judgeCall(turn, guards, name, asked.input);
    const decision = await decide(turn, tool, { ...asked, input });
    if (typeof decision === "string") return failure(decision);
    if (!decision.approved) return failure(declinedResult(decision));
    const { text, images, isError } = await tool.call(turn, decision.args ?? input);
    const judged = await judgePrompt(turn, guards, cut(text, limitBytes), { from: "tool", tool: name });
    const content = cut(`${toNote(decision)}${judged}`, limitBytes);
    return {
      role: "tool",
      callId,
      name,
      content,
      ...(isError && { isError }),
      ...(images.length > 0 && { files: images }),
    };
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    if (thrown.callId === undefined && !REPORTED.has(thrown.code)) throw thrown;
    return failure(thrown.message);
  }
}

/** Asks a human about a call that needs an approval. Returns the reason if the call cannot be shown. */
async function decide(
  turn: Turn,
  { approve, description, input: schema }: Callable,
  { name, input }: ModelToolCall,
): Promise<Decision | string> {
  if (approve === undefined) return APPROVED;
  // A rule judges what the tool will get. It gets a copy, because it may change it.
  const args = await parseWith(schema, structuredClone(input), `the input of ${name}`);
  if (!mustAsk(approve, args)) return APPROVED;
  const question = `Call ${name} with ${JSON.stringify(input)}?`;
  if (question.length > QUESTION_LIMIT) return "the arguments are too long for a human to approve";
  const answer = decisionSchema(question, { input: schema, args: description.input });
  const { approvers } = approve;
  return turn.waitForInput(answer, {
    approval: { tool: name, args: input },
    ...(approvers && { approvers }),
  });
}

const APPROVED: Decision = { approved: true };
