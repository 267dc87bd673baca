import { useRef } from "preact/hooks";
import type { Connection } from "../../client/store/run-store.ts";
import { readInspectedRun } from "./inspect.ts";
import { useResource } from "./resource.ts";
import type { Server } from "./server.ts";

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
export function useRestarts(server: Server, runId: string, { state, since }: Connection): readonly Restart[] {
  const newest = useRef(0);
  if (state === "live") newest.current = since;
  const { value } = useResource(`${server.url} ${runId} ${newest.current}`, async (signal) => {
    if (newest.current === 0) return undefined;
    const { marks } = await readInspectedRun(server, runId, { signal });
    return marks.flatMap(({ type, after, at }) =>
      type === "recovered" && at !== undefined ? [{ after, at }] : [],
    );
  });
  return value ?? NONE;
}

const NONE: readonly Restart[] = [];
