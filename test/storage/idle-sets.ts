import type { EventLog } from "../../src/ports/event-log.ts";
import { events, asRequestId, asRunId, nextEvents, row } from "../../src/testing/event-log/subject.ts";

const IDLE: readonly string[] = Array.from({ length: 40 }, (_, n) => `idle-${n}`);
const NEEDED: readonly string[] = Array.from({ length: 10 }, (_, n) => `needed-${n}`);

/** Fills a log with idle runs that nothing needs, and some with a queued request. */
export async function fillIdle(log: EventLog): Promise<void> {
  const made = [...IDLE, ...NEEDED].map(async (id) => {
    const { cursor } = await log.claim(asRunId(id));
    const request = { requestId: asRequestId(`request-${id}`), createdAt: 1 };
    const ended = { phase: "completed", accepted: { n: 1, after: 0 }, started: 1, completed: 3 } as const;
    const next = await log.append(cursor, {
      ...nextEvents(cursor, 3),
      records: [{ n: 1, after: 1, type: "Now" }],
      run: row({ initialInput: "needle" }),
      requests: [{ ...request, ...(IDLE.includes(id) ? ended : { phase: "queued" }) }],
    });
    log.release(next);
  });
  await Promise.all(made);
  await log.indexed?.();
}

/** What is there of these runs, or was removed; a run of which only a part is there is described. */
export async function findIdle(
  log: EventLog,
): Promise<Readonly<Record<"idle" | "needed", readonly string[]>>> {
  const kindsOf = async (ids: readonly string[]): Promise<readonly string[]> => [
    ...new Set(await Promise.all(ids.map((id) => findRun(log, id)))),
  ];
  return { idle: await kindsOf(IDLE), needed: await kindsOf(NEEDED) };
}

async function findRun(log: EventLog, id: string): Promise<string> {
  const runId = asRunId(id);
  const [run, page, request] = await Promise.all([
    log.run(runId),
    log.read(runId, { after: 0, records: true }),
    log.lookup(asRequestId(`request-${id}`)),
  ]);
  const parts = [
    run?.removed === true ? 0 : run?.head,
    page.head,
    page.events.length,
    page.records.length,
    request?.removed === true ? 0 : request?.createdAt,
  ].join();
  const whole = [3, 3, events(1, 3).length, 1, 1].join();
  if (parts === whole) return "whole";
  return parts === "0,0,0,0,0" ? "removed" : `${id} has ${parts}`;
}
