import type { ArtifactStore, NewArtifact, StoredArtifact } from "../../ports/artifact-store.ts";
import { AgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { ArtifactId, RunId } from "../../protocol/ids.ts";
import { isLeaving } from "../journal/system-runs.ts";

/** The stores that the files of runs need. */
export interface RunArtifactsOptions {
  readonly artifacts: ArtifactStore;
  readonly log: EventLog;
  readonly telemetry: Telemetry;
}

/**
 * The files of runs. A file is stored as long as a run refers to it. The removal of a run waits until its turns have
 * stored their files, and a file that is stored for a run after its removal is removed.
 */
export class RunArtifacts {
  readonly store: ArtifactStore;
  readonly #log: EventLog;
  readonly #telemetry: Telemetry;
  /** Kept here and not in the run, which may be passivated in the meantime. */
  readonly #storing = new Map<RunId, Set<Promise<unknown>>>();
  /** Requests with files that are not accepted or refused yet. */
  readonly #attaching = new Set<Promise<unknown>>();
  /** Running removals. */
  readonly #removing = new Set<Promise<unknown>>();

  constructor({ artifacts, log, telemetry }: RunArtifactsOptions) {
    this.store = artifacts;
    this.#log = log;
    this.#telemetry = telemetry;
  }

  /** Stores a file, even if the turn that asked for it ends in the meantime. */
  put(artifact: NewArtifact & { readonly runId: RunId }): Promise<StoredArtifact> {
    const { runId } = artifact;
    const stored = this.take(artifact);
    const storing = this.#storing.get(runId) ?? new Set();
    this.#storing.set(runId, storing.add(stored));
    const forget = (): void => {
      storing.delete(stored);
      if (storing.size === 0 && this.#storing.get(runId) === storing) this.#storing.delete(runId);
    };
    stored.then(forget, forget);
    return stored;
  }

  /** Stores a file of a client. A client may be slow, so no removal waits for it. */
  async take(artifact: NewArtifact & { readonly runId: RunId }): Promise<StoredArtifact> {
    const stored = await this.store.put(artifact);
    await this.#keepNoneOfRemoved(artifact.runId);
    return stored;
  }

  /** Has a run refer to files. */
  async attach(artifactIds: readonly ArtifactId[], runId: RunId): Promise<void> {
    if (artifactIds.length === 0) return;
    await this.store.attach(artifactIds, runId);
    await this.#keepNoneOfRemoved(runId);
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
   * function is called. Throws `unprocessable` for a file that does not exist.
   */
  async reserve(artifactIds: readonly ArtifactId[]): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#attaching.add(promise);
    const release = (): void => {
      this.#attaching.delete(promise);
      resolve();
    };
    try {
      await Promise.all(this.#removing);
      for (const artifactId of artifactIds) await this.#checkThere(artifactId);
      return release;
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

  async #checkThere(artifactId: ArtifactId): Promise<void> {
    if ((await this.store.get(artifactId)) !== undefined) return;
    throw new AgentError("unprocessable", `there is no artifact ${artifactId}`, {
      issues: [{ path: "attachments", message: `${artifactId} is unknown` }],
    });
  }

  /** The row of the run shows a removal that may have missed a file. */
  async #keepNoneOfRemoved(runId: RunId): Promise<void> {
    const run = await this.#log.run(runId);
    if (run !== undefined && isLeaving(run)) await this.store.removeRun(runId);
  }
}
