import type { ArtifactStore } from "../../ports/artifact-store.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import { copyArtifact } from "./copy-artifact.ts";
import { copyRun } from "./copy-run.ts";
import { copySecrets } from "./copy-secrets.ts";
import { inOrder } from "./in-order.ts";
import { runIdsOf } from "./lists.ts";
import { named } from "./named.ts";

/** A log with its files and secrets. */
export interface Store {
  readonly log: EventLog;
  readonly artifacts: ArtifactStore;
  readonly secrets: SecretStore;
}

/** Something that is in both stores now, and was compared. */
export interface Copied {
  readonly kind: "run" | "removed run" | "artifact" | "secret";
  readonly id: string;
  /** False if it was in the target before. */
  readonly isNew: boolean;
  /** The number of events of a run. */
  readonly events: number;
  /** The bytes of its events and records, or of the file or the value. */
  readonly bytes: number;
}

/**
 * Copies everything from a store to another one and compares each thing by its SHA-256. What the target has already is
 * only compared, so an interrupted copy is continued by a new one. Fails with `conflict` at the first thing that differs.
 * No other process may have one of the stores open.
 *
 * Runs are last, because they refer to the other things.
 */
export async function* copyLog(from: Store, to: Store): AsyncGenerator<Copied, void> {
  yield* copySecrets(from.secrets, to.secrets);
  yield* inOrder(from.artifacts.list(), AT_ONCE, (artifact) =>
    named(`artifact ${artifact.artifactId}`, () => copyArtifact(artifact, from.artifacts, to.artifacts)),
  );
  // The target lists runs in the order of their first appends, so these follow one another.
  let last: Promise<void> = Promise.resolve();
  yield* inOrder(runIdsOf(from.log), AT_ONCE, (runId) => {
    const begun = Promise.withResolvers<void>();
    const place = { isNext: last, begun: begun.resolve };
    last = begun.promise;
    const copied = named(`run ${runId}`, () => copyRun(runId, from.log, to.log, place));
    // No run begins after one that has failed.
    copied.then(() => begun.resolve(), begun.reject);
    last.catch(() => {});
    return copied;
  });
}

/** Enough for a database to commit several appends together. */
const AT_ONCE = 8;
