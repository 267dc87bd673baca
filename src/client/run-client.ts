import type { Event, EventOf } from "../protocol/events/events.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { RunClient } from "./client-api.ts";
import { eventsPath, followRun } from "./requests/requests.ts";
import type { Requests } from "./requests/requests.ts";
import { RequestWaits } from "./call/request-waits.ts";
import type { RunView } from "../view/run-view.ts";
import { viewOf } from "./call/view-of.ts";
import { hasCode } from "./wire/problem.ts";

/** A run; the id of a request stands for the events of that request. */
export function createRunClient(requests: Requests, id: RunId): RunClient {
  const path = `/runs/${encodeURIComponent(id)}`;
  const { server } = requests;

  const view = (signal?: AbortSignal): Promise<RunView> => viewOf(requests.pages(id, 0, signal));

  return {
    id,
    follow: (options) => followRun(requests, id, options),
    async *events({ after = 0, follow: isFollowed, soFar, signal } = {}) {
      if (soFar) {
        for await (const page of requests.pages(id, after, signal)) yield* page;
        return;
      }
      const waits = new RequestWaits(async () => {});
      const openWaits = (): number => (isFollowed ? 0 : waits.all.length);
      const query = { follow: isFollowed || undefined };
      const stream = requests.follow(eventsPath(id), { query, after, signal, openWaits });
      for await (const followed of stream) {
        if (followed.type !== "events") continue;
        for (const event of followed.events as unknown as readonly Event[]) {
          waits.add(event);
          yield event;
        }
      }
    },
    view: ({ signal } = {}) => view(signal),
    async fork({ after, waitId, signal } = {}) {
      const body =
        waitId === undefined
          ? { after: after ?? (await view(signal)).turns.findLast(({ outcome }) => outcome)?.endedId ?? 0 }
          : { wait_id: waitId };
      // Not repeated: each request makes a run.
      const { json } = await server.wire.ask("POST", `${path}/fork`, { body, signal });
      return createRunClient(requests, (json as { readonly run_id: RunId }).run_id);
    },
    // None is repeated: after one that has reached the server, the turn may not be held.
    async retry(options) {
      await server.wire.ask("POST", `${path}/retry`, options);
    },
    async resume(options) {
      await server.wire.ask("POST", `${path}/resume`, options);
    },
    async end(options) {
      const { json } = await server.wire.ask("POST", `${path}/end`, options);
      return json as EventOf<"RequestCompleted">;
    },
    // Both have their effect once, however often they are asked.
    async dismiss(requestId, options) {
      await server.ask("DELETE", `${path}/dead-letters/${encodeURIComponent(requestId)}`, options);
    },
    async sendAgain(requestId, options) {
      const sent = await server.ask("POST", `${path}/dead-letters/${encodeURIComponent(requestId)}`, options);
      return (sent.json as { readonly request_id: RequestId }).request_id;
    },
    async remove(options) {
      try {
        await server.ask("DELETE", path, options);
      } catch (thrown) {
        // An earlier attempt has removed it, whose answer was lost, or another client has.
        if (!hasCode(thrown, "gone")) throw thrown;
      }
    },
  };
}
