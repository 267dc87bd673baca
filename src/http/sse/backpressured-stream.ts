import { encodeTexts } from "../../protocol/events/texts.ts";
import type { Texts } from "../../protocol/events/texts.ts";
import type { Feed, FeedReader, PageSink, PushedPage } from "../../runtime/feeds.ts";
import type { ResponseWriter } from "./response-writer.ts";
import type { StreamFormat } from "./format.ts";

/** Times for heartbeats and slow readers. */
export interface StreamTimes {
  readonly heartbeatMs: number;
  readonly stallMs: number;
}

/** The start and end of a stream. */
export interface StreamSpan {
  /** The reader's position in the log, if known. */
  readonly after: number | undefined;
  /** When its reader must reconnect, in milliseconds of `performance.now`. */
  readonly endsAt: number;
  readonly format: StreamFormat;
}

/**
 * One reader's stream of events, with backpressure: it takes the next page only when the previous one has left the
 * process, so a reader that is slow or has stopped costs one page and its cursor.
 */
export class BackpressuredStream implements PageSink {
  readonly #writer: ResponseWriter;
  readonly #stop: () => void;
  readonly #times: StreamTimes;
  readonly #endsAt: number;
  readonly #format: StreamFormat;
  /** The reader's position in the log; may be unknown before the first page. */
  #cursor: number | undefined;
  #quietSince: number = performance.now();
  #isOpen = false;
  /** Whether the reader has not yet accepted all written data. */
  #isBehind = false;
  #isLeaving = false;
  #reader: FeedReader | undefined;
  /** The last events, which are sent with the end of the answer. */
  #ending = "";
  #ended: ((error: unknown) => void) | undefined;

  constructor(
    writer: ResponseWriter,
    stop: () => void,
    times: StreamTimes,
    { after, endsAt, format }: StreamSpan,
  ) {
    this.#writer = writer;
    this.#stop = stop;
    this.#times = times;
    this.#cursor = after;
    this.#endsAt = endsAt;
    this.#format = format;
  }

  /** Starts to send a feed. `ended` is called once, when the answer has ended. */
  start(feed: Feed, ended: (error: unknown) => void): void {
    this.#ended = ended;
    this.#reader = feed.read(this);
  }

  /** Writes a page in one piece. */
  page({ events, cursor, last }: PushedPage): boolean {
    let text = "";
    for (const item of events)
      text += typeof item === "string" ? this.#format.event(item) : this.#toText(item);
    this.#cursor = cursor;
    if (last) {
      this.#ending = text;
      return true;
    }
    if (this.#format.hasEnded === true) {
      this.#ending = text;
      // A first page can come before its reader is known.
      queueMicrotask(() => this.#reader?.stop());
      return false;
    }
    if (text === "" || this.#write(text)) return true;
    this.#isBehind = true;
    void this.#writer.drained().then(this.#resume);
    return false;
  }

  /** Ends the answer. */
  end(error?: unknown): void {
    let fault = error;
    const leaves = this.#isLeaving || error !== undefined;
    try {
      this.#ending += this.#format.end(leaves);
    } catch (thrown) {
      fault ??= thrown;
    }
    if (leaves && this.#format.breaks === true) this.#writer.cut();
    else this.#writer.end(this.#withOpening(this.#ending));
    this.#ended?.(fault);
  }

  /** Sends the headers and the opening of the stream, if nothing was sent yet. */
  open(): void {
    if (!this.#isOpen) this.#write("");
  }

  /** Does periodic work. */
  tick(now: number): void {
    const { heartbeatMs, stallMs } = this.#times;
    const quietMs = now - this.#quietSince;
    if (this.#isBehind) {
      if (quietMs >= stallMs) this.#writer.cut();
    } else if (now >= this.#endsAt) {
      this.leave();
    } else if (quietMs >= heartbeatMs && !this.#isLeaving) {
      this.#write(this.#format.heartbeat(this.#cursor));
    }
  }

  /** Ends the stream early; its format tells the reader to reconnect. */
  leave(): void {
    this.#isLeaving = true;
    this.#stop();
  }

  /** Ends the stream because its reader may no longer read; one that accepts nothing is disconnected. */
  shut(): void {
    if (this.#isBehind) this.#writer.cut();
    else this.leave();
  }

  #toText(texts: Texts): string {
    const format = this.#format;
    if (format.texts !== undefined) return format.texts(texts);
    let text = "";
    for (const event of encodeTexts(texts)) text += format.event(event);
    return text;
  }

  #write(text: string): boolean {
    this.#quietSince = performance.now();
    return this.#writer.write(this.#withOpening(text));
  }

  /** Adds the opening to the first text. */
  #withOpening(text: string): string {
    if (this.#isOpen) return text;
    this.#isOpen = true;
    return this.#format.opening + text;
  }

  readonly #resume = (): void => {
    this.#isBehind = false;
    this.#reader?.resume();
  };
}
