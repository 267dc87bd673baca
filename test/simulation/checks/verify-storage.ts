import type { StoredArtifact } from "../../../src/ports/artifact-store.ts";
import type { SecretStore } from "../../../src/ports/secret-store.ts";
import type { Observer } from "./observer.ts";
import { toEntries } from "../../laws/history.ts";
import { unreadOf } from "../../laws/messages.ts";

/** The data outside the log. */
export interface StoredData {
  readonly artifacts: { removeOld(): Promise<void>; all(): Promise<readonly StoredArtifact[]> };
  readonly secrets: Pick<SecretStore, "names">;
  /** The names of secrets that the next start may still have to remove. */
  readonly leftBehind: ReadonlySet<string>;
}

/** Checks that every file in the log exists, and that nothing of removed runs is left. */
export async function verifyStorage({
  observer,
  hosts: { artifacts, secrets, leftBehind },
}: {
  readonly observer: Observer;
  readonly hosts: StoredData;
}): Promise<void> {
  const { faults, runs } = observer;
  // A node that died may have left a reservation.
  await artifacts.removeOld();
  const files = new Map<string, StoredArtifact>(
    (await artifacts.all()).map((file) => [file.artifactId, file]),
  );
  for (const { artifactId, runIds } of files.values())
    for (const runId of runIds)
      if (runs.get(runId)?.removed !== false)
        faults.push(
          `file ${artifactId} belongs to run ${runId}, which ${runs.has(runId) ? "was removed" : "never was"}`,
        );
  verifySecrets(observer, new Set(await secrets.names()), leftBehind);
  for (const [runId, { events, removed, hidden }] of runs) {
    if (removed) continue;
    if (hidden) faults.push(`run ${runId} is neither there nor gone`);
    for (const event of events) {
      const named = event.type === "RequestStarted" ? [...(event.attachments ?? [])] : [];
      if (event.type === "ArtifactGenerated" || event.type === "ArtifactUploaded") {
        named.push(event.artifact_id);
        if (files.get(event.artifact_id)?.sizeBytes !== event.size_bytes)
          faults.push(`file ${event.artifact_id} does not have its bytes`);
      }
      for (const artifactId of named)
        if (files.get(artifactId)?.runIds.includes(runId) !== true)
          faults.push(`run ${runId} has lost file ${artifactId}`);
    }
  }
}

/** Checks that exactly the secrets that runs refer to exist, except those that the next start removes. */
function verifySecrets(
  { faults, runs }: Observer,
  stored: ReadonlySet<string>,
  leftBehind: ReadonlySet<string>,
): void {
  const used = new Set<string>();
  for (const [runId, { records, removed }] of runs) {
    if (removed) continue;
    const configs = records.filter(({ type }) => type.startsWith("Config"));
    // Only the current configuration of an agent matters; a run can be forked at a point with an older one.
    for (const config of runId.startsWith("config-") ? configs.slice(-1) : configs)
      for (const [, name = ""] of JSON.stringify(config).matchAll(/"\$secret":"([^"]*)"/gu)) {
        used.add(name);
        if (!stored.has(name)) faults.push(`run ${runId} has lost secret ${name}`);
      }
  }
  for (const name of stored)
    if (!used.has(name) && !leftBehind.has(name))
      faults.push(`secret ${name} is kept though no run refers to it`);
}

/** Checks that every run that was idle long enough is removed, except those that are nothing but an actor. */
export function verifyRetention({ observer }: { readonly observer: Observer }): void {
  const open = new Set<string>();
  for (const { runId, end } of observer.requests.values()) if (end === undefined) open.add(runId);
  for (const [runId, { removed, events, records }] of observer.runs) {
    if (removed || open.has(runId) || runId.startsWith("config-")) continue;
    const [first] = events;
    const isActor = first?.type === "RunCreated" && first.key !== undefined;
    if (isActor && !events.some(({ type }) => type === "RequestStarted")) continue;
    if (events.at(-1)?.type === "Renewed" || unreadOf(toEntries(events, records)).length === 0)
      observer.say(`run ${runId} is kept though its time is over`);
  }
}
