import type { Event } from "../../protocol/events/events.ts";
import type { RunView } from "../../view/run-view.ts";

/** The view of the events in `pages`, which follow those of `from`. */
export async function viewOf(pages: AsyncIterable<readonly Event[]>, from?: RunView): Promise<RunView> {
  // Loaded when it is needed, because most pages await calls and follow runs with a store.
  const { project } = await import("../../view/fold.ts");
  let view = from ?? project([]);
  for await (const events of pages) view = project(events, view);
  return view;
}
