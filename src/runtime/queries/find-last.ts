import { checkReadable } from "../../ports/encryption.ts";
import type { EventLog } from "../../ports/event-log.ts";
import { idOf } from "../../protocol/events/encode.ts";
import { toEncoded } from "../../protocol/events/texts.ts";
import type { RunId } from "../../protocol/ids.ts";
import { toBeginning } from "../replay/beginning.ts";

/** The first page is small, because one of the newest events usually fits. */
const PAGES = { first: 8, most: 1_000 };

/**
 * The newest event of a run that fits, and its id; reads backwards. `from` and `to` are the ids of the first and the last
 * event to read; by default, those of the run.
 */
export async function findLast(
  log: EventLog,
  runId: RunId,
  fits: (text: string) => boolean,
  { from = 1, to }: { readonly from?: number | undefined; readonly to?: number | undefined } = {},
): Promise<{ readonly id: number; readonly text: string } | undefined> {
  let end = to ?? (await log.run(runId))?.head ?? 0;
  for (let size = PAGES.first; end >= from; size = PAGES.most) {
    const start = Math.max(end - size, from - 1);
    const page = await log.read(runId, { after: start, limit: end - start });
    const before = page.base?.head ?? start;
    const events = toEncoded(page.events).slice(0, Math.max(end - before, 0));
    checkReadable(runId, events[0]);
    const index = events.findLastIndex(fits);
    const text = events[index];
    if (text !== undefined) return { id: before + index + 1, text };
    if (page.base) {
      const kept = toBeginning(page.base).events.filter((each) => idOf(each) >= from && idOf(each) <= end);
      const last = kept.findLast(fits);
      return last === undefined ? undefined : { id: idOf(last), text: last };
    }
    end = start;
  }
  return undefined;
}
