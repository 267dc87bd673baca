import { useRef } from "preact/hooks";
import type { RunStore } from "../../client/store/run-store.ts";
import { readInspectedRun } from "./inspect.ts";
import { useResource } from "./resource.ts";
import type { PageServer } from "./page-server.ts";

/** The server was started again and continued a turn of a run. */
export interface Restart {
  /** The id of the newest event before it. */
  readonly after: number;
  readonly at: string;
}

/**
 * The restarts of a run. They depend on the process, so that no event has them. They are read with each new connection
 * to the run, because a restart ends the one before.
 */
export function useRestarts(
  server: PageServer,
  runId: string,
  { connection: { state, since }, view: { head } }: Pick<RunStore, "connection" | "view">,
): readonly Restart[] {
  // A turn continues some time after the server is reached again, and before its next event.
  const newest = useRef({ since: 0, head: 0, hasGrown: true });
  const { current: seen } = newest;
  if (state === "live" && since !== seen.since) newest.current = { since, head, hasGrown: seen.since === 0 };
  else if (!seen.hasGrown && head > seen.head) newest.current = { ...seen, hasGrown: true };
  const { since: begun, hasGrown } = newest.current;
  const { value } = useResource(`${server.url} ${runId} ${begun} ${hasGrown}`, async (signal) => {
    if (begun === 0) return undefined;
    const { marks } = await readInspectedRun(server, runId, { signal });
    return marks.flatMap(({ type, after, at }) =>
      type === "recovered" && at !== undefined ? [{ after, at }] : [],
    );
  });
  return value ?? NONE;
}

const NONE: readonly Restart[] = [];
