import { toAgentError } from "../../../errors.ts";
import type { Receipt, Runtime } from "../../../runtime/api.ts";
import type { RunReading } from "../../../view/run-reader.ts";
import type { Input } from "../request/body.ts";
import { inputOf, newestOf, uploadsOf } from "../task/task.ts";
import type { TasksReader } from "../task/tasks-reader.ts";
import { misfit, toAnswers } from "./answers.ts";

/** A step that a client asks for. */
export interface AskedStep {
  readonly taskId: string;
  readonly body: Input;
  /** Whether a step of an ended task starts another turn. */
  readonly again: boolean;
}

/** What a caller did: the receipt of what it started or answered; `undefined` if it takes the newest step. */
export type Act = Receipt | undefined;

/** Starts the first turn or answers a waiting one. A running turn and an ended one need nothing. */
export async function act(
  runtime: Runtime,
  tasks: TasksReader,
  { taskId, body, again }: AskedStep,
): Promise<Act> {
  const reading = await tasks.read(taskId);
  const { run, view } = reading;
  const hasEnded = run.status === "idle" && view.turns.length > 0;
  if (run.status === "running" || (hasEnded && !again)) return undefined;
  try {
    return await (run.status === "waiting"
      ? answer(runtime, tasks.agent, reading, body)
      : start(runtime, tasks.agent, reading, body));
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
