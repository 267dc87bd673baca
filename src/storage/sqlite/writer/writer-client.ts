import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { AgentError } from "../../../errors.ts";
import type { LogHealth } from "../../../ports/event-log.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import { SIGNAL } from "./message.ts";
import type {
  AuditChanges,
  SpendingChanges,
  ChunkedRun,
  FromWriter,
  AppendItem,
  RefusedItem,
  RunRemoval,
  ToWriter,
  WriterData,
} from "./message.ts";
import type { RecentParts } from "./recent-events.ts";
import type { Append } from "./encode-append.ts";

/** A unit of work to commit: an append of a run, or what has a commit of its own. */
export type Job = AppendJob | OwnJob;

export interface AppendJob extends Settled {
  readonly rid: number;
  readonly append: Append;
}

/** What has a commit of its own. */
export type OwnWork = RunRemoval | AuditChanges | SpendingChanges;

export interface OwnJob extends Settled {
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
  readonly #bodies = new SharedBodies();
  readonly #onCommitted: () => void;
  readonly #onChunked: (runs: readonly ChunkedRun[]) => void;
  readonly #onRecovered: () => void;
  readonly #commitIntervalMs: number;
  #queue: Job[] = [];
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
    this.#signal = new Int32Array(new SharedArrayBuffer(12));
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

  /** Queues a job; its `settle` is called later. */
  post(job: Job): void {
    this.#queue.push(job);
    if (this.#sent === undefined) this.#schedule();
  }

  /** Overwrites what removed runs have left in the files; fails with `Unavailable`. */
  scrub(): Promise<void> {
    const scrub = async (): Promise<void> => {
      if (this.#ended || this.#closing !== undefined) throw new Unavailable("the log is closed");
      const { promise, resolve } = Promise.withResolvers<string | undefined>();
      this.#onScrubbed = resolve;
      this.#send({ type: "scrub" });
      const reason = await promise;
      if (reason !== undefined) throw new Unavailable(reason);
    };
    const scrubbed = this.#scrubs.then(scrub);
    this.#scrubs = scrubbed.catch(() => {});
    return scrubbed;
  }

  /** Commits all posted jobs, then ends the thread. */
  async close(): Promise<void> {
    while (this.#sent !== undefined || this.#queue.length > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.post({ rid: 0, append: NOTHING, settle: () => resolve() });
      await promise;
    }
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
    const wait = this.#sentAt + this.#commitIntervalMs - performance.now();
    const flush = (): void => {
      this.#scheduled = false;
      this.#flush();
    };
    if (wait > 0) setTimeout(flush, wait);
    else setImmediate(flush);
  }

  #flush(): void {
    if (this.#failure !== undefined) return this.#refuseAll();
    const [first] = this.#queue;
    if (first === undefined || this.#sent !== undefined) return;
    this.#worker.ref();
    if (this.#commitIntervalMs > 0) this.#sentAt = performance.now();
    if (first.append === undefined) {
      this.#sent = this.#queue.splice(0, 1);
      this.#send(first.work);
      return;
    }
    const jobs = this.#queue.splice(0, countForCommit(this.#queue));
    const small: AppendJob[] = [];
    const others: AppendJob[] = [];
    for (const job of jobs) if (job.append) (job.append.isRecent ? small : others).push(job);
    const recent = this.#writeRecent(small);
    const items = others.map(({ rid, append }): AppendItem => {
      const { position, body, records, changes } = append;
      append.bytes = this.#bodies.write(body);
      return [rid, ...position, append.bytes, records, changes];
    });
    // The indexes of refused items count from the first item.
    this.#sent = items.length === 0 ? small : [...others, ...small];
    const partBytes = items.length === 0 ? this.#bodies.write(recent.parts) : 0;
    const memory = this.#bodies.take();
    if (partBytes > 0 && memory === undefined) this.#sendSmall(recent.bytes, partBytes);
    else this.#send({ type: "commit", recent, items, ...(memory !== undefined && { bodies: memory }) });
  }

  /** Writes the bodies of small appends to the shared memory. All of them together are one row. */
  #writeRecent(jobs: readonly AppendJob[]): RecentParts {
    const parts: number[] = [];
    let bytes = 0;
    for (const { rid, append } of jobs) {
      const [first, last, recordsEnd] = append.position;
      append.bytes = this.#bodies.write(append.body);
      this.#bodies.breakLine();
      parts.push(rid, first, last, recordsEnd, append.bytes);
      bytes += append.bytes + 1;
    }
    return { parts: parts.length === 0 ? "" : JSON.stringify(parts), bytes };
  }

  /** Sends a commit of small appends, which is in the shared memory. A message would cost both threads more than its text. */
  #sendSmall(bodyBytes: number, partBytes: number): void {
    Atomics.store(this.#signal, SIGNAL.bodyBytes, bodyBytes);
    Atomics.store(this.#signal, SIGNAL.partBytes, partBytes);
    this.#notify();
  }

  #send(message: ToWriter): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
    this.#worker.postMessage(message);
    this.#notify();
  }

  #notify(): void {
    Atomics.add(this.#signal, SIGNAL.count, 1);
    Atomics.notify(this.#signal, SIGNAL.count);
  }

  #hear(message: FromWriter): void {
    switch (message.type) {
      case "started":
        // An open log does not keep the process alive, but its start, a running commit and its end do.
        if (this.#sent === undefined && this.#closing === undefined) this.#worker.unref();
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
  }: {
    readonly refused?: readonly RefusedItem[];
    readonly chunked?: readonly ChunkedRun[];
  }): void {
    const jobs = this.#sent ?? [];
    this.#sent = undefined;
    this.#worker.unref();
    const messages = refused && new Map(refused);
    for (const [index, job] of jobs.entries()) {
      const message = messages?.get(index);
      job.settle(message === undefined ? undefined : new AgentError("conflict", message));
    }
    if (chunked !== undefined) this.#onChunked(chunked);
    this.#onCommitted();
    if (this.#queue.length > 0) this.#schedule();
  }

  #fail(reason: string, cause?: unknown): void {
    this.#failure = new Unavailable(reason, { cause });
    const jobs = this.#sent ?? [];
    this.#sent = undefined;
    this.#worker.unref();
    for (const job of jobs) job.settle(this.#failure);
    this.#refuseAll();
  }

  #refuseAll(): void {
    const jobs = this.#queue;
    this.#queue = [];
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

/**
 * Memory that the writer's thread reads without a copy. It contains the bodies of one commit, is reused for
 * the next, and grows to the size of the largest commit.
 */
class SharedBodies {
  #buffer: Buffer<SharedArrayBuffer> = Buffer.from(new SharedArrayBuffer(START_BYTES));
  #length = 0;
  #isNew = true;

  /** Appends a text. Returns its size in bytes. */
  write(text: string): number {
    if (text.length === 0) return 0;
    // A UTF-16 code unit takes at most three bytes.
    if (this.#length + 3 * text.length > this.#buffer.length) this.#reserve(Buffer.byteLength(text));
    const bytes = this.#buffer.write(text, this.#length);
    this.#length += bytes;
    return bytes;
  }

  /** Appends a line break. */
  breakLine(): void {
    this.#reserve(1);
    this.#buffer[this.#length] = LINE_BREAK;
    this.#length += 1;
  }

  /** Ends a commit. Returns the memory if the other thread does not have it yet. */
  take(): SharedArrayBuffer | undefined {
    this.#length = 0;
    if (!this.#isNew) return undefined;
    this.#isNew = false;
    return this.#buffer.buffer;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.from(new SharedArrayBuffer(2 ** Math.ceil(Math.log2(needed))));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
    this.#isNew = true;
  }
}

const LINE_BREAK = 10;

const START_BYTES = 1024 * 1024;

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

/** Limits of a commit, so that the next jobs never wait long. */
const COMMIT_EVENTS = 1_000;
const COMMIT_CHARACTERS = 1024 * 1024;
