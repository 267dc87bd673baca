import { useMemo } from "preact/hooks";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { nextQuery } from "../../client/wire/wire.ts";
import type { QueryParameters } from "../../client/wire/wire.ts";
import type { RunChange } from "../../client/client-api.ts";
import { useRunChanges } from "./changes.ts";
import { sumOf, toCount } from "./counts.ts";
import type { Count } from "./counts.ts";
import type { WaitEvent } from "./pages.ts";
import { useResource } from "./resource.ts";
import type { PageServer } from "./page-server.ts";

/** How much waits for a person: the open questions of all runs, and the turns that are held. */
export interface InboxSummary {
  readonly waits: Counted<WaitEvent>;
  readonly held: Counted<RunSummary>;
  readonly count: Count;
}

/** The beginning of a list, and how many rows it has. */
interface Counted<Row> {
  readonly rows: readonly Row[];
  readonly count: Count;
}

/** What waits for a person; read again when a run has changed that has a part in it. `undefined` until it is read. */
export function useInbox(server: PageServer): InboxSummary | undefined {
  const waits = useCounted<WaitEvent>(server, WAITS, (run) => run.open_waits > 0);
  const held = useCounted<RunSummary>(server, HELD, (run) => run.status === "held");
  return useMemo(
    () => waits && held && { waits, held, count: sumOf(waits.count, held.count) },
    [waits, held],
  );
}

function useCounted<Row extends { readonly run_id: string }>(
  server: PageServer,
  { path, query }: { readonly path: string; readonly query: QueryParameters },
  has: (run: RunSummary) => boolean,
): Counted<Row> | undefined {
  const { value, reload } = useResource(server.url + (server.token ?? ""), async (signal) => {
    const { json, headers } = await server.ask("GET", path, { query, signal });
    const rows = json as readonly Row[];
    const hasMore = nextQuery(headers).has("cursor");
    return { rows, hasMore, count: toCount(rows.length, hasMore, headers.get("total-count") ?? undefined) };
  });
  useRunChanges(server, reload, (change: RunChange) => {
    if (!("removed" in change) && has(change)) return true;
    // Which runs have those behind is not known.
    return value?.hasMore === true || value?.rows.some((row) => row.run_id === change.run_id) === true;
  });
  return value;
}

const FIRST = 100;
const WAITS = { path: "/waits", query: { limit: FIRST, total: true } };
const HELD = { path: "/runs", query: { limit: FIRST, status: "held", total: true } };
