import type { Feed, FeedReader, PageSink } from "../../runtime/feeds.ts";

/** A feed that its reader can end before its events do, for a wire that answers with a part of a turn. */
export class EndableFeed implements Feed {
  readonly #feed: Feed;
  #reader: FeedReader | undefined;

  constructor(feed: Feed) {
    this.#feed = feed;
  }

  get finished(): boolean {
    return this.#feed.finished;
  }

  get pages(): Feed["pages"] {
    return this.#feed.pages;
  }

  read(sink: PageSink): FeedReader {
    this.#reader = this.#feed.read(sink);
    return this.#reader;
  }

  /** Ends the feed after the page that is being sent. */
  end(): void {
    queueMicrotask(() => this.#reader?.stop());
  }
}
