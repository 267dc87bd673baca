import type { AgentError } from "../../errors.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Client, RunClient } from "../client-api.ts";
import type { RunView } from "../../view/run-view.ts";
import { project } from "../../view/fold.ts";

/** The connection of a store. */
export interface Connection {
  /**
   * `idle`: there is no subscriber. `lost`: the server cannot be reached; reading continues when it can. `hidden`: the
   * page is hidden. `closed`: reading has ended with the store's error, or by `close`.
   */
  readonly state: "idle" | "connecting" | "live" | "lost" | "hidden" | "closed";
  /** When the state began, in milliseconds since 1970. */
  readonly since: number;
}

/** A run or request that is followed. It is connected while it has a subscriber. */
export interface RunStore {
  /** Calls the listener after each change; returns the end of the subscription. */
  subscribe(listener: () => void): () => void;
  /** The same object until the next change. */
  readonly view: RunView;
  /** The view as of an event. It takes the time of at most 2,000 events. */
  at(eventId: number): RunView;
  /** The events of the view. The list grows in place. */
  readonly events: readonly Event[];
  readonly connection: Connection;
  /** Why reading ended, or why the connection is lost. */
  readonly error: AgentError | undefined;
  /** Ends reading for good; the view stays. */
  close(): void;
}

/**
 * Follows a run or a request. Events are added to the view at most every 16 ms, so that a fast run does not redraw a
 * page for each event. After a lost connection it reads on after the newest event.
 */
export function createRunStore(client: Pick<Client, "run">, id: RunId | RequestId): RunStore {
  const run = client.run(id as RunId);
  return followStore((options) => run.follow(options));
}

/** A store of the run that is followed like this. */
export function followStore(follow: RunClient["follow"]): RunStore {
  return new FollowedRun(follow);
}

class FollowedRun implements RunStore {
  readonly #follow: RunClient["follow"];
  readonly #log: RunLog = new RunLog();
  readonly #listeners: Set<() => void> = new Set();
  #view: RunView = this.#log.view;
  #connection: Connection = { state: "idle", since: Date.now() };
  #error: AgentError | undefined;
  #reading: AbortController | undefined;
  #flush: ReturnType<typeof setTimeout> | undefined;

  constructor(follow: RunClient["follow"]) {
    this.#follow = follow;
  }

  get view(): RunView {
    return this.#view;
  }

  get events(): readonly Event[] {
    return this.#log.events;
  }

  get connection(): Connection {
    return this.#connection;
  }

  get error(): AgentError | undefined {
    return this.#error;
  }

  // A property, because React calls it without the store.
  readonly subscribe = (listener: () => void): (() => void) => {
    // The same listener can be given twice.
    const notify = (): void => listener();
    this.#listeners.add(notify);
    if (this.#reading === undefined && this.#connection.state !== "closed") this.#start();
    return () => {
      this.#listeners.delete(notify);
      if (this.#listeners.size === 0 && this.#connection.state !== "closed") this.#stop("idle");
    };
  };

  at(eventId: number): RunView {
    return this.#log.at(eventId);
  }

  close(): void {
    if (this.#connection.state !== "closed") this.#stop("closed");
  }

  #start(): void {
    const reading = new AbortController();
    this.#reading = reading;
    this.#connect("connecting");
    this.#read(reading.signal).catch((thrown: unknown) => {
      if (reading.signal.aborted) return;
      this.#error = thrown as AgentError;
      this.#stop("closed");
    });
  }

  async #read(signal: AbortSignal): Promise<void> {
    const after = this.#log.events.at(-1)?.id ?? 0;
    for await (const heard of this.#follow({ after, signal })) {
      // A batch can be on its way when the last subscriber leaves.
      if (signal.aborted) return;
      if (heard.type === "events") {
        for (const event of heard.events) this.#log.events.push(event);
        this.#flush ??= setTimeout(() => this.#show(), FLUSH_MS);
        continue;
      }
      this.#error = heard.type === "lost" ? heard.error : undefined;
      this.#connect(heard.type);
    }
    this.#stop("closed");
  }

  #stop(state: "idle" | "closed"): void {
    this.#reading?.abort();
    this.#reading = undefined;
    this.#connect(state);
  }

  #connect(state: Connection["state"]): void {
    if (state !== this.#connection.state) this.#connection = { state, since: Date.now() };
    this.#show();
  }

  /** Makes everything that was read visible. */
  #show(): void {
    clearTimeout(this.#flush);
    this.#flush = undefined;
    this.#view = this.#log.view;
    for (const listener of Array.from(this.#listeners)) {
      try {
        listener();
      } catch (thrown) {
        // Reported as an uncaught error; the other listeners and the reading do not depend on it.
        queueMicrotask(() => {
          throw thrown;
        });
      }
    }
  }
}

const FLUSH_MS = 16;

/** The events of a run that were read so far, with the view of each of them. */
class RunLog {
  /** All events, oldest first. The list grows in place, because a copy for each batch would take minutes. */
  readonly events: Event[] = [];
  /** The views after each 2,000 events. */
  readonly #checkpoints: RunView[] = [];
  #view: RunView = project([]);
  #folded = 0;
  /** The view of the last past event that was asked for. */
  #past: RunView | undefined;

  /** The view of all events. */
  get view(): RunView {
    const { events } = this;
    while (this.#folded < events.length) {
      const end = Math.min(events.length, (this.#checkpoints.length + 1) * CHECKPOINT);
      this.#view = project(events.slice(this.#folded, end), this.#view);
      this.#folded = end;
      if (end % CHECKPOINT === 0) this.#checkpoints.push(this.#view);
    }
    return this.#view;
  }

  /** The view of the events up to the one with this id. */
  at(eventId: number): RunView {
    const { view, events } = this;
    if (eventId >= view.head) return view;
    const checkpoint = this.#checkpoints.findLastIndex(({ head }) => head <= eventId);
    const start = (checkpoint + 1) * CHECKPOINT;
    const count = events.slice(start, start + CHECKPOINT).filter(({ id }) => id <= eventId).length;
    const newest = events[start + count - 1];
    if (this.#past === undefined || this.#past.head !== (newest?.id ?? 0))
      this.#past = project(events.slice(start, start + count), this.#checkpoints[checkpoint]);
    return this.#past;
  }
}

const CHECKPOINT = 2_000;
