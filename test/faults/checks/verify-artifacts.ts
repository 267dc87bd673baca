import type { ArtifactStore } from "../../../src/ports/artifact-store.ts";
import type { ArtifactId } from "../../../src/protocol/ids.ts";
import { artifactText } from "../server/agents.ts";
import type { History } from "./read-history.ts";
import type { Violation } from "./verify-log.ts";

/** Checks that every file that the log names exists with all its bytes. */
export async function verifyArtifacts({ runs }: History, store: ArtifactStore): Promise<Violation[]> {
  const violations: Violation[] = [];
  for (const { events } of runs.values()) {
    for (const text of events.filter((event) => event.includes('"type":"ArtifactGenerated"'))) {
      const { artifact_id, request_id } = JSON.parse(text) as {
        readonly artifact_id: ArtifactId;
        readonly request_id: string;
      };
      const bytes = await readAll(store.read(artifact_id)).catch(String);
      if (bytes !== artifactText(request_id)) {
        violations.push({
          invariant: "I4",
          what: `artifact ${artifact_id} of ${request_id} is not whole: ${bytes}`,
        });
      }
    }
  }
  return violations;
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
