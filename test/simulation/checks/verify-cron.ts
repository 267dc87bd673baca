import type { AcceptedRequest } from "../../../src/runtime/journal/records.ts";
import { SCHEDULES } from "../agents/clerk.ts";
import type { LoggedRun, Observer } from "./observer.ts";

/** A request of a schedule, as its run has accepted it. */
interface TimedRequest {
  readonly requestId: string;
  readonly schedule: keyof typeof SCHEDULES;
  readonly at: number;
  readonly acceptedAt: number;
  /** The number of events before it. */
  readonly after: number;
}

/**
 * The laws of schedules, with any steps of the wall clock: at most one request for a time, at a time of the schedule that
 * is not before its start, not before that time, and without a turn only if the schedule skips times and was busy.
 */
export function findWrongTimes({ requests, runs }: Observer): readonly string[] {
  const faults: string[] = [];
  const taken = new Set<string>();
  for (const run of runs.values()) {
    for (const { requestId, schedule, at, acceptedAt, after } of timedRequestsOf(run)) {
      const what = `${requestId}, schedule ${schedule} at ${new Date(at).toISOString()},`;
      const { minutes, overlap } = SCHEDULES[schedule];
      if (taken.has(`${schedule} ${at}`)) faults.push(`${what} is a second request for this time`);
      taken.add(`${schedule} ${at}`);
      if (at % (minutes * MINUTE_MS) !== 0) faults.push(`${what} is not at a time of the schedule`);
      if (at <= sinceOf(run)) faults.push(`${what} makes up for a time before the schedule`);
      if (at > acceptedAt) faults.push(`${what} was sent before its time`);
      const isSkipped = requests.get(requestId)?.end?.finish_reason === "canceled";
      if (isSkipped && (overlap === "queue" || !wasBusy(run, after)))
        faults.push(
          `${what} was left out though ${overlap === "queue" ? "it can wait" : "nothing else was open"}`,
        );
    }
  }
  return faults;
}

/** The newest time of each schedule that has no request, after a while without faults. */
export function findMissedTimes({ runs }: Observer, now: number): readonly string[] {
  const faults: string[] = [];
  for (const [name, { minutes }] of Object.entries(SCHEDULES)) {
    const newest = now - (now % (minutes * MINUTE_MS));
    const text = `*/${minutes} * * * * UTC`;
    // An actor that has many events continues in another run.
    const own = [...runs.values()].filter(({ records }) =>
      records.some((record) => record.type === "Scheduled" && record["text"] === text),
    );
    const since = Math.max(...own.map(sinceOf));
    const isSent = own.some((run) => timedRequestsOf(run).some(({ at }) => at === newest));
    if (own.length === 0 || (newest > since && !isSent))
      faults.push(`schedule ${name} has no request for ${new Date(newest).toISOString()}`);
  }
  return faults;
}

const MINUTE_MS = 60_000;

function timedRequestsOf({ records }: LoggedRun): readonly TimedRequest[] {
  return records.flatMap((record): readonly TimedRequest[] => {
    if (record.type !== "Accepted") return [];
    const { requestId, request, acceptedAt, agent } = record["accepted"] as unknown as AcceptedRequest;
    if (agent !== "clerk") return [];
    const { schedule, scheduled_at: at } = request.request_metadata as {
      readonly schedule: keyof typeof SCHEDULES;
      readonly scheduled_at: string;
    };
    return [{ requestId, schedule, at: Date.parse(at), acceptedAt, after: record.after }];
  });
}

/** When the schedule of a run began. */
function sinceOf({ records }: LoggedRun): number {
  return Number(records.find(({ type }) => type === "Scheduled")?.["since"] ?? Infinity);
}

/** Whether a request of the run was open after so many events. */
function wasBusy({ events, records }: LoggedRun, after: number): boolean {
  const ended = new Set<string>();
  for (const { id, type, request_id: requestId } of events)
    if (id <= after && type === "RequestCompleted" && requestId !== null) ended.add(requestId);
  return records.some(
    (record) =>
      record.type === "Accepted" &&
      record.after < after &&
      !ended.has((record["accepted"] as unknown as AcceptedRequest).requestId),
  );
}
