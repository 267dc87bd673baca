import { useEffect, useRef } from "preact/hooks";
import type { RunChange } from "../../client/client-api.ts";
import type { PageServer } from "./page-server.ts";

/**
 * Calls `reload` when runs have changed that `concerns` selects, and when the connection is a new one, at most once a
 * second, and after a longer pause where there is one.
 */
export function useRunChanges(
  server: PageServer,
  reload: () => void,
  concerns: (row: RunChange) => boolean = () => true,
  pauseMs: () => number = () => 0,
): void {
  const newest = useRef({ concerns, pauseMs });
  newest.current = { concerns, pauseMs };
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isDue = false;
    const read = (): void => {
      isDue = timer !== undefined;
      if (isDue) return;
      reload();
      timer = setTimeout(
        () => {
          timer = undefined;
          if (isDue) read();
        },
        Math.max(PAUSE_MS, newest.current.pauseMs()),
      );
    };
    const stop = server.watch((rows) => {
      if (rows === undefined || rows.some(newest.current.concerns)) read();
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [server, reload]);
}

const PAUSE_MS = 1_000;
