import { setTimeout } from "node:timers/promises";
import { AgentError, isInstance } from "../errors.ts";
import type { Event } from "../protocol/events/events.ts";
import type { EventType } from "../protocol/events/event-body.ts";
import type { RequestId, RunId } from "../protocol/ids.ts";
import { isObject } from "../protocol/json.ts";
import type { Runtime } from "../runtime/api.ts";
import { LruMap } from "../shared/lru-map.ts";
import { sha256 } from "../shared/sha256.ts";

/** The receivers, and the events that are announced to them. */
export interface AnnouncerOptions {
  /** The names of the receivers. */
  readonly names: readonly string[];
  readonly types: readonly EventType[];
  readonly wants: (name: string, agent: string, event: Event) => boolean;
  /** Whether a receiver may know of a run. */
  readonly sees: (name: string, runId: RunId) => Promise<boolean>;
  readonly report: (where: string, thrown: unknown) => void;
}

/**
 * Makes a request to the agent of the webhooks for each event that a receiver wants. The id of the request follows from the
 * event, so looking at a run again changes nothing. At the start it looks at the runs that have changed in the day before the
 * log was used last; what is older was announced.
 */
export class Announcer {
  readonly #runtime: Runtime;
  readonly #options: AnnouncerOptions;
  readonly #stopping = new AbortController();
  /** How far the events of a run were looked at. */
  readonly #seen = new LruMap<RunId, number>(SEEN_LIMIT);
  /** The runs to look at, in the order in which they changed. */
  readonly #changed = new Set<RunId>();
  /** From when on events are announced to a receiver, by its name. */
  readonly #since = new Map<string, number>();
  #working: Promise<void> | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(runtime: Runtime, options: AnnouncerOptions) {
    this.#runtime = runtime;
    this.#options = options;
  }

  /** Begins; events from the first start on with a receiver are announced to it. */
  async start(): Promise<void> {
    for (const name of this.#options.names) {
      // The first start creates the run, and every later one finds it.
      const runId = await this.#runtime.createRun(WEBHOOK_AGENT, { key: name });
      this.#since.set(name, Date.parse((await this.#runtime.run(runId)).created_at));
    }
    this.#following = this.#follow();
  }

  /** Stops; what is not announced yet is at the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled([this.#following, this.#working]);
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
        }
      } catch (thrown) {
        if (!signal.aborted) this.#options.report("webhooks cannot follow the runs", thrown);
      }
      await pause(AGAIN_MS, signal);
    }
  }

  /** Looks at the runs that have changed since a day before the newest change. */
  async #lookBack(): Promise<void> {
    let cursor: string | undefined;
    let oldest: number | undefined;
    do {
      const page = await this.#runtime.runs({ limit: 100, ...(cursor !== undefined && { cursor }) });
      for (const run of page.runs) {
        const updated = Date.parse(run.updated_at);
        oldest ??= updated - LOOK_BACK_MS;
        if (updated < oldest || this.#stopping.signal.aborted) return;
        this.#note(run);
      }
      cursor = page.next;
    } while (cursor !== undefined);
  }

  #note(row: unknown): void {
    if (!isObject(row) || row["agent"] === WEBHOOK_AGENT || row["removed"] === true) return;
    const { run_id: runId } = row;
    if (typeof runId !== "string") return;
    this.#changed.add(runId);
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  async #work(): Promise<void> {
    const { signal } = this.#stopping;
    for (let failures = 0; this.#changed.size > 0 && !signal.aborted;) {
      const [runId] = this.#changed;
      if (runId === undefined) return;
      this.#changed.delete(runId);
      try {
        await this.#announce(runId);
        failures = 0;
      } catch (thrown) {
        if (isGone(thrown)) continue;
        this.#changed.add(runId);
        if (!signal.aborted && failures === 0) this.#options.report("webhooks cannot be announced", thrown);
        failures += 1;
        await pause(AGAIN_MS, signal);
      }
    }
  }

  /** Makes the requests for the events of a run that were not looked at yet. */
  async #announce(runId: RunId): Promise<void> {
    const { types, wants, sees } = this.#options;
    const { agent } = await this.#runtime.run(runId);
    const names: string[] = [];
    for (const name of this.#options.names) if (await sees(name, runId)) names.push(name);
    let after = this.#seen.get(runId) ?? 0;
    for (;;) {
      const page = await this.#runtime.read(
        { kind: "run", runId, agent },
        { after, filter: { types, level: "all" } },
      );
      for (const text of page.events) {
        const event = JSON.parse(text) as Event;
        // A page of all levels also has events of other types, from calls inside a turn.
        if (!types.includes(event.type)) continue;
        for (const name of names) {
          const isLate = Date.parse(event.ts) < (this.#since.get(name) ?? 0);
          if (!isLate && wants(name, agent, event)) await this.#request(name, runId, event.id);
        }
      }
      after = page.cursor;
      this.#seen.set(runId, after);
      if (!page.more) return;
    }
  }

  async #request(name: string, runId: RunId, event: number): Promise<void> {
    await this.#runtime.process(WEBHOOK_AGENT, {
      type: "OperationRequest",
      operation: "deliver",
      input: { to: name, run_id: runId, event },
      key: `${name}:${runId}`,
      request_id: `hook.${await sha256(`${name} ${runId} ${event}`)}` as RequestId,
    });
  }
}

/** The name of the agent whose turns are deliveries. */
export const WEBHOOK_AGENT = "webhook";

const SEEN_LIMIT = 10_000;
const AGAIN_MS = 1_000;
const LOOK_BACK_MS = 86_400_000;

/** A run that was removed has nothing to announce. */
function isGone(thrown: unknown): boolean {
  return isInstance(thrown, AgentError) && (thrown.code === "gone" || thrown.code === "not_found");
}

/** Waits; ends early when the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
