import { AsyncLocalStorage } from "node:async_hooks";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { AgentError } from "../../../errors.ts";
import type { LogHealth } from "../../../ports/event-log.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import { CommitMemory, SIGNAL, newSignal } from "./commit-memory.ts";
import type {
  AuditChanges,
  HourSums,
  SpendingChanges,
  StatisticsChanges,
  TextChanges,
  ChunkedRun,
  FromWriter,
  RefusedItem,
  RunRemoval,
  ToWriter,
  WriterData,
} from "./message.ts";
import type { Append } from "./encode-append.ts";

/** A unit of work to commit: an append of a run, or what has a commit of its own. */
export type Job = AppendJob | OwnJob;

export interface AppendJob extends Settled {
  readonly rid: number;
  readonly append: Append;
}

/** What has a commit of its own. */
type OwnWork = RunRemoval | AuditChanges | SpendingChanges | StatisticsChanges | HourSums | TextChanges;

interface OwnJob extends Settled {
  readonly append?: undefined;
  readonly work: OwnWork;
}

interface Settled {
  /** Called once; without an error if it was committed. */
  settle(error?: Error): void;
}

/**
 * Sends appends to the writer's thread, one commit at a time. A commit contains the jobs that all runs posted
 * during the previous commit, in order of arrival and up to a limit.
 */
export class WriterClient {
  readonly #worker: Worker;
  readonly #signal: Int32Array;
  readonly #memory = new CommitMemory();
  readonly #onCommitted: () => void;
  readonly #onChunked: (runs: readonly ChunkedRun[]) => void;
  readonly #onRecovered: () => void;
  readonly #commitIntervalMs: number;
  #queue: Job[] = [];
  /** The removals of runs that are not claimed. No append comes before them, so other commits come between theirs. */
  #removals: Job[] = [];
  /** When the next of these may be sent: they rest for as long as the ones before took, so that turns have half of the time. */
  #removalsAt = -Infinity;
  #rest: NodeJS.Timeout | undefined;
  #sent: readonly Job[] | undefined;
  #sentAt = -Infinity;
  #scheduled = false;
  #failure: Unavailable | undefined;
  readonly #start = Promise.withResolvers<void>();
  /** Whether the thread has ended. */
  #ended = false;
  #closing: (() => void) | undefined;
  /** The scrubs, one after the other, because each overwrites what was removed before it began. */
  #scrubs: Promise<void> = Promise.resolve();
  #onScrubbed: ((reason?: string) => void) | undefined;
  readonly #flushNow = (): void => {
    this.#scheduled = false;
    this.#flush();
  };
  /** Called after a signal that a commit is done. It belongs to no run, also if a run has caused the commit. */
  readonly #replied: (sent: readonly Job[] | undefined) => void = AsyncLocalStorage.bind((sent) => {
    // The commit before may have got its reply as a message.
    if (sent !== undefined && sent === this.#sent) this.#settle({});
  });

  constructor(
    data: Omit<WriterData, "signal">,
    options: {
      readonly commitIntervalMs: number;
      readonly onCommitted: () => void;
      /** Called when the writer has moved recent events into chunks. */
      readonly onChunked: (runs: readonly ChunkedRun[]) => void;
      readonly onRecovered: () => void;
    },
  ) {
    this.#commitIntervalMs = options.commitIntervalMs;
    this.#onCommitted = options.onCommitted;
    this.#onChunked = options.onChunked;
    this.#onRecovered = options.onRecovered;
    this.#signal = newSignal();
    // In the source tree the thread is TypeScript like this file; in the package both are JavaScript.
    const file = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url);
    const workerData: WriterData = { ...data, signal: this.#signal };
    this.#worker = new Worker(file, { workerData, name: "log-writer" });
    this.#worker.on("message", (message: FromWriter) => this.#hear(message));
    this.#worker.on("error", (cause) => this.#stop("the writer has failed", cause));
    this.#worker.on("exit", () => {
      this.#ended = true;
      this.#stop("the writer has ended");
    });
  }

  /** Resolves when the thread runs, or has failed. Until then a commit would wait for its start. */
  get started(): Promise<void> {
    return this.#start.promise;
  }

  get health(): LogHealth {
    return this.#failure === undefined
      ? { writable: true }
      : { writable: false, reason: this.#failure.message };
  }

  /** Commits nothing more. */
  refuse(reason: string): void {
    if (this.#failure === undefined) this.#fail(reason);
  }

  /** Queues a job; its `settle` is called later. */
  post(job: Job): void {
    this.#queueOf(job).push(job);
    if (this.#sent === undefined) this.#schedule();
  }

  /** Overwrites what removed runs have left in the files; fails with `Unavailable`. */
  scrub(): Promise<void> {
    const scrub = async (): Promise<void> => {
      if (this.#ended || this.#closing !== undefined) throw new Unavailable("the log is closed");
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      this.#onScrubbed = resolve;
      this.#worker.ref();
      this.#send({ type: "scrub" });
      const reason = await promise;
      this.#onScrubbed = undefined;
      this.#letGo();
      if (reason !== undefined) throw new Unavailable(reason);
    };
    const scrubbed = this.#scrubs.then(scrub);
    this.#scrubs = scrubbed.catch(() => {});
    return scrubbed;
  }

  /** Commits all posted jobs, then ends the thread. */
  async close(): Promise<void> {
    while (this.#sent !== undefined || this.#hasJobs) {
      this.#removalsAt = -Infinity;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.post({ rid: 0, append: NOTHING, settle: () => resolve() });
      await promise;
    }
    clearTimeout(this.#rest);
    if (this.#ended) return;
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    this.#closing = resolve;
    this.#worker.ref();
    this.#send({ type: "close" });
    await closed;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const wait = this.#commitIntervalMs > 0 ? this.#sentAt + this.#commitIntervalMs - performance.now() : 0;
    if (wait > 0) setTimeout(this.#flushNow, wait);
    else setImmediate(this.#flushNow);
  }

  #flush(): void {
    if (this.#failure !== undefined) return this.#refuseAll();
    if (this.#sent !== undefined) return;
    const now = performance.now();
    const areRemovalsDue = this.#removals.length > 0 && now >= this.#removalsAt;
    const queue = areRemovalsDue ? this.#removals : this.#queue;
    const [first] = queue;
    if (first === undefined) return this.#awaitRest(now);
    this.#worker.ref();
    this.#sentAt = now;
    if (first.append === undefined) {
      const removals = removalsAtFront(queue);
      this.#sent = queue.splice(0, Math.max(removals.length, 1));
      this.#awaitReply();
      this.#send(first.work.type === "removal" ? { type: "remove", runs: removals } : first.work);
      return;
    }
    const jobs = queue.splice(0, countForCommit(queue));
    const small: AppendJob[] = [];
    const others: AppendJob[] = [];
    for (const job of jobs) if (job.append) (job.append.isRecent ? small : others).push(job);
    // The indexes of refused items count from the first item.
    this.#sent = others.length === 0 ? small : [...others, ...small];
    const grown = this.#memory.write(small, others, this.#signal);
    if (grown !== undefined) this.#send({ type: "memory", memory: grown });
    this.#awaitReply();
    Atomics.store(this.#signal, SIGNAL.hasCommit, 1);
    this.#notify();
  }

  #queueOf(job: Job): Job[] {
    const isOfUnclaimed =
      job.append === undefined && job.work.type === "removal" && job.work.seen !== undefined;
    return isOfUnclaimed ? this.#removals : this.#queue;
  }

  get #hasJobs(): boolean {
    return this.#queue.length > 0 || this.#removals.length > 0;
  }

  /** Continues with removals when they have rested. */
  #awaitRest(now: number): void {
    if (this.#removals.length === 0) return;
    this.#rest ??= setTimeout(() => {
      this.#rest = undefined;
      if (this.#sent === undefined) this.#schedule();
    }, this.#removalsAt - now);
  }

  /** Settles what was sent when the writer signals that it is committed. A message would cost both threads more than a text. */
  #awaitReply(): void {
    const sent = this.#sent;
    const { value } = Atomics.waitAsync(
      this.#signal,
      SIGNAL.replies,
      Atomics.load(this.#signal, SIGNAL.replies),
    );
    // Nothing else is sent, so the writer has not replied yet.
    if (typeof value !== "string") void value.then(() => this.#replied(sent));
  }

  /** An open log does not keep the process alive, but its start, a running commit, a scrub and its end do. */
  #letGo(): void {
    const isBusy = this.#sent !== undefined || this.#onScrubbed !== undefined || this.#closing !== undefined;
    if (!isBusy) this.#worker.unref();
  }

  #send(message: ToWriter): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
    this.#worker.postMessage(message);
    Atomics.store(this.#signal, SIGNAL.hasMessages, 1);
    this.#notify();
  }

  #notify(): void {
    Atomics.add(this.#signal, SIGNAL.count, 1);
    Atomics.notify(this.#signal, SIGNAL.count);
  }

  #hear(message: FromWriter): void {
    switch (message.type) {
      case "started":
        this.#letGo();
        return this.#start.resolve();
      case "committed":
        return this.#settle(message);
      case "chunked":
        return this.#onChunked(message.runs);
      case "failed":
        return this.#fail(message.reason);
      case "recovered":
        this.#failure = undefined;
        return this.#onRecovered();
      case "scrubbed":
        return this.#onScrubbed?.(message.reason);
      case "closed":
        return this.#closing?.();
      default: {
        const never: never = message;
        return never;
      }
    }
  }

  #settle({
    refused,
    chunked,
    left = 0,
  }: {
    readonly refused?: readonly RefusedItem[];
    readonly chunked?: readonly ChunkedRun[];
    readonly left?: number;
  }): void {
    const sent = this.#sent ?? [];
    const jobs = left > 0 ? sent.slice(0, -left) : sent;
    if (sent[0] !== undefined && this.#queueOf(sent[0]) === this.#removals) {
      const now = performance.now();
      this.#removalsAt = now + (now - this.#sentAt);
    }
    this.#sent = undefined;
    this.#letGo();
    const next = sent[jobs.length];
    if (next !== undefined) this.#queueOf(next).unshift(...sent.slice(jobs.length));
    const messages = refused && new Map(refused);
    for (const [index, job] of jobs.entries()) {
      const message = messages?.get(index);
      job.settle(message === undefined ? undefined : new AgentError("conflict", message));
    }
    if (chunked !== undefined) this.#onChunked(chunked);
    this.#onCommitted();
    if (this.#hasJobs) this.#schedule();
  }

  #fail(reason: string, cause?: unknown): void {
    this.#failure = new Unavailable(reason, { cause });
    const jobs = this.#sent ?? [];
    this.#sent = undefined;
    this.#letGo();
    for (const job of jobs) job.settle(this.#failure);
    this.#refuseAll();
  }

  #refuseAll(): void {
    const jobs = [...this.#queue, ...this.#removals];
    this.#queue = [];
    this.#removals = [];
    for (const job of jobs) job.settle(this.#failure);
  }

  #stop(reason: string, cause?: unknown): void {
    // The first failure is the most informative one.
    if (this.#failure === undefined) this.#fail(reason, cause);
    this.#start.resolve();
    this.#onScrubbed?.(reason);
    this.#closing?.();
  }
}

/** An empty append. */
const NOTHING: Append = {
  position: [1, 0, 0],
  body: "",
  records: null,
  changes: null,
  isRecent: false,
  bytes: 0,
};

/**
 * The number of jobs at the front that go into one commit: only appends, up to a limit, and at least one job.
 */
function countForCommit(jobs: readonly Job[]): number {
  let events = 0;
  let characters = 0;
  for (const [index, { append }] of jobs.entries()) {
    if (append === undefined) return index;
    events += append.position[1] - append.position[0] + 1;
    characters += append.body.length;
    if (index > 0 && (events > COMMIT_EVENTS || characters > COMMIT_CHARACTERS)) return index;
  }
  return jobs.length;
}

/** The removals at the front that go into one commit. */
function removalsAtFront(jobs: readonly Job[]): readonly RunRemoval[] {
  const removals: RunRemoval[] = [];
  for (const job of jobs) {
    const isRemoval = job.append === undefined && job.work.type === "removal";
    if (!isRemoval || removals.length === COMMIT_REMOVALS) break;
    removals.push(job.work);
  }
  return removals;
}

/** Limits of a commit, so that the next jobs never wait long. */
const COMMIT_EVENTS = 1_000;
const COMMIT_CHARACTERS = 1024 * 1024;
const COMMIT_REMOVALS = 128;
