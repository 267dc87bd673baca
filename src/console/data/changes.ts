import { useEffect, useRef } from "preact/hooks";
import type { RunChange } from "../../client/client-api.ts";
import type { PageServer } from "./page-server.ts";

/**
 * Calls `reload` when runs have changed that `concerns` selects, and when the connection is a new one, at most once a
 * second.
 */
export function useRunChanges(
  server: PageServer,
  reload: () => void,
  concerns: (row: RunChange) => boolean = () => true,
): void {
  const newest = useRef(concerns);
  newest.current = concerns;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isDue = false;
    const read = (): void => {
      isDue = timer !== undefined;
      if (isDue) return;
      reload();
      timer = setTimeout(() => {
        timer = undefined;
        if (isDue) read();
      }, PAUSE_MS);
    };
    const stop = server.watch((rows) => {
      if (rows === undefined || rows.some(newest.current)) read();
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [server, reload]);
}

const PAUSE_MS = 1_000;
