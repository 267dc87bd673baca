import { AgentError } from "../../../errors.ts";
import { withPrefix } from "../../../http/messages/mount.ts";
import { idOf, typeOf } from "../../../protocol/events/encode.ts";
import type { EventType } from "../../../protocol/events/event-body.ts";
import type { RequestId, RunId } from "../../../protocol/ids.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { Address, Feed, FollowOptions } from "../../../runtime/feeds.ts";
import type { ResponseObject } from "../objects.ts";
import { Projection } from "./projection.ts";
import type { ProjectedResponse } from "./projection.ts";

/** A response, and the request that it belongs to. */
export interface ResponsePlace extends ProjectedResponse {
  readonly agent: string;
  readonly runId: RunId;
  readonly requestId: RequestId;
}

/** Opens the events of a request, by default all of them, until it ends or waits for an answer. */
export function followRequest(
  runtime: Runtime,
  { agent, runId, requestId }: ResponsePlace,
  { after = 0, seen = after, signal }: Pick<FollowOptions, "after" | "seen" | "signal"> = {},
): Promise<Feed> {
  const address: Address = { kind: "request", agent, runId, requestId };
  return runtime.follow(address, { after, seen, filter: { level: "all" }, ...(signal && { signal }) });
}

/** How a response is read. */
interface ReadResponseOptions extends Pick<ProjectedResponse, "components"> {
  /** The address below which the reader finds files. */
  readonly prefix: string;
  readonly signal?: AbortSignal;
}

/** Waits for the last object of a response; `unavailable` if the signal aborts first. */
export async function readResponse(
  runtime: Runtime,
  place: ResponsePlace,
  { prefix, components, signal }: ReadResponseOptions,
): Promise<ResponseObject> {
  const projection = new Projection({ ...place, components });
  const feed = await followRequest(runtime, place, signal && { signal });
  for await (const { events } of feed.pages) {
    for (const event of events) {
      const last = projection.take(withPrefix(event, prefix)).at(-1);
      if (projection.hasEnded && last?.object === "response") return last;
    }
  }
  if (signal?.aborted === true) throw new AgentError("unavailable", "the server is stopping");
  const last = projection.endAtWait().at(-1);
  if (last?.object === "response") return last;
  throw new AgentError("not_found", `request ${place.requestId} has no such response`);
}

/** The newest response of a request. */
export async function newestResponse(
  runtime: Runtime,
  place: Omit<ResponsePlace, "began">,
): Promise<ResponsePlace> {
  const { agent, runId, requestId } = place;
  let began: number | undefined;
  for (let after = 0, more = true; more;) {
    const address: Address = { kind: "request", agent, runId, requestId };
    const page = await runtime.read(address, { after, filter: { types: ["RequestStarted"] } });
    const begun = page.events.filter((text) => BEGINNINGS.has(typeOf(text))).at(-1);
    if (begun !== undefined) began = idOf(begun);
    after = page.cursor;
    more = page.more;
  }
  return { ...place, began };
}

/** The events that begin a response. */
const BEGINNINGS = new Set<EventType>(["RequestStarted", "ResumeWithInput", "WaitExpired"]);
