import { mayAnswer } from "../agent/approvers.ts";
import type { ApprovedBy } from "../agent/approvers.ts";
import type { WaitAnswer } from "../activation/turn-input.ts";
import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RequestEntry } from "../../ports/log-entries.ts";
import { requestIdOf, typeOf } from "../../protocol/events/encode.ts";
import type { Event } from "../../protocol/events/events.ts";
import { countEvents } from "../../protocol/events/texts.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { readEvent } from "../replay/accepted.ts";
import { canonical } from "../../protocol/json.ts";

/** The wait that an answer is for: the named one, or the only one; `undefined` if it is not open. */
export function pickWait<
  Wait extends ApprovedBy & { readonly questions: { readonly [key: string]: string } },
>(waits: readonly Wait[], answer: WaitAnswer): Wait | undefined {
  const { waitId } = answer;
  if (waitId !== undefined) return waits.find((wait) => wait.waitId === waitId);
  if (waits.length <= 1) return waits[0];
  throw new AgentError("conflict", `${waits.length} waits are open; name one with wait_id`, {
    facts: {
      waits: waits.map(({ waitId: wait_id, questions, approvers }) => ({
        wait_id,
        request_keys: mayAnswer(approvers, answer) ? questions : {},
      })),
    },
  });
}

/**
 * Finds an earlier answer, for one that is late or repeated: an equal one is replayed, a different one is a
 * `conflict`. A known resume id identifies the answer.
 */
export async function findAnswer(
  log: EventLog,
  {
    runId,
    requestId,
    owner,
  }: { readonly runId: RunId; readonly requestId: RequestId; readonly owner: string },
  { waitId, resumeId, values }: WaitAnswer,
): Promise<{ readonly id: number; readonly text: string }> {
  const entry = await log.lookup(requestId, owner);
  const { answers, expired } = await answersOf(log, runId, requestId, (entry?.started ?? 1) - 1);
  const found =
    (resumeId === undefined ? undefined : answers.findLast(({ event }) => event.resume_id === resumeId)) ??
    answers.findLast(({ event }) => waitId === undefined || event.wait_id === waitId);
  if (found === undefined) {
    const past = expired.findLast((event) => waitId === undefined || event.wait_id === waitId);
    if (past === undefined) {
      const end = entry?.completed === undefined ? "is not waiting for input" : await readEnd(log, entry);
      throw new AgentError("conflict", `request ${requestId} ${end}`);
    }
    throw new AgentError("conflict", `wait ${past.wait_id} of request ${requestId} has expired`, {
      hint: "the agent has continued without an answer",
    });
  }
  if (canonical(found.event.request_keys) !== canonical(values)) {
    throw new AgentError(
      "conflict",
      `wait ${found.event.wait_id} of request ${requestId} already has a different answer`,
    );
  }
  return { id: found.event.id, text: found.text };
}

/** How a completed request has ended, in words. */
async function readEnd(log: EventLog, entry: RequestEntry): Promise<string> {
  const { finish_reason: reason, error } = JSON.parse(
    await readEvent(log, entry, entry.completed ?? 0),
  ) as Event & { readonly type: "RequestCompleted" };
  switch (reason) {
    case "success":
      return "has ended with success and takes no answer";
    case "canceled":
      return "was canceled and takes no answer";
    case "error":
      return `has ended with ${error?.code ?? "an error"} and takes no answer: ${error?.message ?? "no message"}`;
    default: {
      const never: never = reason;
      return never;
    }
  }
}

interface LoggedAnswer {
  readonly event: Event & { readonly type: "ResumeWithInput" };
  readonly text: string;
}

type LoggedExpiry = Event & { readonly type: "WaitExpired" };

/** All answers and expired waits of a request, oldest first. */
async function answersOf(
  log: EventLog,
  runId: RunId,
  requestId: RequestId,
  start: number,
): Promise<{ readonly answers: readonly LoggedAnswer[]; readonly expired: readonly LoggedExpiry[] }> {
  const answers: LoggedAnswer[] = [];
  const expired: LoggedExpiry[] = [];
  for (let after = start; ;) {
    const { events, head, base } = await log.read(runId, { after, limit: 10_000 });
    for (const text of events) {
      if (typeof text !== "string") continue;
      const type = typeOf(text);
      if ((type !== "ResumeWithInput" && type !== "WaitExpired") || requestIdOf(text) !== requestId) continue;
      if (type === "WaitExpired") expired.push(JSON.parse(text) as LoggedExpiry);
      else answers.push({ event: JSON.parse(text) as LoggedAnswer["event"], text });
    }
    after = (base?.head ?? after) + countEvents(events);
    if (events.length === 0 || after >= head) return { answers, expired };
  }
}
