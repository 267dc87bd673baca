import { toAgentError, AgentError } from "../../../errors.ts";
import type { Receipt, Runtime } from "../../../runtime/api.ts";
import type { RunReading } from "../../../view/run-reader.ts";
import type { Input } from "../request/body.ts";
import { inputOf, newestOf, uploadsOf } from "../task/task.ts";
import type { TasksReader } from "../task/tasks-reader.ts";
import type { WaitView } from "../../../view/run-view.ts";
import { checkAnswerable, toAnswer } from "../../../view/to-answer.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { unprocessable } from "../../../http/messages/wrong-field.ts";

/** A step that a client asks for. */
export interface AskedStep {
  readonly taskId: string;
  readonly body: Input;
  /** Whether a step of an ended task starts another turn. */
  readonly again: boolean;
}

/** What a caller did: the receipt of what it started or answered; `undefined` if it takes the newest step. */
export type Act = Receipt | undefined;

/** Starts the first turn or answers a waiting one. A turn that goes on by itself and an ended one need nothing. */
export async function act(
  runtime: Runtime,
  tasks: TasksReader,
  { taskId, body, again }: AskedStep,
): Promise<Act> {
  const reading = await tasks.read(taskId);
  const { run, view, isWaiting } = reading;
  const isIdle = run.status === "idle";
  if ((!isIdle && !isWaiting) || (isIdle && view.turns.length > 0 && !again)) return undefined;
  try {
    return await (isWaiting
      ? answer(runtime, run.agent, reading, body)
      : start(runtime, run.agent, reading, body));
  } catch (thrown) {
    // A caller in another process was faster.
    if (toAgentError(thrown).code === "conflict") return undefined;
    throw thrown;
  }
}

/** Starts a turn. Its request id is that of the next turn of the task, so callers at the same time start one. */
function start(runtime: Runtime, agent: string, { run, view }: RunReading, body: Input): Promise<Receipt> {
  const uploads = uploadsOf(view);
  return runtime.process(agent, {
    type: "ChatRequest",
    run_id: run.run_id,
    request_id: `${run.run_id}_${view.turns.length + 1}`,
    on_busy: "reject",
    input: body.input ?? inputOf(run, view) ?? "",
    request_metadata: { ...run.metadata, ...body.additionalInput },
    ...(uploads.length > 0 && { attachments: uploads }),
  });
}

/** Answers the questions that the body has values for, oldest first. Returns the receipt of the last answer. */
async function answer(runtime: Runtime, agent: string, { view }: RunReading, body: Input): Promise<Act> {
  const { turn, waits = [] } = newestOf(view) ?? {};
  const receipts: Receipt[] = [];
  for (const { wait, values } of toAnswers(waits, body)) {
    try {
      const resume = {
        type: "ResumeWithInput",
        request_id: turn?.requestId ?? "",
        wait_id: wait.waitId,
      } as const;
      receipts.push(await runtime.process(agent, { ...resume, request_keys: values }));
    } catch (thrown) {
      throw toAgentError(thrown).code === "unprocessable" ? misfit(wait, thrown) : thrown;
    }
  }
  return receipts.at(-1);
}

/** An answer to a question. */
interface TaskAnswer {
  readonly wait: WaitView;
  readonly values: JsonObject;
}

/**
 * The answers that a step gives: the keys of `additional_input` answer the questions that ask for them, each the oldest
 * one; without such a key `input` answers the oldest question. Throws `unprocessable` if there is no answer.
 */
function toAnswers(waits: readonly WaitView[], { input, additionalInput }: Input): readonly TaskAnswer[] {
  const left = new Map(Object.entries(additionalInput));
  const answers: TaskAnswer[] = [];
  for (const wait of waits) {
    const asked = Object.keys(wait.questions).filter((key) => left.has(key));
    if (asked.length === 0) continue;
    answers.push({ wait, values: Object.fromEntries(asked.map((key) => [key, left.get(key) ?? null])) });
    for (const key of asked) left.delete(key);
  }
  if (answers.length > 0) return answers;
  const [oldest] = waits;
  if (oldest === undefined) throw new AgentError("conflict", "the task asks nothing now");
  for (const wait of waits) checkAnswerable(wait);
  if (input === undefined) throw misfit(oldest);
  return [{ wait: oldest, values: fitting(oldest, () => toAnswer(oldest, input)) }];
}

/** The error for an answer that does not fit its question; it names the keys. */
function misfit({ questions }: WaitView, thrown?: unknown): AgentError {
  const issues = thrown === undefined ? [] : (toAgentError(thrown).details.issues ?? []);
  const named = new Set(issues.map(({ path }) => path));
  const asked = Object.entries(questions).filter(([path]) => !named.has(path));
  return unprocessable([
    ...issues,
    ...asked.map(([path, question]) => ({
      path,
      message: question === "" ? "is asked for" : `is asked for: ${question}`,
    })),
  ]);
}

function fitting<Value>(wait: WaitView, make: () => Value): Value {
  try {
    return make();
  } catch (thrown) {
    throw toAgentError(thrown).code === "unprocessable" ? misfit(wait) : thrown;
  }
}
