import type { DatabaseSync } from "node:sqlite";
import { Unavailable } from "../../../ports/event-log.ts";
import { requestIdOf, typeOf } from "../../../protocol/events/encode.ts";
import type { Event } from "../../../protocol/events/events.ts";
import { isUnder } from "../../../protocol/ids.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { countEvents } from "../../../protocol/events/texts.ts";
import { createChunks } from "../reader/chunks.ts";
import type { Chunks } from "../reader/chunks.ts";

/** Fills the index of open waits of a log in an older format, whose requests the upgrade has listed. */
export function indexWaits(database: DatabaseSync): void {
  const listed = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'unindexed'").get();
  if (listed === undefined) return;
  const add = database.prepare(`INSERT INTO wait (rid, id, request_id, opened, agent)
    VALUES (?1, ?2, ?3, ?4, (SELECT agent FROM run WHERE rid = ?1))`);
  const requests = database
    .prepare("SELECT request_id, run_id, rid, unindexed.started FROM unindexed JOIN run USING (rid)")
    .all() as unknown as readonly Unindexed[];
  const chunks = createChunks(database);
  const found = requests.flatMap((request) => findWaits(chunks, request).map((wait) => ({ request, wait })));
  database.exec("BEGIN IMMEDIATE");
  for (const { request, wait } of found)
    add.run(request.rid, wait.id, request.request_id, Date.parse(wait.ts));
  database.exec("DROP TABLE unindexed; COMMIT");
}

interface Unindexed {
  readonly request_id: string;
  readonly run_id: RunId;
  readonly rid: number;
  readonly started: number | null;
}

type WaitEvent = Event & { readonly type: "WaitForInput" };

/** The open waits of a request; none if its run is damaged, which every read of the run reports. */
function findWaits(chunks: Chunks, request: Unindexed): readonly WaitEvent[] {
  try {
    return [...openWaits(chunks, request).values()];
  } catch (error) {
    if (error instanceof Unavailable) return [];
    throw error;
  }
}

/** The waits of a request that have no answer, outside calls that have ended. */
function openWaits(
  chunks: Chunks,
  { request_id: requestId, run_id: runId, started }: Unindexed,
): ReadonlyMap<number, WaitEvent> {
  const open = new Map<number, WaitEvent>();
  for (let after = (started ?? 1) - 1; ;) {
    const { events, head } = chunks.page(runId, { after, limit: 1_000, limitBytes: 8 * 1_048_576 });
    for (const text of events) {
      if (typeof text !== "string" || !ENDS.has(typeOf(text)) || requestIdOf(text) !== requestId) continue;
      take(open, JSON.parse(text) as Event);
    }
    const read = countEvents(events);
    after += read;
    if (read === 0 || after >= head) return open;
  }
}

const ENDS: ReadonlySet<Event["type"]> = new Set([
  "WaitForInput",
  "ResumeWithInput",
  "WaitExpired",
  "ToolResult",
  "ToolError",
]);

function take(open: Map<number, WaitEvent>, event: Event): void {
  switch (event.type) {
    case "WaitForInput":
      open.set(event.id, event);
      return;
    case "ResumeWithInput":
    case "WaitExpired":
      open.delete(event.wait_id);
      return;
    case "ToolResult":
    case "ToolError":
      for (const [id, { call_id: callId }] of open) if (isUnder(callId, event.tool_call_id)) open.delete(id);
      return;
    default:
      return;
  }
}
