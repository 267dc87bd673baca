import { AgentError } from "../../../errors.ts";
import { idOf, requestIdOf, typeOf } from "../../../protocol/events/encode.ts";
import type { EventType } from "../../../protocol/events/event-body.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { Receipt, Runtime } from "../../../runtime/api.ts";
import type { Feed } from "../../../runtime/feeds.ts";
import type { RunReading } from "../../../view/run-reader.ts";
import { segmentsOf } from "../../../view/segments.ts";
import type { Segment } from "../../../view/segments.ts";
import { isRunning, newestOf } from "../task/task.ts";
import type { TasksReader } from "../task/tasks-reader.ts";

/** A step, and its task at the moment at which it was read. */
export interface StepResult {
  readonly reading: RunReading;
  readonly segment: Segment;
}

/** Waits for the segments of tasks. */
export interface SegmentReader {
  readonly runtime: Runtime;
  readonly tasks: TasksReader;
  readonly signal: AbortSignal;
}

/** Waits until the segment that a receipt began has ended or asks something. A repeated request gets the segment of the first one. */
export async function awaitReceipt(waiting: SegmentReader, receipt: Receipt): Promise<StepResult> {
  const { runtime, tasks, signal } = waiting;
  const { requestId, runId, kind, after } = receipt;
  await drain(await runtime.answers(receipt, { signal, filter: WAITS }), requestId, after + 1);
  const { view } = await tasks.read(runId ?? "");
  const segments = segmentsOf(view).filter(({ turn }) => turn.requestId === requestId);
  const segment = kind === "turn" ? segments[0] : segments.find(({ id }) => id === after + 1);
  if (segment !== undefined) return awaitEnd(waiting, runId ?? "", segment);
  throw stopping();
}

/** Waits until the newest segment of a task has ended or asks something. */
export async function awaitNewest(waiting: SegmentReader, runId: RunId): Promise<StepResult> {
  const { runtime, tasks, signal } = waiting;
  for (;;) {
    const { run, view } = await tasks.read(runId);
    const newest = newestOf(view);
    const isBegun = newest !== undefined && newest.end === undefined;
    if (isBegun || run.status !== "running") {
      if (newest !== undefined) return awaitEnd(waiting, runId, newest);
      throw new AgentError("conflict", `task ${runId} was changed by another request; try again`);
    }
    // The accepted turn has not begun yet.
    const address = { kind: "run", runId, agent: run.agent } as const;
    const feed = await runtime.follow(address, { after: run.last_event_id, signal });
    for await (const { events } of feed.pages) if (events.length > 0) break;
    if (signal.aborted) throw stopping();
  }
}

/** Waits until a segment has ended or asks something. */
async function awaitEnd(
  { runtime, tasks, signal }: SegmentReader,
  runId: RunId,
  { id, turn: { requestId } }: Segment,
): Promise<StepResult> {
  for (;;) {
    const reading = await tasks.read(runId);
    const segment = segmentsOf(reading.view).find((known) => known.id === id);
    if (segment === undefined) throw new AgentError("not_found", `there is no task ${runId}`);
    if (!isRunning(reading, segment)) return { reading, segment };
    if (signal.aborted) throw stopping();
    const address = { kind: "request", runId, requestId, agent: reading.run.agent } as const;
    // The current segment has all open questions, so the stream ends when the request waits for input.
    await drain(await runtime.follow(address, { signal, filter: WAITS }), requestId, id);
  }
}

const BEGINNINGS: ReadonlySet<EventType> = new Set(["ResumeWithInput", "WaitExpired"]);

/** Reads until the end of the stream, or until a later answer or an expired wait begins another segment. */
async function drain({ pages }: Feed, requestId: RequestId, id: number): Promise<void> {
  for await (const { events } of pages) if (events.some((text) => begins(text))) return;

  function begins(text: string): boolean {
    return BEGINNINGS.has(typeOf(text)) && idOf(text) > id && requestIdOf(text) === requestId;
  }
}

/** Ends and answers are never filtered out. */
const WAITS = { types: ["WaitForInput"] } as const;

function stopping(): AgentError {
  return new AgentError("unavailable", "the server is stopping; the task continues");
}
