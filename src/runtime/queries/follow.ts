import { ownerOf } from "../../ports/principal.ts";
import { checkReadable } from "../../ports/encryption.ts";
import type { EventLog, Page } from "../../ports/event-log.ts";
import { depthOf, idOf, requestIdOf, typeOf } from "../../protocol/events/encode.ts";
import { toEncoded } from "../../protocol/events/texts.ts";
import type { LoggedEvents } from "../../protocol/events/texts.ts";
import type { Address, Feed, FeedReader, PageSink } from "../feeds.ts";
import type { EventSelector } from "./event-filter.ts";
import { toShown } from "../replay/beginning.ts";
import { toLost } from "./lost-events.ts";
import type { ReaderSweep, SweptReader } from "./reader-sweep.ts";
import { toFeed } from "./to-feed.ts";

/** The events to follow. */
export interface FollowRange {
  readonly log: EventLog;
  readonly address: Address;
  /** The start of reading. */
  readonly after: number;
  /** Events with an id up to this one are read, because the end of the stream depends on them, but not passed on. */
  readonly shownAfter: number;
  readonly wanted: EventSelector | undefined;
  /** Stay open across waits and turns. */
  readonly forever: boolean;
  readonly signal: AbortSignal | undefined;
  /** Set for a log whose wakes may be lost. */
  readonly readerSweep: ReaderSweep | undefined;
}

/** The size of a page, which is the most that a stopped reader holds. */
const PAGE = { limit: 1_000, limitBytes: 65_536 };

/** Follows a run's log after a cursor. */
export function follow(range: FollowRange, finished: boolean): Feed {
  return toFeed((sink) => {
    const reader = new LogReader(range, sink);
    reader.start();
    return reader;
  }, finished);
}

/**
 * Reads everything after a cursor, passes it to a sink page by page, then waits for a wake of the log. Live
 * and replayed events take the same path. A slow sink costs one page and its cursor.
 */
class LogReader implements FeedReader {
  readonly #range: FollowRange;
  readonly #sink: PageSink;
  readonly #end: StreamEnd | undefined;
  #after: number;
  /** How many events the log has shown to this reader. It may start after events that are not acknowledged yet. */
  #head = 0;
  /** Whether a step of the reader is running. */
  #isBusy = false;
  /** Whether the log was appended to since the newest read began. */
  #wasWoken = false;
  /** Whether the sink accepts no pages now. */
  #isPaused = false;
  #hasEnded = false;
  #stopTail: (() => void) | undefined;
  #swept: SweptReader | undefined;

  constructor(range: FollowRange, sink: PageSink) {
    const { log, address, after, forever } = range;
    this.#range = range;
    this.#sink = sink;
    this.#after = after;
    this.#end = forever ? undefined : new StreamEnd(log, address);
  }

  start(): void {
    const { log, address, signal, readerSweep } = this.#range;
    if (signal?.aborted === true) {
      this.stop();
      return;
    }
    signal?.addEventListener("abort", this.stop);
    this.#stopTail = log.tail(address.runId, this.wake);
    this.#swept = readerSweep?.add(this.wake);
    this.wake();
  }

  resume(): void {
    this.#isPaused = false;
    this.wake();
  }

  readonly stop = (): void => this.#close();

  /** Continues reading; called after each append to the run. */
  readonly wake = (): void => {
    this.#wasWoken = true;
    if (this.#isBusy || this.#isPaused || this.#hasEnded) return;
    this.#isBusy = true;
    this.#read();
  };

  /** Reads pages until there is nothing more now. */
  #read(): void {
    const { log, address } = this.#range;
    try {
      for (let more = true; more;) {
        this.#wasWoken = false;
        const page = log.read(address.runId, { after: this.#after, ...PAGE });
        if (page instanceof Promise) {
          page.then(this.#readOn, this.#fail);
          return;
        }
        more = this.#take(page);
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly #readOn = (page: Page): void => {
    try {
      if (this.#take(page)) this.#read();
    } catch (error) {
      this.#fail(error);
    }
  };

  readonly #fail = (error: unknown): void => this.#close(error);

  /** Passes a page to the sink. Returns whether to read the next one at once. */
  #take(page: Page): boolean {
    if (this.#hasEnded) return false;
    checkReadable(this.#range.address.runId, page.events[0]);
    const { head } = page;
    if (head < this.#after) return this.#ask(this.#isRemovedBefore(head));
    this.#head = head;
    const { wanted, shownAfter } = this.#range;
    const isHiding = this.#after < shownAfter;
    const { events: all, cursor } = toShown(page, this.#after);
    this.#after = cursor;
    // Usually the whole page passes, and then it is not copied.
    const events = wanted === undefined || all.every(wanted) ? all : all.filter(wanted);
    this.#end?.saw(events);
    const last = this.#end?.sure === true;
    const more = this.#after < head;
    // A page without wanted events still advances the reader's cursor.
    if (this.#after > shownAfter && (all.length > 0 || page.base !== undefined)) {
      const shown = isHiding ? toEncoded(events).filter((text) => idOf(text) > shownAfter) : events;
      this.#isPaused = !this.#sink.page({ events: shown, cursor: this.#after, more, last });
    }
    if (last) return this.#finish();
    // The sink may have stopped the reader.
    if (this.#isPaused || this.#hasEnded) return this.#awaitWake();
    if (more) return true;
    // A run without events may have been removed before anything was read.
    if (head === 0) return this.#ask(this.#isRemoved());
    if (this.#end?.mayBeReached === true) return this.#ask(this.#end.reached());
    return this.#awaitWake();
  }

  /** Ends the stream if the answer is yes and nothing was appended in the meantime. */
  #ask(isOver: Promise<boolean>): boolean {
    isOver
      .then((yes) => {
        if (yes && !this.#wasWoken) this.#finish();
        else if (this.#awaitWake()) this.#read();
      })
      .catch(this.#fail);
    return false;
  }

  /**
   * Waits for the next wake. Returns whether to continue reading instead, because a wake has already come.
   */
  #awaitWake(): boolean {
    if (this.#wasWoken && !this.#isPaused && !this.#hasEnded) return true;
    this.#isBusy = false;
    return false;
  }

  /** Whether a run that has fewer events than the reader asks for was removed. Throws if the log has lost some. */
  async #isRemovedBefore(head: number): Promise<boolean> {
    const { log, address } = this.#range;
    if ((await log.run(address.runId))?.removed === true) return true;
    if (head >= this.#head) return false;
    throw toLost(address.runId, head, this.#after);
  }

  async #isRemoved(): Promise<boolean> {
    const { log, address } = this.#range;
    if ((await log.run(address.runId))?.removed === true) return true;
    return this.#end?.mayBeReached === true && this.#end.reached();
  }

  #finish(): false {
    this.#close();
    return false;
  }

  #close(error?: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#stopTail?.();
    this.#range.signal?.removeEventListener("abort", this.stop);
    if (this.#swept) this.#range.readerSweep?.remove(this.#swept);
    this.#sink.end(error);
  }
}

/** Detects when a stream has delivered everything until its caller must act. */
class StreamEnd {
  readonly #log: EventLog;
  readonly #address: Address;
  /** The delivered waits without a delivered answer, with their requests. */
  readonly #waits = new Map<number, string | null>();
  /** Whether the end of the request was delivered. */
  #completed = false;
  /** Whether a run may be idle: checked at the start and after every turn. */
  #mayBeIdle = true;

  constructor(log: EventLog, address: Address) {
    this.#log = log;
    this.#address = address;
  }

  /** Whether the stream is over for certain, without a look at the status of the run. */
  get sure(): boolean {
    return this.#completed;
  }

  /** Registers delivered events. */
  saw(events: LoggedEvents): void {
    for (const text of events) {
      if (typeof text !== "string") continue;
      switch (typeOf(text)) {
        case "WaitForInput":
          this.#waits.set(idOf(text), requestIdOf(text));
          break;
        case "ResumeWithInput":
        case "WaitExpired":
          this.#waits.delete((JSON.parse(text) as { readonly wait_id: number }).wait_id);
          break;
        case "RequestStarted":
          this.#mayBeIdle = false;
          break;
        case "MessageReceived":
          if (this.#address.kind === "request" && this.#address.messageEvent === idOf(text))
            this.#completed = true;
          break;
        case "RequestCompleted":
          if (depthOf(text) === 0) this.#sawEnd(requestIdOf(text));
          break;
        default:
          break;
      }
    }
  }

  /** Whether a check is useful: most of the time a stream is in the middle of a turn. */
  get mayBeReached(): boolean {
    return this.#waits.size > 0 || (this.#address.kind === "run" && this.#mayBeIdle);
  }

  /** Checks whether everything is delivered and there is nothing more to wait for. */
  async reached(): Promise<boolean> {
    const { kind, runId } = this.#address;
    if (kind === "run") {
      const run = await this.#log.run(runId);
      if (run === undefined || run.removed === true || run.status === "idle") return true;
      return this.#waits.size > 0 && (run.status === "waiting" || run.status === "held");
    }
    const entry = await this.#log.lookup(this.#address.requestId, ownerOf(this.#address));
    // A request that is held takes answers, too.
    if (entry?.phase === "held") return this.#waits.size > 0;
    return entry === undefined || entry.phase === "waiting" || entry.phase === "completed";
  }

  #sawEnd(requestId: string | null): void {
    this.#mayBeIdle = true;
    // A request can end inside the turn of another one, whose waits stay open.
    for (const [waitId, of] of this.#waits) if (of === requestId) this.#waits.delete(waitId);
    if (this.#address.kind === "request" && this.#address.requestId === requestId) this.#completed = true;
  }
}
