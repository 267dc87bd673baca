import { EventDecoder } from "../protocol/events/encode.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Runtime } from "../runtime/api.ts";
import { RunFold } from "./fold.ts";
import type { Change, RunView } from "./run-view.ts";

/** Which request is read, and who hears of it on the way. */
export interface RequestReadingOptions {
  readonly agent: string;
  readonly runId: RunId;
  readonly requestId: RequestId;
  /** What later events than this one change is reported. Default: all events. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** Called with what the newest events have changed, those that were committed together at once. */
  changed?(changes: readonly Change[]): void | Promise<void>;
}

/**
 * Reads all events of a request, from its first one until it ends or waits for its caller, and returns their view. With an aborted
 * signal it returns what it has read so far.
 */
export async function readRequest(
  runtime: Pick<Runtime, "follow">,
  { agent, runId, requestId, after = 0, signal, changed }: RequestReadingOptions,
): Promise<RunView> {
  const address = { kind: "request", agent, runId, requestId } as const;
  const feed = await runtime.follow(address, {
    after: 0,
    filter: { level: "all" },
    ...(signal && { signal }),
  });
  const decoder = new EventDecoder();
  const fold = new RunFold();
  for await (const { events } of feed.pages) {
    const changes: Change[] = [];
    for (const text of events) {
      const event = decoder.decode(text);
      const made = fold.take(event);
      if (event.id > after) changes.push(...made);
    }
    if (changes.length > 0) await changed?.(changes);
  }
  return fold.view;
}
