import { reservationId } from "../../ports/artifact-store.ts";
import type { ArtifactStore, NewArtifact, StoredArtifact } from "../../ports/artifact-store.ts";
import { AgentError } from "../../errors.ts";
import type { Environment } from "../../ports/environment.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { ArtifactId, RunId } from "../../protocol/ids.ts";
import { isLeaving } from "../journal/system-runs.ts";

/** The stores that the files of runs need. */
export interface RunArtifactsOptions {
  readonly artifacts: ArtifactStore;
  readonly log: EventLog;
  readonly environment: Environment;
  readonly telemetry: Telemetry;
}

/**
 * The files of runs. A file is stored as long as a run refers to it. The removal of a run waits for the files that are
 * being stored for it, and a file that is stored for a run after its removal is removed. An upload belongs to a
 * reservation in the store until its run has accepted it. With several nodes, so do the files of a request, because another
 * node may remove a run that they belong to.
 */
export class RunArtifacts {
  readonly store: ArtifactStore;
  readonly #log: EventLog;
  readonly #environment: Environment;
  readonly #telemetry: Telemetry;
  /** Kept here and not in the run, which may be passivated in the meantime. */
  readonly #storing = new Map<RunId, Set<Promise<unknown>>>();
  /** Requests with files that are not accepted or refused yet. */
  readonly #attaching = new Set<Promise<unknown>>();
  /** Running removals. */
  readonly #removing = new Set<Promise<unknown>>();

  constructor({ artifacts, log, environment, telemetry }: RunArtifactsOptions) {
    this.store = artifacts;
    this.#log = log;
    this.#environment = environment;
    this.#telemetry = telemetry;
  }

  /** Stores a file, even if the turn that asked for it ends in the meantime. */
  put(artifact: NewArtifact & { readonly runId: RunId }): Promise<StoredArtifact> {
    return this.#storeFor(artifact.runId, this.store.put(artifact));
  }

  /**
   * Stores a file of a client, and keeps it if `accept` has its run refer to it. The run can be removed while the client
   * sends the bytes, so the file belongs to a reservation until then.
   */
  async offer(
    artifact: NewArtifact & { readonly runId: RunId },
    accept: (stored: StoredArtifact) => Promise<unknown>,
  ): Promise<void> {
    const reservation = this.#newReservation();
    let isOffered = false;
    try {
      const stored = await this.store.put({ ...artifact, runId: reservation });
      isOffered = true;
      await accept(stored);
    } catch (error) {
      // Where the row of the run cannot be read, the error says that already.
      const isRemoved = (): Promise<boolean> => this.#isRemoved(artifact.runId).catch(() => false);
      if (!isOffered || isRefusal(error) || (await isRemoved()))
        await this.#end(reservation, () => this.store.removeRun(reservation));
      throw error;
    }
    await this.#detach(reservation);
  }

  /** Whether a run has files, or one is being stored for it in this process. */
  async has(runId: RunId): Promise<boolean> {
    return this.#storing.has(runId) || this.store.has(runId);
  }

  /** Has a run refer to files. */
  async attach(artifactIds: readonly ArtifactId[], runId: RunId): Promise<void> {
    if (artifactIds.length === 0) return;
    await this.#storeFor(runId, this.store.attach(artifactIds, runId));
  }

  /**
   * Has a run refer to the files of its open requests: before a turn begins, so that it does not end without them, and
   * when the run is loaded, in case of a crash before that. Reports a failure and never rejects.
   */
  async keep(artifactIds: readonly ArtifactId[], runId: RunId): Promise<void> {
    try {
      await this.attach(artifactIds, runId);
    } catch (error) {
      this.#telemetry.fault(`the files of run ${runId} could not be attached`, error);
    }
  }

  /**
   * Reserves files for a request that is about to be accepted: no removal of a run removes them until the returned
   * function is called, with the error of the request if it failed. Throws `unprocessable` for a file that does not exist,
   * or that its client does not see.
   */
  async reserve(
    artifactIds: readonly ArtifactId[],
    isSeen: IsSeen = seesEach,
  ): Promise<(error?: unknown) => Promise<void>> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#attaching.add(promise);
    const release = (): void => {
      this.#attaching.delete(promise);
      resolve();
    };
    try {
      await Promise.all(this.#removing);
      await this.#checkThere(artifactIds, isSeen);
      const detach = this.#log.node === undefined ? undefined : await this.#reserveInStore(artifactIds);
      return async (error) => {
        release();
        await detach?.(error);
      };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Removes the files of a run that no other run refers to. */
  remove(runId: RunId): Promise<void> {
    const before = [...(this.#storing.get(runId) ?? []), ...this.#attaching];
    const removed = Promise.allSettled(before).then(() => this.store.removeRun(runId));
    const forget = (): void => void this.#removing.delete(ended);
    const ended: Promise<void> = removed.then(forget, forget);
    this.#removing.add(ended);
    return removed;
  }

  /**
   * Reserves files against the removals of all nodes. A reservation that its node does not end, because it dies or does
   * not know whether the request was accepted, ends when it is as old as a file that waits for a request.
   */
  async #reserveInStore(artifactIds: readonly ArtifactId[]): Promise<(error: unknown) => Promise<void>> {
    const reservation = this.#newReservation();
    await this.store.attach(artifactIds, reservation);
    try {
      // A removal may have come before.
      await this.#checkThere(artifactIds);
    } catch (error) {
      await this.#detach(reservation);
      throw error;
    }
    return async (error) => {
      if (error === undefined || isRefusal(error)) await this.#detach(reservation);
    };
  }

  #newReservation(): RunId {
    return reservationId(this.#environment.now(), this.#environment.newId());
  }

  #detach(reservation: RunId): Promise<void> {
    return this.#end(reservation, () => this.store.detach(reservation));
  }

  /** Ends a reservation. A failure is reported and never thrown: the reservation ends a day later. */
  async #end(reservation: RunId, end: () => Promise<void>): Promise<void> {
    try {
      await end();
    } catch (error) {
      this.#telemetry.fault(`${reservation} could not be removed`, error);
    }
  }

  /** Has the removal of a run wait for a file; removes the file if the run was removed before. */
  #storeFor<Result>(runId: RunId, stored: Promise<Result>): Promise<Result> {
    const kept = stored.then(async (result) => {
      await this.#keepNoneOfRemoved(runId);
      return result;
    });
    const storing = this.#storing.get(runId) ?? new Set();
    this.#storing.set(runId, storing.add(kept));
    const forget = (): void => {
      storing.delete(kept);
      if (storing.size === 0 && this.#storing.get(runId) === storing) this.#storing.delete(runId);
    };
    kept.then(forget, forget);
    return kept;
  }

  async #checkThere(artifactIds: readonly ArtifactId[], isSeen: IsSeen = seesEach): Promise<void> {
    for (const artifactId of artifactIds) {
      const file = await this.store.get(artifactId);
      if (file !== undefined && (await isSeen(file))) continue;
      throw new AgentError("unprocessable", `there is no artifact ${artifactId}`, {
        issues: [{ path: "attachments", message: `${artifactId} is unknown` }],
      });
    }
  }

  /** The row of the run shows a removal that may have missed a file. */
  async #keepNoneOfRemoved(runId: RunId): Promise<void> {
    if (await this.#isRemoved(runId)) await this.store.removeRun(runId);
  }

  async #isRemoved(runId: RunId): Promise<boolean> {
    const run = await this.#log.run(runId);
    return run !== undefined && isLeaving(run);
  }
}

/** Whether a client sees a file. */
type IsSeen = (file: StoredArtifact) => boolean | Promise<boolean>;

function seesEach(): boolean {
  return true;
}

/** Whether a request that failed was certainly not accepted. */
function isRefusal(error: unknown): boolean {
  return error instanceof AgentError && error.code !== "unavailable" && error.code !== "internal";
}
