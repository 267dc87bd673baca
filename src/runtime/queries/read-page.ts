import type { EventLog } from "../../ports/event-log.ts";
import { countEvents, toEncoded } from "../../protocol/events/texts.ts";
import type { Address, EventPage } from "../feeds.ts";
import type { Wanted } from "./event-filter.ts";

/** Default and maximum size of a polled page. */
const PAGE = { limit: 1_000, limitBytes: 1_048_576 };

/** Reads one page of a run's log and drops the filtered events. */
export async function readPage(
  log: EventLog,
  address: Address,
  {
    after,
    wanted,
    ...limits
  }: {
    readonly after: number;
    readonly wanted: Wanted | undefined;
    readonly limit?: number;
    readonly limitBytes?: number;
  },
): Promise<EventPage> {
  const { events, head } = await log.read(address.runId, { after, ...PAGE, ...limits });
  const cursor = after + countEvents(events);
  return { events: toEncoded(wanted ? events.filter(wanted) : events), cursor, more: cursor < head };
}
