import type { Event, Runtime } from "troupe";

/** The events of a request or a run, as a caller reads them. */
export async function eventsOf(runtime: Runtime, id: string): Promise<readonly Event[]> {
  const { events } = await runtime.read(await runtime.resolve(id), { after: 0 });
  return events.map((text) => JSON.parse(text) as Event);
}
