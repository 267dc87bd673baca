import type { ReceivedEvent } from "./received-events.ts";

/** The waits of a stream that are not answered yet. */
export class UnansweredWaits {
  readonly #open = new Set<unknown>();

  get size(): number {
    return this.#open.size;
  }

  /** Updates the waits for an event. */
  saw({ id, type, ...event }: ReceivedEvent): void {
    if (type === "WaitForInput") this.#open.add(event["wait_id"] ?? id);
    else if (type === "ResumeWithInput" || type === "WaitExpired") this.#open.delete(event["wait_id"]);
    else if (type === "RequestCompleted" && event["depth"] === 0) this.#open.clear();
  }
}
