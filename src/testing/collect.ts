import type { Event } from "../protocol/events/events.ts";
import type { ResumeWithInput, TurnRequest } from "../protocol/requests/requests.ts";
import type { Runtime } from "../runtime/api.ts";

/**
 * Sends a request to an agent and collects the events: up to the end of the request, or until all its open
 * calls wait for their caller. For an answer to a wait, the events start with that answer.
 */
export async function collect(
  runtime: Runtime,
  agent: string,
  request: TurnRequest | ResumeWithInput,
): Promise<readonly Event[]> {
  const { requestId, after } = await runtime.process(agent, request);
  // Reads the current segment, not only new events, because an older open wait also ends the stream.
  const feed = await runtime.follow(await runtime.resolve(requestId), {});
  const events: Event[] = [];
  for await (const page of feed.pages) {
    for (const text of page.events) events.push(JSON.parse(text) as Event);
  }
  return events.filter((event) => event.id > after);
}
