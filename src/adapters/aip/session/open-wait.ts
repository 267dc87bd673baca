import { toQuestion } from "../../../view/to-answer.ts";
import type { RunReader } from "../../../view/run-reader.ts";
import type { AskedWait } from "../../../view/segment.ts";
import { isObject } from "../../../protocol/json.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";

/** The newest request of a run, and what it waits for. */
export interface Standing {
  /** Absent if no turn has started. */
  readonly requestId: RequestId | undefined;
  /** The open waits, oldest first; none if the request is not parked. */
  readonly waits: readonly AskedWait[];
}

/** Reads how the newest request of a run stands. */
export async function readStanding(reader: RunReader, runId: RunId): Promise<Standing> {
  const { projection, isParked } = await reader.read(runId);
  const request = projection.requests.at(-1);
  const waits = isParked ? (request?.segments.at(-1)?.waits ?? []) : [];
  return { requestId: request?.requestId, waits };
}

/** The wait that a text answers: the oldest one, unless the text is a JSON object with the keys of another one. */
export function chooseWait(waits: readonly AskedWait[], text: string): AskedWait | undefined {
  const given = parse(text);
  const named = isObject(given)
    ? waits.find(({ questions }) => Object.keys(questions).every((key) => Object.hasOwn(given, key)))
    : undefined;
  return named ?? waits[0];
}

/** The text that asks a person for an answer. */
export function toPrompt(wait: AskedWait): string {
  const hint = Object.keys(wait.questions).length > 1 ? "\n(answer with a JSON object of these keys)" : "";
  return toQuestion(wait) + hint;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
