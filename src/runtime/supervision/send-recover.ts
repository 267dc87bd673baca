import { toAgentError } from "../../errors.ts";
import type { RunId } from "../../protocol/ids.ts";
import { sendMessage } from "../run/messages.ts";
import type { RecoverMessage } from "../run/messages.ts";
import type { HostContext } from "../run-context.ts";

/**
 * Has the owner of a run continue its open requests; does nothing for a turn in memory. Returns false if the run cannot
 * be reached at present. Never rejects.
 */
export async function sendRecover(
  { router, telemetry }: HostContext,
  runId: RunId,
  options: Omit<RecoverMessage, "kind"> = {},
): Promise<boolean> {
  try {
    await sendMessage(router, runId, { kind: "recover", ...options });
    return true;
  } catch (error) {
    telemetry.fault(`run ${runId} could not be recovered`, error);
    return toAgentError(error).code !== "unavailable";
  }
}

/** Has the owner of a run send again what is left in its outbox. Never rejects. */
export async function sendRedeliver({ router, telemetry }: HostContext, runId: RunId): Promise<void> {
  try {
    await sendMessage(router, runId, { kind: "redeliver" });
  } catch (error) {
    telemetry.fault(`the outbox of run ${runId} could not be read`, error);
  }
}
