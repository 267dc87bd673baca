import type { GivenAnswer } from "../activation/turn-slot.ts";
import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import { requestIdOf, typeOf } from "../../protocol/encode.ts";
import type { Event } from "../../protocol/events.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { canonical } from "../../protocol/canonical.ts";

/** The wait that an answer is for: the one it names, or the only one; `undefined` when that is not open. */
export function pickWait<
  Wait extends { readonly waitId: number; readonly questions: { readonly [key: string]: string } },
>(waits: readonly Wait[], { waitId }: GivenAnswer): Wait | undefined {
  if (waitId !== undefined) return waits.find((wait) => wait.waitId === waitId);
  if (waits.length <= 1) return waits[0];
  throw new AgentError("conflict", `${waits.length} waits are open: name one by wait_id`, {
    facts: { waits: waits.map(({ waitId: wait_id, questions }) => ({ wait_id, request_keys: questions })) },
  });
}

/**
 * Finds an answer that was given before, for one that comes too late or again: the same is replayed,
 * another is a `conflict`. A name that was given before says which answer is meant.
 */
export async function findAnswer(
  log: EventLog,
  runId: RunId,
  requestId: RequestId,
  { waitId, resumeId, values }: GivenAnswer,
): Promise<{ readonly id: number; readonly text: string }> {
  const entry = await log.lookup(requestId);
  const answers = await answersOf(log, runId, requestId, (entry?.started ?? 1) - 1);
  const found =
    (resumeId === undefined ? undefined : answers.findLast(({ event }) => event.resume_id === resumeId)) ??
    answers.findLast(({ event }) => waitId === undefined || event.wait_id === waitId);
  if (found === undefined) throw new AgentError("conflict", `request ${requestId} is not waiting for input`);
  if (canonical(found.event.request_keys) !== canonical(values)) {
    throw new AgentError(
      "conflict",
      `wait ${found.event.wait_id} of request ${requestId} has another answer already`,
    );
  }
  return { id: found.event.id, text: found.text };
}

interface LoggedAnswer {
  readonly event: Event & { readonly type: "ResumeWithInput" };
  readonly text: string;
}

/** All answers that a request was given, oldest first. */
async function answersOf(
  log: EventLog,
  runId: RunId,
  requestId: RequestId,
  start: number,
): Promise<readonly LoggedAnswer[]> {
  const answers: LoggedAnswer[] = [];
  for (let after = start; ;) {
    const { events, head } = await log.read(runId, { after, limit: 10_000 });
    for (const text of events) {
      if (typeOf(text) !== "ResumeWithInput" || requestIdOf(text) !== requestId) continue;
      answers.push({ event: JSON.parse(text) as LoggedAnswer["event"], text });
    }
    after += events.length;
    if (events.length === 0 || after >= head) return answers;
  }
}
