import { EventEmitter } from "eventemitter3";
import type { WakeCarrier } from "../../ports/router.ts";
import type { RunId } from "../../protocol/ids.ts";

/** The wake listeners of each run, and those of all runs. */
export class Tails {
  // One emitter per run with listeners: a single emitter would have one event name per run, and is five times
  // slower.
  readonly #emitters = new Map<RunId, EventEmitter<"appended">>();
  readonly #ofAll = new EventEmitter<{ appended: [RunId] }>();

  /** The runs with listeners of their own. */
  get runIds(): Iterable<RunId> {
    return this.#emitters.keys();
  }

  /** Whether a run has listeners of its own. */
  has(runId: RunId): boolean {
    return this.#emitters.has(runId);
  }

  /** Whether anything listens to all runs. */
  get isWatched(): boolean {
    return this.#ofAll.listenerCount("appended") > 0;
  }

  /** Calls `wake` after each `wake(runId)` of this object, until the returned function is called. */
  add(runId: RunId, wake: () => void): () => void {
    const emitter = this.#emitters.get(runId) ?? new EventEmitter<"appended">();
    this.#emitters.set(runId, emitter);
    // A new function per call, so that the same `wake` can be added twice.
    const listener = (): void => wake();
    emitter.on("appended", listener);
    return () => {
      emitter.off("appended", listener);
      const isUnused = emitter.listenerCount("appended") === 0;
      if (isUnused && this.#emitters.get(runId) === emitter) this.#emitters.delete(runId);
    };
  }

  /** Calls `wake` with the id after each `wake` of any run, until the returned function is called. */
  addToAll(wake: (runId: RunId) => void): () => void {
    const listener = (runId: RunId): void => wake(runId);
    this.#ofAll.on("appended", listener);
    return () => {
      this.#ofAll.off("appended", listener);
    };
  }

  wake(runId: RunId): void {
    this.#emitters.get(runId)?.emit("appended");
    this.#ofAll.emit("appended", runId);
  }
}

/**
 * What is followed on a node, for the carrier of its wakes. It makes the changes of a run that it owns itself, so no other node
 * has to tell it.
 */
export class FollowedRuns {
  readonly #tails: Tails;
  readonly #isOwn: (runId: RunId) => boolean;
  #carrier: WakeCarrier | undefined;

  constructor(tails: Tails, isOwn: (runId: RunId) => boolean) {
    this.#tails = tails;
    this.#isOwn = isOwn;
  }

  get carrier(): WakeCarrier | undefined {
    return this.#carrier;
  }

  carry(carrier: WakeCarrier): () => void {
    this.#carrier = carrier;
    for (const runId of this.#tails.runIds) this.lost(runId);
    if (this.#tails.isWatched) carrier.follow(undefined);
    return () => {
      if (this.#carrier === carrier) this.#carrier = undefined;
    };
  }

  /** As `EventLog.tail`. */
  tail(runId: RunId, wake: () => void): () => void {
    const stop = this.#tails.add(runId, wake);
    this.lost(runId);
    return () => {
      stop();
      if (!this.#tails.has(runId)) this.#carrier?.unfollow(runId);
    };
  }

  /** As `EventLog.watch`. */
  watch(wake: (runId: RunId) => void): () => void {
    const wasWatched = this.#tails.isWatched;
    const stop = this.#tails.addToAll(wake);
    if (!wasWatched) this.#carrier?.follow(undefined);
    return () => {
      if (!this.#tails.isWatched) return;
      stop();
      if (!this.#tails.isWatched) this.#carrier?.unfollow(undefined);
    };
  }

  /** This node may not own a run any more. */
  lost(runId: RunId): void {
    if (this.#carrier !== undefined && this.#tails.has(runId) && !this.#isOwn(runId))
      this.#carrier.follow(runId);
  }
}
