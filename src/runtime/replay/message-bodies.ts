import type { EventLog } from "../../ports/event-log.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { readOne } from "./beginning.ts";

/**
 * The bodies of messages, by the ids of their events, while a run is loaded. The records of the log and the state of a run
 * name messages only by id.
 */
export class MessageBodies {
  readonly #known = new Map<number, Json>();
  readonly #missing: { readonly id: number; readonly into: Json[]; readonly index: number }[] = [];

  /** Adds a message that was visited. */
  add(id: number, body: Json): void {
    this.#known.set(id, body);
  }

  /** The bodies of messages. Those that were not visited are `null` until `complete` has run. */
  of(ids: readonly number[]): Json[] {
    const bodies: Json[] = [];
    for (const [index, id] of ids.entries()) {
      const body = this.#known.get(id);
      if (body === undefined) this.#missing.push({ id, into: bodies, index });
      bodies.push(body ?? null);
      // A body is needed once, because each message has one reader.
      this.#known.delete(id);
    }
    return bodies;
  }

  /** Reads the missing bodies from the log. */
  async complete(log: EventLog, runId: RunId): Promise<void> {
    for (const { id, into, index } of this.#missing.splice(0)) {
      const text = await readOne(log, runId, id);
      if (text !== undefined) into[index] = (JSON.parse(text) as Event & { readonly body: Json }).body;
    }
  }
}
