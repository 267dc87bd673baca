import { AgentError } from "../errors.ts";
import type { EventLog } from "../ports/event-log.ts";
import { requestIdOf, typeOf } from "../protocol/encode.ts";
import type { Event } from "../protocol/events.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import { canonical } from "../protocol/canonical.ts";

/** Which wait an answer is for, and what it says. */
export interface GivenAnswer {
  readonly waitId?: number;
  readonly resumeId?: string;
  readonly values: JsonObject;
}

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
 * Finds an answer that was given before, for one that comes too late: the same again is replayed,
 * another is a `conflict`.
 */
export async function findAnswer(
  log: EventLog,
  runId: RunId,
  requestId: RequestId,
  { waitId, resumeId, values }: GivenAnswer,
): Promise<{ readonly id: number; readonly text: string }> {
  const entry = await log.lookup(requestId);
  const last = await lastAnswer(log, runId, requestId, (entry?.started ?? 1) - 1, (event) => {
    if (resumeId !== undefined && event.resume_id === resumeId) return true;
    return waitId === undefined || event.wait_id === waitId;
  });
  if (last === undefined) throw new AgentError("conflict", `request ${requestId} is not waiting for input`);
  if (canonical(last.event.request_keys) !== canonical(values)) {
    throw new AgentError(
      "conflict",
      `wait ${last.event.wait_id} of request ${requestId} has another answer already`,
    );
  }
  return { id: last.event.id, text: last.text };
}

type ResumeEvent = Event & { readonly type: "ResumeWithInput" };

async function lastAnswer(
  log: EventLog,
  runId: RunId,
  requestId: RequestId,
  start: number,
  fits: (event: ResumeEvent) => boolean,
): Promise<{ readonly event: ResumeEvent; readonly text: string } | undefined> {
  let found: { readonly event: ResumeEvent; readonly text: string } | undefined;
  for (let after = start; ;) {
    const { events, head } = await log.read(runId, { after, limit: 10_000 });
    for (const text of events) {
      if (typeOf(text) !== "ResumeWithInput" || requestIdOf(text) !== requestId) continue;
      const event = JSON.parse(text) as ResumeEvent;
      if (fits(event)) found = { event, text };
    }
    after += events.length;
    if (events.length === 0 || after >= head) return found;
  }
}
