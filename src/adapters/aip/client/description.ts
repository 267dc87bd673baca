import { SingleFlight } from "../../../shared/single-flight.ts";
import { within } from "../../../shared/clock.ts";
import { processClock } from "../../../http/process-clock.ts";
import type { Peer } from "../wire/messages.ts";
import type { NodeConnection } from "./node-connection.ts";

/** How old a description may be, how soon a failed attempt is repeated, and how long a caller waits for the first. */
const MS = { refresh: 60_000, retry: 5_000, patience: 3_000 };

/** The description of a node, fetched from its gateway when it is needed, and cached. */
export class NodeDescription {
  readonly #node: NodeConnection;
  #peer: Peer | undefined;
  readonly #asking = new SingleFlight(() => this.#ask());
  #askedAt = -Infinity;

  constructor(node: NodeConnection) {
    this.#node = node;
  }

  get peer(): Peer | undefined {
    return this.#peer;
  }

  /** Resolves when the description is known, or cannot be fetched now. An old one is refreshed in the background. */
  async ready(): Promise<void> {
    const isDue = processClock.monotonic() - this.#askedAt > (this.#peer ? MS.refresh : MS.retry);
    if (isDue) void this.#asking.run();
    const { running } = this.#asking;
    if (this.#peer || running === undefined) return;
    await within(processClock, MS.patience, running);
  }

  async #ask(): Promise<void> {
    try {
      this.#peer = (await this.#node.describe()) ?? this.#peer;
    } catch {
      // The error is reported when the node is called; until then the last description is used.
    } finally {
      this.#askedAt = processClock.monotonic();
    }
  }
}
