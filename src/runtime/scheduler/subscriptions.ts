import type { Speaker } from "../../protocol/events/encode.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { CallId } from "../../protocol/ids.ts";
import { pathTo } from "../journal/call-id.ts";
import type { EventSubscriber, Recorder } from "../journal/recorder.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";

/** The calls of a turn whose events its code iterates, and the speakers under them. */
export class Subscriptions implements EventSubscriber {
  readonly #recorder: Recorder;
  readonly #deliveries: DeliveryQueue;
  readonly #followed = new Set<CallId>();
  /** The iterated calls above each speaker. */
  readonly #heard = new Map<Speaker, readonly CallId[]>();

  constructor(recorder: Recorder, deliveries: DeliveryQueue) {
    this.#recorder = recorder;
    this.#deliveries = deliveries;
  }

  /** Delivers the events that are recorded under a call; its speakers are registered afterwards. */
  follow(callId: CallId, take: (event: Event) => void): void {
    this.#followed.add(callId);
    this.#recorder.subscriber = this;
    this.#deliveries.follow(callId, take);
  }

  /** Registers a speaker under a call. */
  introduce(speaker: Speaker, callId: CallId): void {
    const heard = (pathTo(callId) as readonly CallId[]).filter((above) => this.#followed.has(above));
    if (heard.length > 0) this.#heard.set(speaker, heard);
  }

  /** Whether the code that iterates the events of a speaker is far behind. */
  isBehind(speaker: Speaker): boolean {
    return this.#heard.has(speaker) && this.#deliveries.isBehind;
  }

  /** Resolves when another text of a speaker may follow, and the code that iterates its events is not far behind. */
  room(speaker: Speaker): Promise<void> {
    if (!this.isBehind(speaker)) return this.#recorder.room();
    const room = this.#deliveries.caughtUp().then(() => this.#recorder.room());
    // A failed commit is reported to the run, so this rejection may stay unhandled.
    room.catch(() => {});
    return room;
  }

  /** Delivers an event to the code that iterates it, once it is in the log. */
  recorded(speaker: Speaker, text: string): void {
    for (const callId of this.#heard.get(speaker) ?? []) {
      this.#deliveries.announceEvent();
      const deliver = (): void => this.#deliveries.push({ callId, event: JSON.parse(text) as Event });
      this.#recorder.committed().then(deliver, () => {});
    }
  }
}
