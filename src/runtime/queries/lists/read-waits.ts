import { AgentError } from "../../../errors.ts";
import type { EventLog } from "../../../ports/event-log.ts";
import type { WaitEntry } from "../../../ports/log-entries.ts";
import { byteLength } from "../../journal/json-limits.ts";
import type { WaitsPage, WaitsQuery } from "../../lists.ts";
import { readEvent } from "../../replay/accepted.ts";

/** Maximum bytes of a page, which has at least one wait. */
const PAGE_BYTES = 1_048_576;

/** Reads a page of the open waits, as their encoded events. */
export async function readWaits(log: EventLog, query: WaitsQuery): Promise<WaitsPage> {
  const { waits, next } = await log.waits(query);
  const events: string[] = [];
  let room = PAGE_BYTES;
  for (const [index, wait] of waits.entries()) {
    const text = await readWait(log, wait);
    room -= text === undefined ? 0 : byteLength(text);
    if (room < 0 && events.length > 0) {
      // Only the log knows the cursor of the next page.
      const shorter = await log.waits({ ...query, limit: index });
      return { events, ...(shorter.next !== undefined && { next: shorter.next }) };
    }
    if (text !== undefined) events.push(text);
  }
  return { events, ...(next !== undefined && { next }) };
}

/** `undefined` if the run was removed in the meantime. */
async function readWait(log: EventLog, wait: WaitEntry): Promise<string | undefined> {
  try {
    return await readEvent(log, wait, wait.waitId);
  } catch (error) {
    if (error instanceof AgentError && error.code === "gone") return undefined;
    throw error;
  }
}
