import type { EventLog } from "../../ports/event-log.ts";
import { depthOf, idOf, requestIdOf, typeOf } from "../../protocol/encode.ts";
import type { Address, EventPage, FeedPage } from "../api.ts";
import type { Wanted } from "./event-filter.ts";

/** Which events to follow, and how far. */
export interface FollowRange {
  readonly after: number;
  readonly wanted: Wanted | undefined;
  /** Stay open across waits and turns. */
  readonly forever: boolean;
  readonly signal: AbortSignal | undefined;
}

/** A poll's page, unless it asks for less. */
const PAGE = { limit: 1_000, limitBytes: 1_048_576 };

/** A stream's page: what a reader that stops reading holds of the log. */
const STREAM_PAGE = { limit: 1_000, limitBytes: 262_144 };

/** Reads one page of a run's log, and leaves out what the reader does not want. */
export async function readPage(
  log: EventLog,
  address: Address,
  {
    after,
    wanted,
    ...limits
  }: {
    readonly after: number;
    readonly wanted: Wanted | undefined;
    readonly limit?: number;
    readonly limitBytes?: number;
  },
): Promise<EventPage> {
  const { events, head } = await log.read(address.runId, { after, ...PAGE, ...limits });
  const cursor = after + events.length;
  return { events: wanted ? events.filter(wanted) : events, cursor, more: cursor < head };
}

/**
 * Follows a run's log: reads everything there is after a cursor, hands it over, then waits to be
 * woken. Live and replayed events come the same way, and a slow reader costs nothing but its cursor.
 */
export async function* follow(
  log: EventLog,
  address: Address,
  range: FollowRange,
): AsyncGenerator<FeedPage, void> {
  const { forever, signal, wanted } = range;
  const { limit, limitBytes } = STREAM_PAGE;
  const end = forever ? undefined : new StreamEnd(log, address);
  const bell = new Bell();
  const stopTail = log.tail(address.runId, bell.ring);
  signal?.addEventListener("abort", bell.ring);
  try {
    for (let after = range.after; signal?.aborted !== true;) {
      bell.reset();
      const { events: all, head } = await log.read(address.runId, { after, limit, limitBytes });
      // A run that has less than it had was removed.
      if (head < after || (head === 0 && (await isRemoved(log, address)))) return;
      after += all.length;
      // Mostly all of a page is wanted, and then it is handed on as it is.
      const events = wanted === undefined || all.every(wanted) ? all : all.filter(wanted);
      end?.saw(events);
      // A page of which nothing is wanted moves the reader's cursor all the same.
      const last = end?.sure === true;
      if (all.length > 0) yield { events, cursor: after, more: after < head, last };
      if (last) return;
      if (after < head) continue;
      // What was appended while asking may be more to deliver.
      if (end?.mayBeReached === true && (await end.reached()) && !bell.wasRung) return;
      if (!bell.wasRung) await bell.rung;
    }
  } finally {
    stopTail();
    signal?.removeEventListener("abort", bell.ring);
  }
}

/** A run without events may be one that was removed before the reader had read anything. */
async function isRemoved(log: EventLog, { runId }: Address): Promise<boolean> {
  return (await log.run(runId))?.removed === true;
}

/** Tells when a stream has delivered all that there will be before its caller is to act. */
class StreamEnd {
  readonly #log: EventLog;
  readonly #address: Address;
  /** The waits that this stream has delivered and that no answer delivered since has closed. */
  readonly #waits = new Set<number>();
  /** Whether the request's own end was delivered. */
  #completed = false;
  /** Whether a run may be idle: it is asked at the beginning and after every turn. */
  #mayBeIdle = true;

  constructor(log: EventLog, address: Address) {
    this.#log = log;
    this.#address = address;
  }

  /** Whether the end is certain without asking. */
  get sure(): boolean {
    return this.#completed;
  }

  /** Takes note of what was delivered. */
  saw(events: readonly string[]): void {
    for (const text of events) {
      switch (typeOf(text)) {
        case "WaitForInput":
          this.#waits.add(idOf(text));
          break;
        case "ResumeWithInput":
          this.#waits.delete((JSON.parse(text) as { readonly wait_id: number }).wait_id);
          break;
        case "RequestStarted":
          this.#mayBeIdle = false;
          break;
        case "RequestCompleted":
          if (depthOf(text) === 0) this.#sawEnd(requestIdOf(text));
          break;
        default:
          break;
      }
    }
  }

  /** Whether it is worth asking: most of the time a stream is in the middle of a turn. */
  get mayBeReached(): boolean {
    return this.#waits.size > 0 || (this.#address.kind === "run" && this.#mayBeIdle);
  }

  /** Asks, with everything delivered, whether there is nothing more to wait for. */
  async reached(): Promise<boolean> {
    const { kind, runId } = this.#address;
    if (kind === "run") {
      const run = await this.#log.run(runId);
      if (run === undefined || run.removed === true || run.status === "idle") return true;
      return this.#waits.size > 0 && run.status === "waiting";
    }
    const entry = await this.#log.lookup(this.#address.requestId);
    return entry === undefined || entry.phase === "waiting" || entry.phase === "completed";
  }

  #sawEnd(requestId: string | null): void {
    this.#mayBeIdle = true;
    this.#waits.clear();
    if (this.#address.kind === "request" && this.#address.requestId === requestId) this.#completed = true;
  }
}

/** Remembers that it was rung, so that nothing is missed between reading and waiting. */
class Bell {
  #rung = false;
  #resolve: (() => void) | undefined;

  readonly ring = (): void => {
    this.#rung = true;
    this.#resolve?.();
    this.#resolve = undefined;
  };

  get wasRung(): boolean {
    return this.#rung;
  }

  /** Resolves when it is rung, or was since the last reset. */
  get rung(): Promise<void> {
    if (this.#rung) return RESOLVED;
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  reset(): void {
    this.#rung = false;
  }
}

const RESOLVED = Promise.resolve();
