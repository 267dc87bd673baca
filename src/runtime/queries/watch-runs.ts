import type { Environment } from "../../ports/environment.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { WatchRunsOptions } from "../lists.ts";
import type { Feed, FeedReader, PageSink } from "../feeds.ts";
import { isHidden } from "../journal/system-runs.ts";
import type { ReaderSweep, SweptReader } from "./reader-sweep.ts";
import { toFeed } from "./to-feed.ts";
import { toRow } from "./lists.ts";

/** What to follow. */
export interface WatchedRuns extends WatchRunsOptions {
  readonly log: EventLog;
  readonly environment: Environment;
  /** Set for a log whose wakes may be lost. */
  readonly readerSweep: ReaderSweep | undefined;
  /** Whether the reader sees a run; absent if it sees each. */
  readonly sees?: ((run: RunEntry) => boolean) | undefined;
}

/** The least time between two reads of changed rows, so that a row is sent at most four times a second. */
const INTERVAL_MS = 250;

/** The number of rows that are read at once, which is the most that a stopped reader holds. */
const PIECE = 32;

/** The number of changed rows that are read in the least interval; in a longer one proportionally more. */
const PER_INTERVAL = 128;

/** The number of changed runs that a slow reader may have in front of it. */
const BEHIND = 10_000;

/** Follows the list of runs: its newest rows, then each row when it changes. */
export function watchRuns(watched: WatchedRuns): Feed {
  return toFeed((sink) => {
    const reader = new RunsReader(watched, sink);
    reader.start();
    return reader;
  }, false);
}

/**
 * Reads the newest rows, then those of the runs that the log names. A slow sink costs one piece of rows and the ids of
 * the runs that have changed since.
 */
class RunsReader implements FeedReader {
  readonly #watched: WatchedRuns;
  readonly #sink: PageSink;
  readonly #intervalMs: number;
  /** The runs that have changed since they were read, in the order of their changes. */
  readonly #changed = new Set<RunId>();
  /** How many rows of the first page are still to be read. */
  #left: number;
  #cursor: string | undefined;
  /** The changed runs of this interval that are still to be read. */
  #batch: RunId[] = [];
  /** When the next interval may begin, in milliseconds of `monotonic`. */
  #nextAt = -Infinity;
  #stopTimer: (() => void) | undefined;
  /** Whether a step of the reader is running. */
  #isBusy = false;
  /** Whether the sink accepts no pages now. */
  #isPaused = false;
  #hasEnded = false;
  #stopWatch: (() => void) | undefined;
  #swept: SweptReader | undefined;

  constructor(watched: WatchedRuns, sink: PageSink) {
    this.#watched = watched;
    this.#sink = sink;
    this.#left = watched.limit;
    this.#intervalMs = Math.max(watched.intervalMs ?? INTERVAL_MS, INTERVAL_MS);
  }

  start(): void {
    const { log, signal, readerSweep } = this.#watched;
    if (signal?.aborted === true) {
      this.stop();
      return;
    }
    signal?.addEventListener("abort", this.stop);
    this.#stopWatch = log.watch(this.#wake);
    this.#swept = readerSweep?.add(this.#readAgain);
    this.#continue();
  }

  resume(): void {
    this.#isPaused = false;
    this.#continue();
  }

  readonly stop = (): void => this.#close();

  readonly #wake = (runId: RunId): void => {
    this.#changed.add(runId);
    if (this.#changed.size > BEHIND) this.#close();
    else this.#continue();
  };

  /** Reads the first page again, because wakes may be lost. */
  readonly #readAgain = (): void => {
    this.#left = this.#watched.limit;
    this.#cursor = undefined;
    this.#continue();
  };

  #continue(): void {
    if (this.#isBusy || this.#isPaused || this.#hasEnded || this.#stopTimer !== undefined) return;
    this.#isBusy = true;
    this.#read().catch((error: unknown) => this.#close(error));
  }

  /** Reads rows until there is nothing more now. */
  async #read(): Promise<void> {
    while (!this.#isPaused && !this.#hasEnded && this.#hasWork()) {
      const events = this.#left > 0 ? await this.#readPage() : await this.#readChanged();
      // The reader may have been stopped in the meantime.
      if (events.length > 0 && !this.#hasEnded)
        this.#isPaused = !this.#sink.page({ events, cursor: 0, more: false, last: false });
    }
    this.#isBusy = false;
  }

  /** Whether there is something to read now. If there is only later, sets the timer. */
  #hasWork(): boolean {
    if (this.#left > 0 || this.#batch.length > 0) return true;
    if (this.#changed.size === 0) return false;
    const { environment } = this.#watched;
    const now = environment.monotonic();
    if (now < this.#nextAt) {
      this.#stopTimer = environment.timer(this.#nextAt - now, () => {
        this.#stopTimer = undefined;
        this.#continue();
      });
      return false;
    }
    this.#nextAt = now + this.#intervalMs;
    this.#batch = [...this.#changed].slice(0, Math.ceil(PER_INTERVAL * (this.#intervalMs / INTERVAL_MS)));
    for (const runId of this.#batch) this.#changed.delete(runId);
    return true;
  }

  async #readPage(): Promise<readonly string[]> {
    const { log, agent, owner } = this.#watched;
    const { runs, next } = await log.list({
      ...(owner !== undefined && { owner }),
      limit: Math.min(this.#left, PIECE),
      ...(agent !== undefined && { agent }),
      ...(this.#cursor !== undefined && { cursor: this.#cursor }),
    });
    this.#left = next === undefined ? 0 : this.#left - runs.length;
    this.#cursor = next;
    return runs.filter((run) => this.#isShown(run)).map((run) => this.#encode(run));
  }

  async #readChanged(): Promise<readonly string[]> {
    const { log, agent, owner, sees, idsOnly = false } = this.#watched;
    const ids = this.#batch.splice(0, PIECE);
    if (idsOnly && agent === undefined && owner === undefined && sees === undefined) return ids.map(encodeId);
    const runs = await Promise.all(ids.map(async (runId) => log.run(runId, owner)));
    return runs.flatMap((run) => (run === undefined ? [] : this.#toText(run)));
  }

  #toText(run: RunEntry): readonly string[] {
    const { runId, agent, removed } = run;
    if (removed === true)
      return [this.#watched.idsOnly === true ? encodeId(runId) : JSON.stringify({ run_id: runId, removed })];
    const isOther = this.#watched.agent !== undefined && this.#watched.agent !== agent;
    return isOther || !this.#isShown(run) ? [] : [this.#encode(run)];
  }

  #encode(run: RunEntry): string {
    return this.#watched.idsOnly === true ? encodeId(run.runId) : JSON.stringify(toRow(run));
  }

  #isShown(run: RunEntry): boolean {
    return !isHidden(run) && this.#watched.sees?.(run) !== false;
  }

  #close(error?: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#changed.clear();
    this.#stopWatch?.();
    this.#stopTimer?.();
    this.#watched.signal?.removeEventListener("abort", this.stop);
    if (this.#swept) this.#watched.readerSweep?.remove(this.#swept);
    this.#sink.end(error);
  }
}

function encodeId(runId: RunId): string {
  return JSON.stringify({ run_id: runId });
}
