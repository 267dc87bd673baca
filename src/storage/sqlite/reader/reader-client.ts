import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { AgentError } from "../../../errors.ts";
import { Unavailable } from "../../../ports/event-log.ts";
import type { SqlQuery } from "../../sql/query.ts";

/** A statement for the thread of the reader. */
export interface RowsQuestion {
  readonly id: number;
  readonly text: string;
  readonly values: readonly (string | number)[];
}

/** Its rows, or why there are none. */
export interface RowsAnswer {
  readonly id: number;
  readonly rows: readonly object[];
  readonly error?: unknown;
}

/**
 * Asks the database in a thread of its own, because a question that reads many rows would hold up everything else. The thread starts
 * with the first question.
 */
export class ReaderClient {
  readonly #path: string;
  readonly #waiting = new Map<number, PromiseWithResolvers<readonly object[]>>();
  #worker: Worker | undefined;
  #lastId = 0;
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Fails with `Unavailable` if the database cannot be read. */
  async ask<Answer>({ text, values, toAnswer }: SqlQuery<Answer>): Promise<Answer> {
    if (this.#isClosed) throw new AgentError("unavailable", "the log is closed", { retryAfterS: 1 });
    if (this.#waiting.size >= MOST_WAITING)
      throw new AgentError("overloaded", `${MOST_WAITING} questions to the statistics wait for an answer`, {
        retryAfterS: 1,
      });
    const worker = (this.#worker ??= this.#start());
    const answered = Promise.withResolvers<readonly object[]>();
    this.#lastId += 1;
    this.#waiting.set(this.#lastId, answered);
    worker.ref();
    const bound = values.map((value) => (typeof value === "object" ? JSON.stringify(value) : value));
    const asked: RowsQuestion = { id: this.#lastId, text, values: bound };
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
    worker.postMessage(asked);
    return toAnswer(await answered.promise);
  }

  /** Answers what was asked, then ends the thread. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    if (worker === undefined) return;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    worker.once("exit", () => resolve());
    worker.ref();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origins
    worker.postMessage("close");
    await ended;
  }

  #start(): Worker {
    // In the source tree the thread is TypeScript like this file; in the package both are JavaScript.
    const file = new URL(`./reader-thread${extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(file, { workerData: this.#path, name: "log-reader" });
    worker.on("message", ({ id, rows, error }: RowsAnswer) => {
      const answered = this.#waiting.get(id);
      this.#waiting.delete(id);
      // An open log does not keep the process alive, but a question does.
      if (this.#waiting.size === 0 && !this.#isClosed) worker.unref();
      if (error === undefined) answered?.resolve(rows);
      else answered?.reject(toUnavailable(error));
    });
    let cause: unknown;
    worker.on("error", (error: unknown) => {
      cause = error;
    });
    worker.on("exit", () => {
      this.#worker = undefined;
      for (const answered of this.#waiting.values()) answered.reject(toUnavailable(cause));
      this.#waiting.clear();
    });
    return worker;
  }
}

function toUnavailable(cause: unknown): Unavailable {
  return new Unavailable("the log cannot be read here", { cause });
}

/** More than a few people with several pages ask at once. */
const MOST_WAITING = 256;
