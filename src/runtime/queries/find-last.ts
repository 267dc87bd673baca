import type { EventLog } from "../../ports/event-log.ts";
import { toEncoded } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";

/** The first page has one event, because the newest event usually fits. */
const PAGES = { first: 1, most: 1_000 };

/** The newest event of a run that fits, and its id; reads backwards. */
export async function findLast(
  log: EventLog,
  runId: RunId,
  fits: (text: string) => boolean,
): Promise<{ readonly id: number; readonly text: string } | undefined> {
  const run = await log.run(runId);
  let end = run?.head ?? 0;
  for (let size = PAGES.first; end > 0; size = PAGES.most) {
    const start = Math.max(end - size, 0);
    const events = toEncoded((await log.read(runId, { after: start, limit: end - start })).events);
    const index = events.findLastIndex(fits);
    const text = events[index];
    if (text !== undefined) return { id: start + index + 1, text };
    end = start;
  }
  return undefined;
}
