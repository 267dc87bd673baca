import type { StoredArtifact } from "../../src/ports/artifact-store.ts";
import type { Witness } from "./witness.ts";

/** What lies beside the log. */
export interface Belongings {
  readonly artifacts: { all(): Promise<readonly StoredArtifact[]> };
  /** The secrets, by name. */
  readonly secrets: ReadonlyMap<string, string>;
}

/** Checks that every file that the log names is there, and that nothing is left of what was removed. */
export async function verifyBelongings({
  witness,
  hosts: { artifacts, secrets },
}: {
  readonly witness: Witness;
  readonly hosts: Belongings;
}): Promise<void> {
  const { faults, runs } = witness;
  const files = new Map<string, StoredArtifact>(
    (await artifacts.all()).map((file) => [file.artifactId, file]),
  );
  for (const { artifactId, runId } of files.values())
    if (runId !== undefined && runs.get(runId)?.removed !== false)
      faults.push(
        `file ${artifactId} belongs to run ${runId}, which ${runs.has(runId) ? "was removed" : "never was"}`,
      );
  for (const name of secrets.keys()) {
    const runId = name.split(".")[0] ?? "";
    if (runs.get(runId)?.removed === true) faults.push(`secret ${name} belongs to a run that was removed`);
  }
  for (const [runId, { events, removed, hidden }] of runs) {
    if (removed) continue;
    if (hidden) faults.push(`run ${runId} is neither there nor gone`);
    for (const event of events) {
      if (event.type !== "ArtifactGenerated" && event.type !== "ArtifactUploaded") continue;
      const file = files.get(event.artifact_id);
      // The files of a run that was forked stay its own.
      if (event.forked_from) continue;
      if (file?.runId !== runId || file.sizeBytes !== event.size_bytes)
        faults.push(`run ${runId} has lost file ${event.artifact_id}`);
    }
  }
}

/** Checks that every run that was at rest for long enough is gone. */
export function verifyForgotten({ witness }: { readonly witness: Witness }): void {
  const open = new Set<string>();
  for (const { runId, end } of witness.requests.values()) if (end === undefined) open.add(runId);
  for (const [runId, { removed }] of witness.runs)
    if (!removed && !open.has(runId) && !runId.startsWith("config-"))
      witness.say(`run ${runId} is kept though its time is over`);
}
