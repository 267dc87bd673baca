import { useEffect } from "preact/hooks";
import type { EventOf } from "../../protocol/events/event-schemas.ts";
import { useResource } from "./resource.ts";
import type { Resource } from "./resource.ts";
import type { Server } from "./server.ts";

/** An open question of a run, as the log has it. */
export type OpenWait = EventOf<"WaitForInput">;

/** The open questions of all runs, oldest first; read again every few seconds while the page is shown. */
export function useWaits(server: Server): Resource<readonly OpenWait[]> {
  const waits = useResource(server.url + (server.token ?? ""), async (signal) => {
    const { json } = await server.ask("GET", "/waits", { query: { limit: 100 }, signal });
    return json as readonly OpenWait[];
  });
  const { reload } = waits;
  useEffect(() => {
    const read = (): void => {
      if (!document.hidden) reload();
    };
    const timer = setInterval(read, AGAIN_MS);
    document.addEventListener("visibilitychange", read);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", read);
    };
  }, [reload]);
  return waits;
}

const AGAIN_MS = 2_000;
