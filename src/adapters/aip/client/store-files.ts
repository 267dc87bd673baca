import type { ArtifactId } from "../../../protocol/ids.ts";
import type { RemoteSession } from "../../../runtime/agent/remote-port.ts";
import { contentFiles, inOne } from "../wire/content.ts";
import { hashParts } from "../../../shared/sha256.ts";
import type { ContentItem } from "../wire/messages.ts";

/** Stores the files of a message as files of the run. `before` is the number of files of earlier messages. */
export async function storeReceivedFiles(
  content: readonly ContentItem[],
  {
    session,
    agent,
    before,
  }: { readonly session: RemoteSession; readonly agent: string; readonly before: number },
): Promise<number> {
  let count = before;
  for (const { kind, mimeType, bytes } of contentFiles(content)) {
    count += 1;
    // The same id on every attempt, so that a file is stored once.
    const artifactId = `art_${await hashParts(session.key, String(count))}` as ArtifactId;
    const file = { artifactId, name: `${kind}-${count}`, mimeType, body: inOne(bytes) };
    session.say({ agent, depth: 0 }, await session.store(file));
  }
  return count;
}
