import type { RunId } from "../../protocol/ids.ts";
import { sendMessage } from "../run/messages.ts";
import type { HostContext } from "../run-context.ts";

/** The number of runs that are processed concurrently: enough that each commit contains many of them. */
const AT_ONCE = 64;

/** Has the owner of a run continue its open requests; does nothing for a turn in memory. Never rejects. */
export async function recoverRun(
  { router, telemetry }: HostContext,
  runId: RunId,
  alone = false,
): Promise<void> {
  try {
    await sendMessage(router, runId, { kind: "recover", alone });
  } catch (error) {
    telemetry.fault(`run ${runId} could not be recovered`, error);
  }
}

/** Processes all items in order, with limited concurrency. */
export async function inLanes<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const lane = async (): Promise<void> => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, lane));
}
