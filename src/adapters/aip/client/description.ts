import { SingleFlight } from "../../../shared/single-flight.ts";
import { pause, systemClock } from "../rpc/clock.ts";
import type { Peer } from "../wire/messages.ts";
import type { Target } from "./target.ts";

/** How old a description may be, how soon a failed attempt is repeated, and how long a caller waits for the first. */
const MS = { refresh: 60_000, retry: 5_000, patience: 3_000 };

/** The description of a node, fetched from its gateway when it is needed, and cached. */
export class NodeDescription {
  readonly #target: Target;
  #peer: Peer | undefined;
  readonly #asking = new SingleFlight(() => this.#ask());
  #askedAt = -Infinity;

  constructor(target: Target) {
    this.#target = target;
  }

  get peer(): Peer | undefined {
    return this.#peer;
  }

  /** Resolves when the description is known, or cannot be fetched now. An old one is refreshed in the background. */
  async ready(): Promise<void> {
    const isDue = systemClock.monotonic() - this.#askedAt > (this.#peer ? MS.refresh : MS.retry);
    if (isDue) void this.#asking.run();
    const { running } = this.#asking;
    if (this.#peer || running === undefined) return;
    const enough = new AbortController();
    await Promise.race([running, pause(systemClock, MS.patience, enough.signal)]);
    enough.abort();
  }

  async #ask(): Promise<void> {
    try {
      this.#peer = (await this.#target.describe()) ?? this.#peer;
    } catch {
      // The error is reported when the node is called; until then the last description is used.
    } finally {
      this.#askedAt = systemClock.monotonic();
    }
  }
}
