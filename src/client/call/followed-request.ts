import type { Event } from "../../protocol/events/events.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { FollowOptions, OpenWait } from "../call-api.ts";
import { unlessAborted } from "../wire/clock.ts";
import { eventsPath } from "../requests/requests.ts";
import type { Accepted, Requests } from "../requests/requests.ts";
import { OpenWaits } from "./open-waits.ts";
import { EventBuffer } from "./event-buffer.ts";
import { Answers } from "./answers.ts";
import type { TurnEnd } from "./outcome.ts";

/** A request that a server has accepted. */
export interface AcceptedRequest extends Accepted {
  /** The requests to its agent. */
  readonly requests: Requests;
}

/** Reads the events of a request as they come, until it ends or waits. */
export class FollowedRequest {
  readonly accepted: Promise<AcceptedRequest>;
  readonly events: EventBuffer = new EventBuffer();
  readonly #options: FollowOptions;
  readonly #answers: Answers;
  readonly #waits: OpenWaits = new OpenWaits((wait, values) => this.#answer(wait, values));
  #end: TurnEnd | undefined;
  #reading: Promise<void> | undefined;
  #news: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(accepted: Promise<AcceptedRequest>, options: FollowOptions) {
    this.accepted = accepted;
    this.#options = options;
    this.#answers = new Answers(options.answer);
  }

  /** How the turn ended, if it has. */
  get end(): TurnEnd | undefined {
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
    return this.#reading !== undefined;
  }

  /** Reads until the turn has ended, or waits for the answer of another client. */
  read(): Promise<void> {
    this.#reading ??= this.#readOn().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOn(): Promise<void> {
    const { signal } = this.#options;
    while (this.#end === undefined) {
      const { requests, requestId } = await unlessAborted(this.accepted, signal);
      await this.#readStream(requests, requestId);
      if (this.#end !== undefined) return;
      this.#answers.check();
      const { next } = this.#answers;
      if (next) {
        await unlessAborted(next, signal);
        continue;
      }
      if (this.waits.length > 0) return;
      // A stream without an end of the turn; a server can also deliver fewer events than were asked for.
      const status = await requests.status(requestId, signal);
      if (status.status !== "completed")
        throw requests.wire.fault("call_failed", `ended the events of ${requestId} too early`);
      this.#end = status;
    }
  }

  /** Reads one stream, until it ends. */
  async #readStream(requests: Requests, requestId: RequestId): Promise<void> {
    const { signal, patient = false } = this.#options;
    const stream = requests.follow(eventsPath(requestId), {
      query: { follow: patient || undefined },
      after: this.events.last,
      signal,
      openWaits: () => (patient ? 0 : this.waits.length),
      progress: () => requests.status(requestId, signal),
    });
    for await (const followed of stream) {
      if (followed.type !== "events") continue;
      const events = followed.events as unknown as readonly Event[];
      for (const event of events) this.#waits.add(event);
      this.events.add(events);
      this.#end = events.findLast(isEnd) as TurnEnd | undefined;
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

function isEnd(event: Event): boolean {
  return event.type === "RequestCompleted" && !(event.depth > 0);
}
