import type { RunSummary } from "../../protocol/answers/status.ts";
import { useRunChanges } from "./changes.ts";
import { MOST_OPEN } from "./waits.ts";
import { useResource } from "./resource.ts";
import type { Resource } from "./resource.ts";
import type { PageServer } from "./page-server.ts";

/** The runs whose turn is held, the newest change first; read again when a run is held, or one of them changes. */
export function useHeldRuns(server: PageServer): Resource<readonly RunSummary[]> {
  const runs = useResource(server.url + (server.token ?? ""), async (signal) => {
    const { json } = await server.ask("GET", "/runs", {
      query: { status: "held", limit: MOST_OPEN },
      signal,
    });
    return json as readonly RunSummary[];
  });
  const { value, reload } = runs;
  useRunChanges(server, reload, (row) => {
    const isHeld = !("removed" in row) && row.status === "held";
    return isHeld || value?.some((run) => run.run_id === row.run_id) === true;
  });
  return runs;
}
