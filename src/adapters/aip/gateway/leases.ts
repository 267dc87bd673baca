import { every } from "../../../shared/clock.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";

/** How long a registered node may be silent. */
const LEASE_MS = 30_000;

/** How often leases are checked. */
const CHECK_MS = 10_000;

/** The time of the newest heartbeat of each registered node. */
export class Leases {
  readonly #clock: MonotonicClock;
  readonly #seenAt = new Map<string, number>();
  readonly #stop: () => void;

  constructor(clock: MonotonicClock, expire: (id: string) => void) {
    this.#clock = clock;
    this.#stop = every(clock, CHECK_MS, () => {
      const now = clock.monotonic();
      for (const [id, seenAt] of this.#seenAt) if (now - seenAt >= LEASE_MS) expire(id);
    });
  }

  begin(id: string): void {
    this.#seenAt.set(id, this.#clock.monotonic());
  }

  /** Returns whether the node has a lease. */
  renew(id: string): boolean {
    if (!this.#seenAt.has(id)) return false;
    this.begin(id);
    return true;
  }

  end(id: string): void {
    this.#seenAt.delete(id);
  }

  close(): void {
    this.#stop();
  }
}
