import { useEffect, useMemo, useReducer } from "preact/hooks";
import type { RunStore } from "../../client/store/run-store.ts";
import type { PageServer } from "../data/page-server.ts";

/** Follows a run while the part is shown, and draws it again after each change: at most once a frame. */
export function useRunStore(server: PageServer, id: string): RunStore {
  const store = useMemo(() => server.follow(id), [server, id]);
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    let frame = 0;
    const stop = store.subscribe(() => {
      if (frame !== 0) return;
      // A hidden page gets no frames, and is drawn when it is shown again.
      frame = requestAnimationFrame(() => {
        frame = 0;
        draw(undefined);
      });
    });
    draw(undefined);
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [store]);
  return store;
}
