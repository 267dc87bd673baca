import { toQuestion } from "../../../view/to-answer.ts";
import type { RunReader } from "../../../view/run-reader.ts";
import type { WaitView } from "../../../view/run-view.ts";
import { openWaitsOf } from "../../../view/segments.ts";
import { isObject, parseJson } from "../../../protocol/json.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";

/** The newest request of a run, and what it waits for. */
export interface SessionState {
  /** Absent if no turn has started. */
  readonly requestId: RequestId | undefined;
  /** The open waits, oldest first; none if the request does not wait for input. */
  readonly waits: readonly WaitView[];
}

/** Reads how the newest request of a run stands. */
export async function readSessionState(reader: RunReader, runId: RunId): Promise<SessionState> {
  const { view, isWaiting: isParked } = await reader.read(runId);
  const requestId = view.turns.at(-1)?.requestId;
  return { requestId, waits: isParked ? openWaitsOf(view, requestId) : [] };
}

/** The wait that a text answers: the oldest one, unless the text is a JSON object with the keys of another one. */
export function chooseWait(waits: readonly WaitView[], text: string): WaitView | undefined {
  const given = parseJson(text);
  const named = isObject(given)
    ? waits.find(
        ({ question, questions }) =>
          question === undefined && Object.keys(questions).every((key) => Object.hasOwn(given, key)),
      )
    : undefined;
  return named ?? waits[0];
}

/** The text that asks a person for an answer. */
export function toPrompt(wait: WaitView): string {
  const hint = Object.keys(wait.questions).length > 1 ? "\n(answer with a JSON object of these keys)" : "";
  return toQuestion(wait) + hint;
}
