import type { ScheduleRequest, ScheduleSummary } from "../protocol/answers/schedule.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import type { Interruptible } from "./call-api.ts";
import type { ClientOptions } from "./client-api.ts";
import { Requests } from "./requests/requests.ts";
import { randomId } from "./wire/random-id.ts";

/** The schedules of a server: those of definitions, and those that were made since. */
export interface ScheduleClient {
  /** Lists them, page by page, in a fixed order. */
  list(query?: SchedulesQuery): Promise<SchedulesPage>;

  /** Makes a schedule of an actor of an agent, or replaces the one with the `id`. */
  make(agent: string, schedule: ScheduleRequest, options?: Interruptible): Promise<ScheduleSummary>;

  /**
   * Pauses a schedule, resumes it with its times from now on, or removes it; resolves with what it is then, `undefined` if it is removed. One of
   * the definition of an agent can only be paused.
   */
  change(
    place: Pick<ScheduleSummary, "run_id" | "id">,
    change: "pause" | "resume" | "remove",
    options?: Interruptible,
  ): Promise<ScheduleSummary | undefined>;

  /** Sends its request now, besides its times; resolves with the id of the request. */
  run(place: Pick<ScheduleSummary, "run_id" | "id">, options?: Interruptible): Promise<RequestId>;
}

/** Selects schedules. */
export interface SchedulesQuery extends Interruptible {
  readonly agent?: string;
  /** Those of the actor with this key; only together with `agent`. */
  readonly key?: string;
  readonly runId?: RunId;
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

/** A part of a list of schedules. */
export interface SchedulesPage {
  readonly schedules: readonly ScheduleSummary[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** Creates a client of the schedules of a server, apart from `createClient`, because few pages need it. */
export function createScheduleClient(url: string, options: ClientOptions = {}): ScheduleClient {
  const requests = new Requests(url, options);
  return {
    async list({ signal, ...query } = {}) {
      const { items: schedules, ...page } = await requests.list<ScheduleSummary>("/schedules", {
        query,
        signal,
      });
      return { schedules, ...page };
    },
    // With its id, a schedule that is made again replaces itself.
    async make(agent, { id = randomId("sch_"), ...schedule }, { signal } = {}) {
      const made = { body: { ...schedule, id }, signal };
      return (await requests.of(agent).ask("POST", "/schedules", made)).json as ScheduleSummary;
    },
    async change(place, change, given) {
      const path = schedulePath(place);
      if (change !== "remove")
        return (await requests.ask("POST", `${path}/${change}`, given)).json as ScheduleSummary;
      await requests.ask("DELETE", path, given);
      return undefined;
    },
    async run(place, { signal } = {}) {
      const query = { request_id: randomId("req_") };
      const { json } = await requests.ask("POST", `${schedulePath(place)}/run`, { query, signal });
      return (json as { readonly request_id: RequestId }).request_id;
    },
  };
}

function schedulePath({ run_id: runId, id }: Pick<ScheduleSummary, "run_id" | "id">): string {
  return `/runs/${encodeURIComponent(runId)}/schedules/${encodeURIComponent(id)}`;
}
