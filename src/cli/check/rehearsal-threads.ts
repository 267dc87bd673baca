import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { Worker } from "node:worker_threads";
import type { TurnToRehearse } from "../../runtime/log-rehearsal.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { RehearsedTurn } from "../../runtime/run/rehearsal.ts";
import { EXIT, Exit } from "../exit.ts";
import { Meter } from "../print/meter.ts";
import { countOpenTurns, fetchCopy } from "./places.ts";
import { stderr } from "../print/terminal.ts";
import type { ThreadData, ThreadMessage } from "./rehearsal-thread.ts";

/** What threads rehearse together. */
export type ThreadsOptions = Pick<
  ThreadData,
  "agents" | "config" | "finished" | "keepVersions" | "limitMs" | "place"
> & {
  readonly threads: number;
};

/** An agent of which so many turns have blocked a thread is not tried further. */
const BLOCKS_LIMIT = 3;

/** How often is looked whether a thread is blocked, in milliseconds. */
const LOOK_MS = 250;

/** Rehearses the turns of a log in several threads, so that code that loops without end can be stopped. `take` gets each turn. */
export async function rehearseInThreads(
  options: ThreadsOptions,
  take: (turn: RehearsedTurn) => void,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "troupe-check-"));
  const parts: Part[] = [];
  let meter: Meter | undefined;
  try {
    const { place, threads, finished } = options;
    const readable = /^https?:\/\//.test(place) ? await fetchCopy(place, directory) : place;
    meter = new Meter("turns", finished ?? (await countOpenTurns(readable)));
    let done = 0;
    const count = (turn: RehearsedTurn): void => {
      take(turn);
      meter?.show((done += 1));
    };
    for (let part = 0; part < threads; part += 1)
      parts.push(new Part({ ...options, place: readable }, part, directory, count));
    await Promise.all(parts.map((part) => part.run()));
  } finally {
    meter?.end();
    await Promise.all(parts.map((part) => part.stop()));
    await rm(directory, { recursive: true, force: true });
  }
}

/** The turns of one thread, and of those that follow it when it was blocked. */
class Part {
  readonly #options: ThreadsOptions;
  readonly #part: number;
  readonly #directory: string;
  readonly #take: (turn: RehearsedTurn) => void;
  readonly #done: RequestId[] = [];
  /** The turns that were begun and have no outcome yet. */
  readonly #open = new Map<RequestId, TurnToRehearse>();
  /** How many turns of each agent have blocked a thread. */
  readonly #blocks = new Map<string, number>();
  #worker: Worker | undefined;

  constructor(options: ThreadsOptions, part: number, directory: string, take: (turn: RehearsedTurn) => void) {
    this.#options = options;
    this.#part = part;
    this.#directory = join(directory, String(part));
    this.#take = take;
  }

  async run(): Promise<void> {
    let suspects: readonly RequestId[] = [];
    while ((await this.#runThread(suspects)) === "blocked") {
      const [first, ...others] = [...this.#open.values()];
      // Of several at once nobody knows which one it was, so they are tried one after the other.
      if (others.length > 0) suspects = [...this.#open.keys()];
      else if (first) this.#block(first);
    }
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  async #runThread(suspects: readonly RequestId[]): Promise<"ended" | "blocked"> {
    this.#open.clear();
    const { threads: of, finished, ...options } = this.#options;
    const beats = new Int32Array(new SharedArrayBuffer(4));
    const workerData: ThreadData = {
      ...options,
      ...(finished !== undefined && { finished: Math.ceil(finished / of) }),
      directory: this.#directory,
      part: this.#part,
      of,
      done: this.#done,
      suspects,
      blocked: [...this.#blocks].filter(([, count]) => count >= BLOCKS_LIMIT).map(([agent]) => agent),
      beats,
    };
    // In the source tree the thread is TypeScript like this file; in the package both are JavaScript.
    const file = new URL(`./rehearsal-thread${extname(import.meta.url)}`, import.meta.url);
    // What agents print is not the output of the command.
    const worker = new Worker(file, { workerData, name: "rehearsal", stdout: true });
    worker.stdout.on("data", (text: Buffer) => stderr.write(String(text)));
    this.#worker = worker;
    const { promise, resolve, reject } = Promise.withResolvers<"ended" | "blocked">();
    worker.on("message", (message: ThreadMessage) => {
      if (message.type === "begun") this.#open.set(message.turn.requestId, message.turn);
      else if (message.type === "turn") this.#end(message.turn);
      else if (message.type === "ended") resolve("ended");
      else reject(new Exit(EXIT.usage, message.message, message.hint));
    });
    worker.on("error", reject);
    worker.on("exit", () => reject(new Exit(EXIT.usage, "the code of an agent has ended its thread")));
    const stopLooking = this.#look(beats, () => resolve("blocked"));
    try {
      return await promise;
    } finally {
      stopLooking();
      await worker.terminate();
    }
  }

  #look(beats: Int32Array, blocked: () => void): () => void {
    const { limitMs } = this.#options;
    let [beat, at] = [0, performance.now()];
    const timer = setInterval(() => {
      const now = Atomics.load(beats, 0);
      if (now !== beat || now === 0) [beat, at] = [now, performance.now()];
      else if (performance.now() - at > limitMs) blocked();
    }, LOOK_MS);
    return () => clearInterval(timer);
  }

  #end(turn: RehearsedTurn): void {
    this.#open.delete(turn.requestId);
    this.#done.push(turn.requestId);
    this.#take(turn);
  }

  #block(turn: TurnToRehearse): void {
    this.#blocks.set(turn.agent, (this.#blocks.get(turn.agent) ?? 0) + 1);
    const message = `the code does not give back control within ${this.#options.limitMs} ms`;
    this.#end({ ...turn, rehearsed: { outcome: "undecided", message } });
  }
}
