import { toEncoded } from "../../protocol/events/texts.ts";
import type { Feed, FeedPage, FeedReader, PageSink, PushedPage } from "../feeds.ts";

/** A stream that `read` starts a reader of. */
export function toFeed(read: Feed["read"], finished: boolean): Feed {
  return { finished, read, pages: { [Symbol.asyncIterator]: () => toPages(read) } };
}

/** Reads a stream as an iterable: one page at a time, each on request. */
async function* toPages(read: (sink: PageSink) => FeedReader): AsyncGenerator<FeedPage, void> {
  let page: PushedPage | undefined;
  let ended: { readonly error: unknown } | undefined;
  let arrived = Promise.withResolvers<void>();
  const reader = read({
    page(next) {
      page = next;
      arrived.resolve();
      return false;
    },
    end(error) {
      ended = { error };
      arrived.resolve();
    },
  });
  try {
    for (;;) {
      await arrived.promise;
      if (page !== undefined) {
        const next = page;
        page = undefined;
        if (ended === undefined) arrived = Promise.withResolvers();
        yield { ...next, events: toEncoded(next.events) };
        reader.resume();
      } else if (ended !== undefined) {
        if (ended.error !== undefined) throw toError(ended.error);
        return;
      }
    }
  } finally {
    reader.stop();
  }
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
