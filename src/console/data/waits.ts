import type { EventOf } from "../../protocol/events/events.ts";
import { useRunChanges } from "./changes.ts";
import { useResource } from "./resource.ts";
import type { Resource } from "./resource.ts";
import type { PageServer } from "./page-server.ts";

/** An open question of a run, as the log has it. */
export type WaitEvent = EventOf<"WaitForInput">;

/** How many open questions are read, and how many held turns. */
export const MOST_OPEN = 100;

/** The open questions of all runs, oldest first; read again when a run that has some, or had, changes. */
export function useOpenWaits(server: PageServer): Resource<readonly WaitEvent[]> {
  const waits = useResource(server.url + (server.token ?? ""), async (signal) => {
    const { json } = await server.ask("GET", "/waits", { query: { limit: MOST_OPEN }, signal });
    return json as readonly WaitEvent[];
  });
  const { value, reload } = waits;
  useRunChanges(server, reload, (row) => {
    const hasSome = !("removed" in row) && row.open_waits > 0;
    return hasSome || value?.some((wait) => wait.run_id === row.run_id) === true;
  });
  return waits;
}
