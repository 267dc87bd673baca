import type { TurnWatch } from "../../../faults/client.ts";

/** A pause that a client saw in an open turn: from its request or an event to the next event. */
interface Pause {
  readonly agent: string;
  readonly requestId: string;
  readonly ms: number;
  /** When it was over, in milliseconds since 1970. */
  readonly endMs: number;
}

/** An open turn. */
interface OpenTurn {
  readonly agent: string;
  readonly sinceMs: number;
}

/** Shorter pauses are not remembered, in milliseconds. */
const LONG_MS = 100;

/** Measures the longest pause that a client saw in an open turn. */
export class PauseWatch implements TurnWatch {
  readonly #open = new Map<string, OpenTurn>();
  #pauses: Pause[] = [];

  /**
   * The longest pause since the last call. The pauses of some agents do not count if they contain one of these times, in
   * milliseconds since 1970.
   */
  take(
    agents: ReadonlySet<string>,
    timesMs: readonly number[],
  ): { readonly ms: number; readonly requestId: string } {
    const counted = this.#pauses.filter(
      ({ agent, ms, endMs }) =>
        !agents.has(agent) || timesMs.every((timeMs) => timeMs < endMs - ms || timeMs > endMs),
    );
    this.#pauses = [];
    return counted.reduce((longest, pause) => (pause.ms > longest.ms ? pause : longest), NONE);
  }

  /** Forgets the pauses so far, so that those of starting nodes do not count as pauses of a fault that comes after them. */
  forget(): void {
    this.#pauses = [];
    const sinceMs = performance.now();
    for (const [requestId, turn] of this.#open) this.#open.set(requestId, { ...turn, sinceMs });
  }

  /** The open turns, and for how long their clients have seen nothing of them. */
  get open(): readonly string[] {
    const now = performance.now();
    return [...this.#open].map(
      ([requestId, { sinceMs }]) => `${requestId} for ${Math.round(now - sinceMs)} ms`,
    );
  }

  began(requestId: string, agent: string): void {
    this.#open.set(requestId, { agent, sinceMs: performance.now() });
  }

  heard(requestId: string): void {
    const now = performance.now();
    const { agent = "", sinceMs = now } = this.#open.get(requestId) ?? {};
    this.#open.set(requestId, { agent, sinceMs: now });
    const ms = now - sinceMs;
    if (ms >= LONG_MS) this.#pauses.push({ agent, requestId, ms, endMs: Date.now() });
  }

  ended(requestId: string): void {
    this.#open.delete(requestId);
  }
}

const NONE = { ms: 0, requestId: "" };
