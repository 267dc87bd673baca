import type { Event } from "../../protocol/events/events.ts";
import type { RequestStatus } from "../../protocol/answers/status.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { SingleFlight } from "../../shared/single-flight.ts";
import type { RequestFollowOptions, OpenWait } from "../call-api.ts";
import { eventsPath } from "../requests/requests.ts";
import type { RequestReceipt, Requests } from "../requests/requests.ts";
import { unlessAborted } from "../../shared/clock.ts";
import { hasCode } from "../wire/problem.ts";
import { RequestWaits } from "./request-waits.ts";
import type { TurnOutcome } from "./outcome.ts";

/** A request that a server has accepted. */
export interface AgentReceipt extends RequestReceipt {
  /** The requests to its agent. */
  readonly requests: Requests;
}

/** Reads the events of a request as they come, until it ends or waits. */
export class FollowedRequest {
  readonly accepted: Promise<AgentReceipt>;
  readonly events: EventBuffer = new EventBuffer();
  readonly #options: RequestFollowOptions;
  readonly #answers: Answers;
  readonly #waits: RequestWaits = new RequestWaits((wait, values) => this.#answer(wait, values));
  #end: TurnOutcome | undefined;
  readonly #reading = new SingleFlight(() =>
    this.#readOn().catch((thrown: unknown) => {
      this.#run.reject(thrown);
      throw thrown;
    }),
  );
  #news: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #run: PromiseWithResolvers<RunId> = Promise.withResolvers();

  constructor(accepted: Promise<AgentReceipt>, options: RequestFollowOptions) {
    this.accepted = accepted;
    this.#options = options;
    this.#answers = new Answers(options.answer);
    // Those who need the run get it from `runId`.
    this.#run.promise.catch(() => {});
  }

  /** The run as the first event names it. */
  get runId(): Promise<RunId> {
    return this.#run.promise;
  }

  /** How the turn ended, if it has. */
  get end(): TurnOutcome | undefined {
    return this.#end;
  }

  get waits(): readonly OpenWait[] {
    return this.#waits.all.filter(({ waitId }) => !this.#answers.has(waitId));
  }

  /** Resolves with the next events. */
  get news(): Promise<void> {
    return this.#news.promise;
  }

  get isReading(): boolean {
    return this.#reading.running !== undefined;
  }

  /** Reads until the turn has ended, or waits for the answer of another client. */
  read(): Promise<void> {
    return this.#reading.run();
  }

  async #readOn(): Promise<void> {
    const { signal } = this.#options;
    while (this.#end === undefined) {
      const accepted = await unlessAborted(this.accepted, signal);
      const { requests, requestId, end } = accepted;
      if (end !== undefined) {
        this.#end = end;
        return this.#name(accepted, accepted.runId);
      }
      const { given } = this.#answers;
      await this.#readStream(accepted).catch((thrown: unknown) => {
        if (accepted.runId !== undefined || !hasCode(thrown, "not_found")) throw thrown;
        throw requests.wire.fault(
          "call_failed",
          `answers with a status only, and does not know ${requestId}`,
        );
      });
      if (this.#end !== undefined) return;
      this.#answers.check();
      const { next } = this.#answers;
      if (next) {
        await unlessAborted(next, signal);
        continue;
      }
      if (this.waits.length > 0) return;
      // The stream has ended at a question that was answered in this moment.
      if (this.#answers.given > given) continue;
      // A stream without an end of the turn; a server can also deliver fewer events than were asked for.
      const status = await requests.progress(requestId, signal);
      if (!isCompleted(status))
        throw requests.wire.fault("call_failed", `ended the events of ${requestId} too early`);
      this.#end = status;
      this.#name(accepted, status.run_id);
    }
  }

  /** Names the run of a request that has ended, because no event has if nothing was streamed. */
  #name({ requests, requestId }: AgentReceipt, runId: RunId | undefined): void {
    if (typeof runId === "string") this.#run.resolve(runId);
    else this.#run.reject(requests.wire.fault("call_failed", `names no run of ${requestId}`));
  }

  /** Reads one stream, until it ends. */
  async #readStream({ requests, requestId }: AgentReceipt): Promise<void> {
    const { signal, patient = false } = this.#options;
    const stream = requests.follow(eventsPath(requestId), {
      query: { follow: patient || undefined },
      after: this.events.last,
      signal,
      openWaits: () => (patient ? 0 : this.waits.length),
      progress: () => requests.progress(requestId, signal),
    });
    for await (const followed of stream) {
      if (followed.type !== "events") continue;
      const events = followed.events as unknown as readonly Event[];
      if (events[0] !== undefined) this.#run.resolve(events[0].run_id);
      for (const event of events) this.#waits.add(event);
      this.events.add(events);
      this.#end = events.findLast(isEnd) as TurnOutcome | undefined;
      this.#answers.ask(this.waits);
      this.#news.resolve();
      this.#news = Promise.withResolvers();
      if (this.#end !== undefined) return;
    }
  }

  async #answer({ waitId }: OpenWait, values: JsonObject): Promise<void> {
    const { requests, requestId } = await this.accepted;
    await this.#answers.give(waitId, requests.resume(requestId, waitId, values));
    // The turn continues; what is thrown here, the next await throws again.
    this.read().catch(() => {});
  }
}

function isCompleted(status: Partial<RequestStatus>): status is RequestStatus {
  return status.status === "completed";
}

function isEnd(event: Event): boolean {
  return event.type === "RequestCompleted" && !(event.depth > 0);
}

/** The answers to the waits of one request. */
class Answers {
  readonly #answer: RequestFollowOptions["answer"];
  /** The waits that `answer` was asked about. */
  readonly #asked: Set<number> = new Set();
  /** The waits whose answers are in the log, although the events of that may not have been read. */
  readonly #given: Set<number> = new Set();
  /** The answers that are being made or sent; these promises never reject. */
  readonly #coming: Set<Promise<void>> = new Set();
  #failure: { readonly reason: unknown } | undefined;

  constructor(answer: RequestFollowOptions["answer"]) {
    this.#answer = answer;
  }

  /** Whether a wait is answered. */
  has(waitId: number): boolean {
    return this.#given.has(waitId);
  }

  /** The number of waits that are answered. */
  get given(): number {
    return this.#given.size;
  }

  /** Resolves when one of the coming answers was given or withheld; `undefined` if none is coming. */
  get next(): Promise<void> | undefined {
    return this.#coming.size > 0 ? Promise.race(this.#coming) : undefined;
  }

  /** Throws what `answer` threw. */
  check(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure) throw failure.reason;
  }

  /** Asks for answers to the waits that are new. */
  ask(waits: readonly OpenWait[]): void {
    const answer = this.#answer;
    if (answer === undefined) return;
    for (const wait of waits) {
      if (this.#asked.has(wait.waitId)) continue;
      this.#asked.add(wait.waitId);
      this.#keep(
        make(answer, wait).catch((reason: unknown) => {
          this.#failure ??= { reason };
        }),
      );
    }
  }

  /** Keeps that a wait is answered as soon as its answer was sent. */
  async give(waitId: number, sent: Promise<void>): Promise<void> {
    const given = sent.then(() => void this.#given.add(waitId));
    // A refusal is for the one who answers; the turn still waits.
    this.#keep(given.catch(() => {}));
    await given;
  }

  #keep(coming: Promise<void>): void {
    this.#coming.add(coming);
    void coming.then(() => this.#coming.delete(coming));
  }
}

async function make(answer: NonNullable<RequestFollowOptions["answer"]>, wait: OpenWait): Promise<void> {
  const values = await answer(wait);
  if (values === undefined) return;
  try {
    await wait.answer(values);
  } catch (thrown) {
    // Another client has answered first, or the turn has ended.
    if (!hasCode(thrown, "conflict", "gone")) throw thrown;
  }
}

/** The newest events of a request. Older ones are on the server. */
class EventBuffer {
  readonly #events: Event[] = [];
  /** The id of the newest event that is no longer here. */
  #dropped = 0;

  /** The id of the newest event; 0 if there is none. */
  get last(): number {
    return this.#events.at(-1)?.id ?? this.#dropped;
  }

  add(events: readonly Event[]): void {
    for (const event of events) this.#events.push(event);
    if (this.#events.length <= LIMIT) return;
    // Half of them at once, because each removal moves all others.
    const removed = this.#events.splice(0, this.#events.length - LIMIT / 2);
    this.#dropped = removed.at(-1)?.id ?? this.#dropped;
  }

  /** The events behind one; `undefined` if some of them are no longer here. */
  after(id: number): readonly Event[] | undefined {
    if (id < this.#dropped) return undefined;
    const first = this.#events.findLastIndex((event) => event.id <= id) + 1;
    return this.#events.slice(first);
  }
}

const LIMIT = 10_000;
