import type { Event } from "../protocol/events.ts";
import type { ResumeWithInput, TurnRequest } from "../protocol/requests.ts";
import type { Runtime } from "../runtime/api.ts";

/**
 * Asks an agent and gathers the events of the answer: up to the end of the request, or to where
 * everything that it has open waits for its caller. Those of an answer to a wait start with that answer.
 */
export async function collect(
  runtime: Runtime,
  agent: string,
  request: TurnRequest | ResumeWithInput,
): Promise<readonly Event[]> {
  const { requestId, after } = await runtime.process(agent, request);
  // The current segment and not merely what is new, because an older wait that is still open ends the stream.
  const feed = await runtime.follow(await runtime.resolve(requestId), {});
  const events: Event[] = [];
  for await (const page of feed.pages) {
    for (const text of page.events) events.push(JSON.parse(text) as Event);
  }
  return events.filter((event) => event.id > after);
}
