import type { Context } from "hono";
import type { RequestId } from "../../protocol/ids.ts";
import type { AppEnv } from "../messages/app-env.ts";
import type { Host } from "./host.ts";

/** Cancels a request, and waits until its cleanup steps have ended, but not for ever. One that has ended stays as it is. */
export async function cancelRequest(
  c: Context<AppEnv>,
  { runtime, waits }: Host,
  { agent, requestId }: { readonly agent: string; readonly requestId: RequestId },
): Promise<void> {
  const receipt = await runtime.process(agent, { type: "CancelRequest", request_id: requestId });
  const options = { until: "completed", timeoutMs: CLEANUP_MS } as const;
  await waits.until(c, (signal) => runtime.acknowledgement(receipt, { ...options, signal }));
}

/** How long a cancel waits for the cleanup steps of a turn. */
const CLEANUP_MS = 5_000;
