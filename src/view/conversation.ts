import { toAgentError } from "../errors.ts";
import { isId } from "../protocol/ids.ts";
import type { RunId } from "../protocol/ids.ts";
import type { Runtime } from "../runtime/api.ts";
import { conversationKey } from "./conversation-key.ts";

/** A conversation of a wire: a run of an agent, found by its key. Its name can also be the id of a run of another wire. */
export interface ConversationRun {
  readonly name: string;
  /** Absent for a run that was found by its id. */
  readonly key?: string;
  /** Absent before the first request. */
  readonly runId?: RunId;
}

/** Finds the run of a conversation. Creates nothing. */
export async function findConversation(
  runtime: Runtime,
  { wire, agent, name }: { readonly wire: string; readonly agent: string; readonly name: string },
): Promise<ConversationRun> {
  const key = await conversationKey(wire, name);
  const keyed = await runtime.find(agent, key);
  if (keyed !== undefined) return { name, key, runId: keyed };
  const other = isId(name) ? await findAgentOf(runtime, name) : undefined;
  return other === agent ? { name, runId: name } : { name, key };
}

/** The agent of a run; undefined if there is none, or it was removed. */
async function findAgentOf(runtime: Runtime, runId: RunId): Promise<string | undefined> {
  try {
    return (await runtime.run(runId)).agent;
  } catch (thrown) {
    const { code } = toAgentError(thrown);
    if (code === "not_found" || code === "gone") return undefined;
    throw thrown;
  }
}
