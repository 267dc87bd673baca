import { AgentError, toAgentError } from "../../../errors.ts";
import type { WaitView } from "../../../view/run-view.ts";
import { toAnswer } from "../../../view/to-answer.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { unprocessable } from "../../../http/messages/wrong-field.ts";
import type { Input } from "../request/body.ts";

/** An answer to a question. */
export interface TaskAnswer {
  readonly wait: WaitView;
  readonly values: JsonObject;
}

/**
 * The answers that a step gives: the keys of `additional_input` answer the questions that ask for them, each the oldest
 * one; without such a key `input` answers the oldest question. Throws `unprocessable` if there is no answer.
 */
export function toAnswers(
  waits: readonly WaitView[],
  { input, additionalInput }: Input,
): readonly TaskAnswer[] {
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
  if (input === undefined) throw misfit(oldest);
  return [{ wait: oldest, values: fitting(oldest, () => toAnswer(oldest, input)) }];
}

/** The error for an answer that does not fit its question; it names the keys. */
export function misfit({ questions }: WaitView, thrown?: unknown): AgentError {
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
