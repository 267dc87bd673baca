import type { Event } from "../protocol/events/events.ts";
import type { RunId } from "../protocol/ids.ts";
import type { RunClient } from "./client-api.ts";
import type { Requests } from "./requests/requests.ts";
import { followLimits } from "./stream/follow-settings.ts";
import type { FollowLimits, FollowSettings } from "./stream/follow-settings.ts";
import type { Followed } from "./stream/followed.ts";
import { follow } from "./stream/reconnect.ts";
import { OpenWaits } from "./call/open-waits.ts";
import type { RunView } from "./view/run-view.ts";

/** A run; the id of a request stands for the events of that request. */
export function createRunClient(
  requests: Requests,
  id: RunId,
  limits: Partial<FollowLimits> = {},
): RunClient {
  function open(settings: Partial<FollowSettings>): AsyncGenerator<Followed<Event>, void> {
    return follow(requests.wire, {
      path: `/getevents/${encodeURIComponent(id)}`,
      limits: { ...followLimits, ...limits },
      openWaits: () => 0,
      progress: async () => ({}),
      ...settings,
    }) as AsyncGenerator<Followed<Event>, void>;
  }

  async function view(signal?: AbortSignal): Promise<RunView> {
    const { project } = await import("./view/project.ts");
    let seen = project([]);
    for await (const page of requests.pages(id, 0, signal)) seen = project(page, seen);
    return seen;
  }

  return {
    id,
    follow: ({ after = 0, signal } = {}) =>
      open({
        query: { follow: true },
        after,
        signal,
        limits: { ...followLimits, ...limits, unreachableMs: Infinity },
      }),
    async *events({ after = 0, follow: isFollowed = false, signal } = {}) {
      const waits = new OpenWaits(async () => {});
      const settings = { after, signal, openWaits: () => (isFollowed ? 0 : waits.all.length) };
      for await (const followed of open({ ...settings, query: { follow: isFollowed || undefined } })) {
        if (followed.type !== "events") continue;
        for (const event of followed.events) {
          waits.add(event);
          yield event;
        }
      }
    },
    view: ({ signal } = {}) => view(signal),
    async fork({ after, signal } = {}) {
      const end =
        after ?? (await view(signal)).turns.findLast(({ endedId }) => endedId !== undefined)?.endedId ?? 0;
      const path = `/runs/${encodeURIComponent(id)}/fork`;
      // Not repeated: each request makes a run.
      const { json } = await requests.wire.ask("POST", path, { body: { after: end }, signal });
      return createRunClient(requests, (json as { readonly run_id: RunId }).run_id, limits);
    },
    async remove({ signal } = {}) {
      await requests.ask("DELETE", `/runs/${encodeURIComponent(id)}`, { signal });
    },
  };
}
