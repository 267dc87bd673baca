import type { VNode } from "preact";
import { useConsole } from "../app/context.ts";
import { Empty } from "../parts/empty.tsx";
import type { Place } from "../places/place.ts";
import { Chat } from "./chat.tsx";
import { RunHeader } from "./run-header.tsx";
import { StoreBand } from "./store-band.tsx";
import { useRun } from "./use-run.ts";

/** One run. Everything that is shown of it is its view as of an event. */
export function RunPlace({ place }: { readonly place: Place & { readonly name: "run" } }): VNode {
  const { server } = useConsole();
  const store = useRun(server, place.runId);
  const { view, error, connection } = store;
  if (connection.state === "closed" && view.head === 0) {
    return (
      <Empty title={error?.code === "gone" ? "This run was removed" : "There is no such run"}>
        <p>{error?.message}</p>
        <p>
          <a href="#/runs">All runs →</a>
        </p>
      </Empty>
    );
  }
  return (
    <div class="run">
      <RunHeader runId={place.runId} view={view} />
      <StoreBand store={store} />
      <div class="run-panes">
        <Chat view={view} runId={place.runId} isPast={false} />
      </div>
    </div>
  );
}
