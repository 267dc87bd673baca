import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RunStore } from "../../client/store/run-store.ts";
import { clockTime } from "../parts/time.ts";

/** Says that the connection to a run was lost, and for some seconds that it is back. */
export function StoreBand({ store }: { readonly store: RunStore }): VNode {
  const { connection, view, error } = store;
  const [back, setBack] = useState<number>();
  const wasLost = useRef(false);
  const head = useRef(view.head);
  head.current = view.head;
  const isLost = connection.state === "lost";
  useEffect(() => {
    if (isLost) wasLost.current = true;
    if (connection.state !== "live" || !wasLost.current) return undefined;
    wasLost.current = false;
    setBack(head.current);
    const timer = setTimeout(() => setBack(undefined), BACK_MS);
    return () => clearTimeout(timer);
  }, [connection.state, isLost]);
  const isOver = connection.state === "closed" && error !== undefined;
  return (
    <div role="status">
      {isLost && (
        <div class="band lost">
          No connection since {clockTime(connection.since)}. Nothing is lost; reading continues after event{" "}
          {view.head}.
        </div>
      )}
      {isOver && <div class="band lost">{error.message}</div>}
      {!isLost && back !== undefined && (
        <div class="band">The server was started again. Read on from event {back}.</div>
      )}
    </div>
  );
}

const BACK_MS = 8_000;
