import type { FeedPage } from "../../runtime/api.ts";
import type { Pipe } from "./pipe.ts";
import { RETRY, toFrame, toHeartbeat } from "./format.ts";

/** When a stream says that it is alive, and when it gives up on its reader. */
export interface StreamTimes {
  readonly heartbeatMs: number;
  readonly stallMs: number;
}

/** Where a stream begins and when it ends. */
export interface StreamSpan {
  /** The reader's place in the log, where that is known. */
  readonly after: number | undefined;
  /** When its reader has to open it anew, in milliseconds of `performance.now`. */
  readonly endsAt: number;
}

/**
 * One reader's stream of events. It takes a page from the log only when the page before has gone out, so
 * a reader that is slow, or stops, costs its place in the log and the text under way.
 */
export class Stream {
  readonly #pipe: Pipe;
  readonly #stop: () => void;
  readonly #times: StreamTimes;
  readonly #endsAt: number;
  /** The reader's place in the log; may be unknown before the first page. */
  #cursor: number | undefined;
  #quietSince: number = performance.now();
  #isOpen = false;
  /** Whether the reader has not taken all that was written. */
  #isBehind = false;
  #isLeaving = false;

  constructor(pipe: Pipe, stop: () => void, times: StreamTimes, { after, endsAt }: StreamSpan) {
    this.#pipe = pipe;
    this.#stop = stop;
    this.#times = times;
    this.#cursor = after;
    this.#endsAt = endsAt;
  }

  /** Writes all pages, each at once and in one piece, then ends the answer. */
  async run(pages: AsyncIterable<FeedPage>): Promise<void> {
    let ending = "";
    try {
      for await (const { events, cursor, last } of pages) {
        let text = "";
        for (const event of events) {
          text += toFrame(event);
          if (text.length < PIECE) continue;
          if (!this.#write(text)) await this.#drained();
          text = "";
        }
        // The last events go with the end of the answer.
        if (last) ending = text;
        else if (text !== "" && !this.#write(text)) await this.#drained();
        this.#cursor = cursor;
      }
    } finally {
      this.#pipe.end(this.#withOpening(this.#isLeaving ? ending + RETRY : ending));
    }
  }

  /** Sends the head of the answer and the opening of the stream, if nothing was sent yet. */
  open(): void {
    if (!this.#isOpen) this.#write("");
  }

  /** Does what is due; called every now and then. */
  tick(now: number): void {
    const { heartbeatMs, stallMs } = this.#times;
    const quietMs = now - this.#quietSince;
    if (this.#isBehind) {
      if (quietMs >= stallMs) this.#pipe.cut();
    } else if (now >= this.#endsAt) {
      this.leave();
    } else if (quietMs >= heartbeatMs && !this.#isLeaving) {
      this.#write(toHeartbeat(this.#cursor));
    }
  }

  /** Ends the stream before its time; the reader is asked to come back. */
  leave(): void {
    this.#isLeaving = true;
    this.#stop();
  }

  #write(text: string): boolean {
    this.#quietSince = performance.now();
    return this.#pipe.write(this.#withOpening(text));
  }

  /** What is sent first begins with the opening. */
  #withOpening(text: string): string {
    if (this.#isOpen) return text;
    this.#isOpen = true;
    return RETRY + text;
  }

  async #drained(): Promise<void> {
    this.#isBehind = true;
    await this.#pipe.drained();
    this.#isBehind = false;
  }
}

/** How much text goes out at a time: what a reader that stops may cost. */
const PIECE = 65_536;
