import { setTimeout } from "node:timers/promises";
import { AgentError, isInstance } from "../errors.ts";
import type { Event } from "../protocol/events/events.ts";
import type { EventType } from "../protocol/events/event-body.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import { isObject } from "../protocol/json.ts";
import type { Json } from "../protocol/json.ts";
import type { Runtime } from "../runtime/api.ts";
import { backoffMs } from "../shared/backoff.ts";
import { LruMap } from "../shared/lru-map.ts";
import { forEachConcurrent } from "../shared/map-concurrent.ts";
import { sha256 } from "../shared/sha256.ts";
import { WEBHOOK_AGENT } from "../runtime/journal/system-runs.ts";
import { seenBy } from "./sender.ts";

/** A request to the agent of the webhooks. */
export interface Announcement {
  readonly operation: string;
  readonly input: Json;
  /** The key of the run of the deliveries. */
  readonly key: string;
  /** From what the id of the request follows. */
  readonly identity: string;
  /** Whose request it is. Default: that of the program that made the runtime. */
  readonly owner?: string;
}

/** The receivers, and the events that are announced to them. */
export interface AnnouncerOptions {
  /** The names of the receivers. */
  readonly names: readonly string[];
  readonly types: readonly EventType[];
  /** The requests to the agent of the webhooks that send an event of one of the types to a receiver. */
  readonly requestsFor: (name: string, agent: string, event: Event) => Promise<readonly Announcement[]>;
  /** The names of the receivers that may know of a run. */
  readonly seenBy: (runId: RunId) => Promise<readonly string[]>;
  readonly report: (where: string, thrown: unknown) => void;
}

/**
 * Makes a request to the agent of the webhooks for each event that a receiver wants: of many runs at once, of one run in the order of
 * its events. The id of the request follows from the event, so looking at a run again changes nothing. At the start it looks at
 * the runs that have changed in the day before the log was used last; what is older was announced.
 */
export class Announcer {
  readonly #runtime: Runtime;
  readonly #options: AnnouncerOptions;
  readonly #stopping = new AbortController();
  /** How far the events of a run were looked at for a receiver, by the key of the run of its deliveries. */
  readonly #seen = new LruMap<string, number>(SEEN_LIMIT);
  /** The runs to look at, in the order in which they changed. */
  readonly #changed = new Set<RunId>();
  /** The runs that are looked at. */
  readonly #working = new Map<RunId, Promise<void>>();
  /** How often in succession a run could not be announced. */
  readonly #failures = new Map<RunId, number>();
  /** The time of the first start with a receiver, by its name. */
  readonly #started = new Map<string, number>();
  /** What has changed before was noted. */
  #notedTo: number | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime, options: AnnouncerOptions) {
    this.#runtime = runtime;
    this.#options = options;
  }

  /** Begins; events from the first start on with a receiver are announced to it. */
  async start(): Promise<void> {
    await forEachConcurrent(this.#options.names, AT_ONCE, async (name) => {
      // The first start creates the run, and every later one finds it.
      const runId = await this.#runtime.createRun(WEBHOOK_AGENT, { key: name });
      this.#started.set(name, Date.parse((await this.#runtime.run(runId)).created_at));
    });
    this.#following = this.#follow();
  }

  /** Stops; what is not announced yet is at the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled([this.#following, ...this.#working.values()]);
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const feed = this.#runtime.watchRuns({ limit: 1, signal });
        // Between the beginning of the feed and the look back nothing can be missed.
        const pages = feed.pages[Symbol.asyncIterator]();
        const first = pages.next();
        await this.#lookBack();
        for (let page = await first; page.done !== true; page = await pages.next()) {
          for (const text of page.value.events) this.#note(JSON.parse(text) as unknown);
          await this.#room();
        }
      } catch (thrown) {
        if (!signal.aborted) this.#options.report("webhooks cannot follow the runs", thrown);
      }
      await pause(AGAIN_MS, signal);
    }
  }

  /**
   * Looks at the runs that have changed since the last look. At the first one, and after the clock was set back, it looks at those since a
   * day before the newest change.
   */
  async #lookBack(): Promise<void> {
    const now = Date.now();
    let cursor: string | undefined;
    let newest: number | undefined;
    if (this.#notedTo !== undefined && this.#notedTo > now) this.#notedTo = undefined;
    do {
      const page = await this.#runtime.runs({ limit: 100, ...(cursor !== undefined && { cursor }) });
      cursor = page.next;
      for (const run of page.runs) {
        const updated = Date.parse(run.updated_at);
        // A change in the future was noted before the clock was set back.
        newest ??= Math.min(updated, now);
        if (updated < (this.#notedTo ?? newest - LOOK_BACK_MS)) {
          cursor = undefined;
          break;
        }
        this.#note(run);
      }
      await this.#room();
      if (this.#stopping.signal.aborted) return;
    } while (cursor !== undefined);
    if (newest !== undefined) this.#notedTo = newest - CLOCKS_MS;
  }

  #note(row: unknown): void {
    if (!isObject(row) || row["agent"] === WEBHOOK_AGENT || row["removed"] === true) return;
    const { run_id: runId } = row;
    if (typeof runId !== "string") return;
    this.#changed.add(runId);
    this.#work();
  }

  /** Waits until there is room for further runs. */
  async #room(): Promise<void> {
    while (this.#changed.size >= CHANGED_LIMIT && !this.#stopping.signal.aborted)
      await Promise.race(this.#working.values());
  }

  /** Begins to look at runs, until enough of them are. */
  #work(): void {
    for (const runId of this.#changed) {
      if (this.#working.size >= AT_ONCE || this.#stopping.signal.aborted) return;
      // It is looked at again when this look has ended.
      if (this.#working.has(runId)) continue;
      this.#changed.delete(runId);
      const looking = this.#look(runId).then(() => {
        this.#working.delete(runId);
        this.#work();
      });
      this.#working.set(runId, looking);
    }
  }

  /** Announces a run; if that fails, again after a pause. Never rejects. */
  async #look(runId: RunId): Promise<void> {
    const { signal } = this.#stopping;
    try {
      await this.#announce(runId);
      this.#failures.delete(runId);
    } catch (thrown) {
      const failures = this.#failures.get(runId) ?? 0;
      this.#failures.delete(runId);
      if (isGone(thrown) || signal.aborted) return;
      // The mailbox of a delivery is full while its receiver is away.
      const isExpected = isInstance(thrown, AgentError) && thrown.code === "overloaded";
      if (failures === 0 && !isExpected) this.#options.report("webhooks cannot be announced", thrown);
      this.#failures.set(runId, failures + 1);
      void pause(backoffMs({ firstMs: AGAIN_MS, mostMs: MOST_MS }, failures), signal).then(() => {
        this.#changed.add(runId);
        this.#work();
      });
    }
  }

  /** Makes the requests for a run. One that fails for a receiver keeps nothing from the others. */
  async #announce(runId: RunId): Promise<void> {
    const { agent } = await this.#runtime.run(runId);
    const failures: unknown[] = [];
    for (const name of await this.#options.seenBy(runId))
      await this.#announceTo(name, runId, agent).catch((thrown: unknown) => failures.push(thrown));
    if (failures.length > 0) throw failures[0];
  }

  /** Makes the requests for the events of a run that a receiver wants and that were not looked at yet. */
  async #announceTo(name: string, runId: RunId, agent: string): Promise<void> {
    const { types, requestsFor } = this.#options;
    const since = this.#since(name);
    const delivery = `${name}:${runId}`;
    for (let after = this.#seen.get(delivery) ?? 0; ;) {
      const page = await this.#runtime.read(
        { kind: "run", runId, agent },
        { after, filter: { types, level: "all" } },
      );
      for (const text of page.events) {
        const event = JSON.parse(text) as Event;
        // A page of all levels also has events of other types, from calls inside a turn.
        if (types.includes(event.type) && Date.parse(event.ts) >= since)
          for (const made of await requestsFor(name, agent, event)) await this.#request(made);
        // What was requested is not requested again when a later request fails.
        this.#seen.set(delivery, event.id);
      }
      after = page.cursor;
      this.#seen.set(delivery, after);
      if (!page.more) return;
    }
  }

  /**
   * From when on events are announced to a receiver: from its first start on. If that is in the future, the clock was set back since, and
   * new events are older than it; then those of the last day are announced. The clock of another node may be ahead by a little.
   */
  #since(name: string): number {
    const started = this.#started.get(name) ?? 0;
    const now = Date.now();
    return started > now + CLOCKS_MS ? now - LOOK_BACK_MS : started;
  }

  async #request({ operation, input, key, identity, owner }: Announcement): Promise<void> {
    await seenBy(this.#runtime, owner).process(WEBHOOK_AGENT, {
      type: "OperationRequest",
      operation,
      input,
      key,
      request_id: `hook.${await sha256(identity)}` as RequestId,
    });
  }
}

const SEEN_LIMIT = 10_000;
const CHANGED_LIMIT = 10_000;
/** The runs that are looked at together: their requests share commits. */
const AT_ONCE = 32;
/** The pause after a failure, doubled for each further one of the same run, up to the longest. */
const AGAIN_MS = 1_000;
const MOST_MS = 60_000;
const LOOK_BACK_MS = 86_400_000;
/** How much the clocks of nodes may differ. */
const CLOCKS_MS = 60_000;

/** A run that was removed has nothing to announce. */
function isGone(thrown: unknown): boolean {
  return isInstance(thrown, AgentError) && (thrown.code === "gone" || thrown.code === "not_found");
}

/** Waits; ends early when the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
