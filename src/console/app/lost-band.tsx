import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { clockTime } from "../parts/time.ts";
import { useConsole } from "./context.ts";

/** Says that the server does not answer, and finds out when it answers again. */
export function LostBand({ since }: { readonly since: number | undefined }): VNode {
  const { server } = useConsole();
  useEffect(() => {
    if (since === undefined) return undefined;
    const timer = setInterval(() => void server.ask("GET", "/healthz").catch(() => undefined), AGAIN_MS);
    return () => clearInterval(timer);
  }, [since, server]);
  return (
    <div role="status">
      {since !== undefined && (
        <div class="band lost">
          No connection since {clockTime(since)}. Nothing is lost: the log is on the server.
        </div>
      )}
    </div>
  );
}

const AGAIN_MS = 1_000;
