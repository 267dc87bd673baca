import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { AgentError, isInstance } from "../errors.ts";
import { EventDecoder } from "../protocol/events/encode.ts";
import { isObject } from "../protocol/json.ts";
import type { RunId } from "../protocol/ids.ts";
import { TOPIC_AGENT, topic } from "../runtime/agent/topic.ts";
import type { Topic } from "../runtime/agent/topic.ts";
import type { Runtime } from "../runtime/api.ts";
import { backoffMs } from "../shared/backoff.ts";
import { LruMap } from "../shared/lru-map.ts";
import { SpanSender } from "./sender.ts";
import type { TraceExporter } from "./sender.ts";
import type { Attributes, ContentOption } from "./span.ts";
import { SPAN_EVENTS, SpanFold } from "./spans.ts";

/** How the traces of a runtime are exported. */
export interface TraceOptions {
  readonly exporter: TraceExporter;
  /** Names this export where there are several, by `a`-`z`, digits and `_`: each remembers for itself how far it is. Default `traces`. */
  readonly name?: string;
  /** From when on at the first start; later ones go on where the last one has ended. Default: now. */
  readonly since?: Date;
  /** What spans say of inputs and results. Default `none`, because they may be confidential. */
  readonly content?: ContentOption;
  /** What makes the spans. Default `{ "service.name": "troupe" }`. */
  readonly resource?: Attributes;
  /** Gets what went wrong; it is tried again. Default: nothing is told. */
  readonly report?: (where: string, thrown: unknown) => void;
}

/** An export that runs. */
export interface TraceExport {
  /** Resolves when what is in the log at the call is exported, if this process is the one that exports. */
  flush(): Promise<void>;
  /**
   * Stops, and shuts the exporter down, at most two seconds after the newest spans. What is not exported by then is at the next
   * start, or by another node.
   */
  close(): Promise<void>;
}

/**
 * Exports the traces of all runs: those of the past from `since` on, then each span when it has ended. How far it is stands in the
 * log, as the newest publication of the topic `troupe-traces`: after a restart it goes on there, and exports some spans a second
 * time, which have the same ids and bytes. Of several nodes one exports, until it stops or is away for half a minute.
 */
export async function exportTraces(runtime: Runtime, options: TraceOptions): Promise<TraceExport> {
  const { name = "traces", report = () => {} } = options;
  const lease = new TraceLease(runtime, { topic: topic(TRACES_TOPIC), name });
  const follower = new TraceFollower(runtime, { ...options, report }, lease);
  await lease.read();
  follower.start();
  return {
    flush: () => follower.flush(),
    async close() {
      follower.isEnding = true;
      const late = new AbortController();
      await Promise.race([follower.flush(), pause(LAST_MS, late.signal)]);
      late.abort();
      await follower.stop();
      await options.exporter.shutdown();
    },
  };
}

/** The topic that has how far the exports of traces are. */
const TRACES_TOPIC = "troupe-traces";

type FollowerOptions = TraceOptions & Required<Pick<TraceOptions, "report">>;

/** Follows all runs and exports the spans that end. */
class TraceFollower {
  readonly #runtime: Runtime;
  readonly #options: FollowerOptions;
  readonly #lease: TraceLease;
  readonly #sender: SpanSender;
  readonly #stopping = new AbortController();
  /** How far the newest runs are read. */
  readonly #runs = new LruMap<RunId, OpenRun>(RUNS_LIMIT);
  /** The runs that have changed. */
  #changed = new Set<RunId>();
  /** The runs of topics, which have no traces. */
  readonly #topics = new LruMap<RunId, true>(RUNS_LIMIT);
  /** Ends the time in which changes gather. */
  #gathering = new AbortController();
  /** Resolves when there is something to do. */
  #wake = Promise.withResolvers<void>();
  #following: Promise<unknown> = Promise.resolve();
  readonly #flushes: PromiseWithResolvers<void>[] = [];
  /** Whether it has looked for what changed before it was the one that exports. */
  #hasLookedBack = false;
  #failures = 0;
  /** A runtime that closes at the same time may not take the place any more that is remembered: its next start begins before it. */
  isEnding = false;

  constructor(runtime: Runtime, options: FollowerOptions, lease: TraceLease) {
    this.#runtime = runtime;
    this.#options = options;
    this.#lease = lease;
    const { exporter, resource = { "service.name": "troupe" } } = options;
    this.#sender = new SpanSender(exporter, resource);
  }

  start(): void {
    this.#following = Promise.all([this.#watch(), this.#work()]);
  }

  async flush(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const flush = Promise.withResolvers<void>();
    this.#flushes.push(flush);
    // What has changed by now is looked for, because the feed of changes may be a moment behind.
    this.#hasLookedBack = false;
    this.#wake.resolve();
    this.#gathering.abort();
    await flush.promise;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake.resolve();
    this.#gathering.abort();
    await this.#following;
    for (const flush of this.#flushes) flush.resolve();
    await this.#lease.release().catch((thrown: unknown) => this.#report(thrown));
  }

  /** Notes the runs that change. */
  async #watch(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const feed = this.#runtime.watchRuns({ limit: 1, idsOnly: true, intervalMs: INTERVAL_MS, signal });
        for await (const page of feed.pages) {
          for (const text of page.events) this.#note((JSON.parse(text) as { readonly run_id: RunId }).run_id);
          this.#wake.resolve();
        }
      } catch (thrown) {
        if (!signal.aborted) this.#report(thrown);
      }
      // A feed that ended early may have left something out.
      this.#hasLookedBack = false;
      await pause(AGAIN_MS, signal);
    }
  }

  #note(runId: RunId): void {
    if (this.#topics.has(runId)) return;
    if (this.#changed.size < CHANGED_LIMIT || this.#changed.has(runId)) this.#changed.add(runId);
    // The rest is looked for in the list of runs.
    else this.#hasLookedBack = false;
  }

  async #work(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const waitMs = await this.#step().catch((thrown: unknown) => {
        if (signal.aborted) return 0;
        this.#report(thrown);
        // What was read and not exported is read again.
        this.#runs.clear();
        this.#hasLookedBack = false;
        this.#failures += 1;
        return backoffMs({ firstMs: AGAIN_MS, mostMs: MOST_MS }, this.#failures - 1);
      });
      if (waitMs > 0) await pause(waitMs, signal);
    }
  }

  /** Exports what has changed. Returns the time until the next look, which a change does not shorten after a failure. */
  async #step(): Promise<number> {
    if (this.#hasLookedBack && this.#changed.size === 0) {
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
      await this.#gather();
      if (this.#stopping.signal.aborted) return 0;
    }
    const othersMs = await this.#lease.take();
    if (othersMs > 0) {
      // Another node exports; what it leaves is found when it is away.
      this.#changed.clear();
      this.#hasLookedBack = false;
      this.#settle(this.#flushes.length);
      return othersMs;
    }
    const flushed = this.#flushes.length;
    let newestMs = 0;
    if (!this.#hasLookedBack) {
      this.#hasLookedBack = true;
      newestMs = await this.#lookBack();
    }
    const changed = this.#changed;
    this.#changed = new Set();
    for (const runId of changed) {
      if (this.#stopping.signal.aborted) return 0;
      // oxlint-disable-next-line no-await-in-loop -- the spans of a run are exported in their order
      newestMs = Math.max(newestMs, await this.#read(runId));
    }
    await this.#sender.flush();
    this.#failures = 0;
    if (this.#hasLookedBack && this.#changed.size === 0)
      await this.#lease.advance(Math.max(this.#fromMs, newestMs - CLOCKS_MS));
    this.#settle(flushed);
    return 0;
  }

  /** Lets the changes of an interval gather, so that their spans are exported together. A flush and the end do not wait. */
  async #gather(): Promise<void> {
    this.#gathering = new AbortController();
    if (this.#flushes.length === 0 && !this.#stopping.signal.aborted)
      await pause(GATHER_MS, this.#gathering.signal);
  }

  /** Resolves the flushes that were asked for first. */
  #settle(count: number): void {
    for (const flush of this.#flushes.splice(0, count)) flush.resolve();
  }

  /** From when on spans are exported. */
  get #fromMs(): number {
    return this.#lease.exportedMs ?? this.#options.since?.getTime() ?? this.#startedMs;
  }

  readonly #startedMs = Date.now();

  /** Notes the runs that have changed since the place that is remembered. Returns the time of the newest change. */
  async #lookBack(): Promise<number> {
    const updatedAfter = this.#fromMs;
    let newestMs = 0;
    let cursor: string | undefined;
    do {
      // oxlint-disable-next-line no-await-in-loop -- pages follow one another
      const page = await this.#runtime.runs({
        limit: 100,
        updatedAfter,
        ...(cursor !== undefined && { cursor }),
      });
      cursor = page.next;
      for (const run of page.runs) {
        newestMs = Math.max(newestMs, Date.parse(run.updated_at));
        if (run.agent !== TOPIC_AGENT)
          // oxlint-disable-next-line no-await-in-loop -- the list may have more runs than memory
          await this.#read(run.run_id);
        this.#changed.delete(run.run_id);
      }
    } while (cursor !== undefined && !this.#stopping.signal.aborted);
    return newestMs;
  }

  /** Reads what is new in a run, and exports the spans that have ended in it. Returns the time of its newest event. */
  async #read(runId: RunId): Promise<number> {
    const { content = "none" } = this.#options;
    let newest = "";
    const known = this.#runs.get(runId);
    const run = known ?? { fold: new SpanFold(runId, content), decoder: new EventDecoder(), cursor: 0 };
    const fromMs = known === undefined ? this.#fromMs : 0;
    try {
      for (let more = true; more && !this.#stopping.signal.aborted;) {
        // oxlint-disable-next-line no-await-in-loop -- pages follow one another
        const page = await this.#runtime.read(
          { kind: "run", runId, agent: "" },
          { after: run.cursor, filter: { types: SPAN_EVENTS } },
        );
        for (const text of page.events) {
          const event = run.decoder.decode(text);
          if (event.agent === TOPIC_AGENT) {
            this.#topics.set(runId, true);
            return 0;
          }
          newest = event.ts;
          const spans = run.fold.add(event);
          // oxlint-disable-next-line no-await-in-loop -- the exporter decides how fast it goes
          if (spans.length > 0 && Date.parse(event.ts) >= fromMs) await this.#sender.add(spans);
        }
        run.cursor = page.cursor;
        more = page.more;
      }
      this.#runs.set(runId, run);
    } catch (thrown) {
      // A run that was removed has no traces any more.
      if (!isGone(thrown)) throw thrown;
      this.#runs.delete(runId);
    }
    return newest === "" ? 0 : Date.parse(newest);
  }

  #report(thrown: unknown): void {
    if (this.isEnding && isInstance(thrown, AgentError) && thrown.code === "unavailable") return;
    // The next attempts are only to be expected.
    if (this.#failures === 0) this.#options.report("traces cannot be exported", thrown);
  }
}

/** A run whose events are followed. */
interface OpenRun {
  readonly fold: SpanFold;
  readonly decoder: EventDecoder;
  /** How far it is read. */
  cursor: number;
}

/**
 * So often a run that changes is read, at most: once or twice in a turn, and not at each of its commits. With the time in which
 * the changes of an interval gather it is the delay of the batch processor of OpenTelemetry.
 */
const INTERVAL_MS = 4_000;
const GATHER_MS = 1_000;
/** How long the end waits for the newest spans. */
const LAST_MS = 2_000;
/** Of so many runs it is known how far they are read; one that was not followed for long is read from its beginning. */
const RUNS_LIMIT = 1_000;
const CHANGED_LIMIT = 10_000;
/** The pause after a failure, doubled for each further one, up to the longest. */
const AGAIN_MS = 1_000;
const MOST_MS = 60_000;
/** How much later than its time an event may come into the log, and how much the clocks of nodes may differ. */
const CLOCKS_MS = 60_000;

function isGone(thrown: unknown): boolean {
  return isInstance(thrown, AgentError) && (thrown.code === "gone" || thrown.code === "not_found");
}

/** Waits; ends early when the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}

/**
 * The right to export, and how far the export is: the newest publication of a topic. So it is in the log, and every node sees the
 * same. Two nodes that take the right at once see who was later; what both have exported by then is equal.
 */
class TraceLease {
  readonly #runtime: Runtime;
  readonly #topic: Topic;
  readonly #name: string;
  readonly #id = randomUUID();
  #held: Held = { holder: "", untilMs: 0, exportedMs: undefined };

  constructor(runtime: Runtime, { topic, name }: { readonly topic: Topic; readonly name: string }) {
    this.#runtime = runtime;
    this.#topic = topic;
    this.#name = name;
  }

  /** Everything up to this time is exported; `undefined` if nothing was. */
  get exportedMs(): number | undefined {
    return this.#held.exportedMs;
  }

  /** Reads what the log says. */
  async read(): Promise<void> {
    const newest = await this.#runtime.topics.newest(this.#topic.name);
    const body = newest.find(({ name }) => name === this.#name)?.body;
    if (!isObject(body)) return;
    const { holder, until, exported } = body;
    this.#held = {
      holder: typeof holder === "string" ? holder : "",
      untilMs: typeof until === "string" ? Date.parse(until) : 0,
      exportedMs: typeof exported === "string" ? Date.parse(exported) : undefined,
    };
  }

  /** Takes the right, or keeps it. Returns how long another node has it at least, in milliseconds. */
  async take(): Promise<number> {
    // No other node takes it before the lease ends. Of two that have taken it at once, the earlier one sees that later.
    if (this.#isMine && this.#held.untilMs - Date.now() > LEASE_MS / 2) return 0;
    await this.read();
    if (this.#isMine && this.#held.untilMs - Date.now() > LEASE_MS / 2) return 0;
    if (!this.#isMine && this.#isShared) {
      const othersMs = this.#held.untilMs - Date.now();
      if (othersMs > 0) return Math.min(othersMs, LEASE_MS);
    }
    await this.#publish(this.#held.exportedMs, Date.now() + LEASE_MS);
    await this.read();
    return this.#isMine ? 0 : LEASE_MS;
  }

  /** Remembers that everything up to a time is exported; at most every few seconds, because what follows is only exported again. */
  async advance(exportedMs: number): Promise<void> {
    const before = this.#held.exportedMs ?? -Infinity;
    if (exportedMs - before < STEP_MS) return;
    await this.#publish(exportedMs, Date.now() + LEASE_MS);
    await this.read();
  }

  /** Leaves the right to others. */
  async release(): Promise<void> {
    if (this.#isMine) await this.#publish(this.#held.exportedMs, Date.now());
  }

  get #isMine(): boolean {
    return this.#held.holder === this.#id;
  }

  /** Whether there may be other nodes. The holder in a log of one process is an earlier process. */
  get #isShared(): boolean {
    return this.#runtime.health().figures !== undefined;
  }

  async #publish(exportedMs: number | undefined, untilMs: number): Promise<void> {
    const body = {
      holder: this.#id,
      until: new Date(untilMs).toISOString(),
      ...(exportedMs !== undefined && { exported: new Date(exportedMs).toISOString() }),
    };
    const receipt = await this.#runtime.publish(this.#topic, this.#name, body);
    await this.#runtime.acknowledgement(receipt, { until: "acknowledged", timeoutMs: LEASE_MS });
  }
}

interface Held {
  readonly holder: string;
  readonly untilMs: number;
  readonly exportedMs: number | undefined;
}

/** A node that is away keeps the right for so long. */
const LEASE_MS = 30_000;

/** So much is exported before it is remembered. */
const STEP_MS = 10_000;
