import { depthOf, idOf, typeOf } from "../../protocol/events/encode.ts";
import type { Feed, FeedReader, PushedPage } from "../../runtime/feeds.ts";
import { toFeed } from "../../runtime/queries/to-feed.ts";

/** A feed of a request whose page with the end of the turn comes when `remember` has read the memory as of that event. */
export function withMemory(feed: Feed, remember: (at: number) => Promise<void>): Feed {
  return toFeed((sink) => {
    let isHeld = false;
    let isStopped = false;
    let end: { readonly error: unknown } | undefined;

    async function passOn(page: PushedPage, at: number): Promise<void> {
      let fault: unknown;
      try {
        await remember(at);
      } catch (thrown) {
        fault = thrown;
      }
      isHeld = false;
      if (fault !== undefined) {
        end = { error: fault };
        if (!isStopped) reader.stop();
        sink.end(fault);
        return;
      }
      const goesOn = !isStopped && sink.page(page);
      if (end !== undefined) sink.end(end.error);
      else if (goesOn) reader.resume();
    }

    const reader: FeedReader = feed.read({
      page(page) {
        const at = endIn(page);
        if (at === undefined) return sink.page(page);
        isHeld = true;
        void passOn(page, at);
        return false;
      },
      end(error) {
        if (end !== undefined) return;
        end = { error };
        if (!isHeld) sink.end(error);
      },
    });
    return {
      resume: () => reader.resume(),
      stop() {
        isStopped = true;
        reader.stop();
      },
    };
  }, feed.finished);
}

/** The id of the event in a page that ends the turn. */
function endIn({ events }: PushedPage): number | undefined {
  for (const item of events)
    if (typeof item === "string" && typeOf(item) === "RequestCompleted" && depthOf(item) === 0)
      return idOf(item);
  return undefined;
}
