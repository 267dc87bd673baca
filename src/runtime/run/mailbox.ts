import { AgentError } from "../../errors.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { TurnRequest } from "../../protocol/requests/requests.ts";
import type { RunPhase } from "../../protocol/answers/status.ts";
import type { Wait } from "../replay/turn-journal.ts";

/** Holds the requests of one run until the run is ready for the next one. */
export class Mailbox<Item> {
  readonly #limit: number;
  readonly #items: Item[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Throws `overloaded` when the mailbox is full. */
  checkRoom(): void {
    if (this.#items.length < this.#limit) return;
    throw new AgentError("overloaded", `the run already has ${this.#limit} queued requests`, {
      retryAfterS: 1,
    });
  }

  /** Adds an item at the end. */
  post(item: Item): void {
    this.#items.push(item);
  }

  /** Adds an item at the front, even if the mailbox is full. */
  postFirst(item: Item): void {
    this.#items.unshift(item);
  }

  /** Removes and returns the oldest item, or `undefined` when there is none. */
  take(): Item | undefined {
    // A mailbox has few items, so shifting the array is cheap.
    return this.#items.shift();
  }

  /** Removes and returns the first item that matches. */
  remove(fits: (item: Item) => boolean): Item | undefined {
    const at = this.#items.findIndex(fits);
    return at < 0 ? undefined : this.#items.splice(at, 1)[0];
  }
}

/** What the admission of a request depends on. */
export interface Admitting {
  readonly runId: RunId;
  /** The id of its newest event. */
  readonly head: number;
  /** The maximum number of its events. */
  readonly limit: number;
  readonly phase: RunPhase;
  /** The open waits of the run, oldest first. */
  readonly slot: { readonly waits: readonly Wait[] };
  readonly mailbox: { checkRoom(): void };
}

/** Throws unless a run accepts a request: `run_full`, `conflict` when it is busy, or `overloaded`. */
export function admit({ runId, head, limit, phase, slot, mailbox }: Admitting, request: TurnRequest): void {
  if (head >= limit)
    throw new AgentError(
      "run_full",
      `run ${runId} has reached its limit of ${limit} events; start a new run`,
    );
  const { on_busy: onBusy } = request;
  if (phase === "idle" || onBusy === "interrupt") return;
  if (onBusy === "reject") throw new AgentError("conflict", `run ${runId} is busy`);
  if (onBusy === undefined && phase === "waiting") {
    const [wait] = slot.waits;
    throw new AgentError("conflict", `run ${runId} waits for input`, {
      hint: "answer it with ResumeWithInput, or set on_busy",
      facts: { wait_id: wait?.waitId ?? null, request_keys: wait?.questions ?? {} },
    });
  }
  mailbox.checkRoom();
}
