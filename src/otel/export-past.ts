import type { Event } from "../protocol/events/events.ts";
import type { RunId } from "../protocol/ids.ts";
import { SpanSender } from "./sender.ts";
import type { TraceExporter } from "./sender.ts";
import type { Attributes, ContentOption } from "./span.ts";
import { SpanFold } from "./spans.ts";

/** A run of the past, with its events from the first one on. */
export interface PastRun {
  readonly runId: RunId;
  readonly events: AsyncIterable<Event>;
}

/** Which traces of the past are exported, and to what. */
export interface PastOptions {
  readonly exporter: TraceExporter;
  /** Only spans that ended at this time or later. */
  readonly since: Date;
  readonly content?: ContentOption;
  /** Default `{ "service.name": "troupe" }`. */
  readonly resource?: Attributes;
}

/**
 * Exports the spans of runs as they are now: the same ids and bytes as `exportTraces` has exported or will export. Returns their
 * number.
 */
export async function exportPast(
  runs: AsyncIterable<PastRun>,
  { exporter, since, content, resource = { "service.name": "troupe" } }: PastOptions,
): Promise<number> {
  const sender = new SpanSender(exporter, resource);
  for await (const { runId, events } of runs) {
    const fold = new SpanFold(runId, content);
    for await (const event of events) {
      const spans = fold.add(event);
      if (spans.length > 0 && Date.parse(event.ts) >= since.getTime()) await sender.add(spans);
    }
  }
  await sender.flush();
  await exporter.shutdown();
  return sender.sent;
}
