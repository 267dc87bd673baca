import { AgentError } from "../../errors.ts";
import type { RunChange } from "../client-api.ts";
import { followLimits } from "../stream/follow-settings.ts";
import { follow } from "../stream/reconnect.ts";
import type { Wire } from "../wire/wire.ts";

/**
 * Follows the list of runs across reconnects. Each connection begins with the first page again; of two rows of a run the
 * one with the later `updated_at` is the newer one.
 */
export async function* watchRuns(
  wire: Wire,
  signal: AbortSignal | undefined,
): AsyncGenerator<RunChange, void> {
  try {
    const rows = follow(wire, {
      path: "/runs",
      areRows: true,
      limits: { ...followLimits, unreachableMs: Infinity },
      signal,
      openWaits: () => 0,
      progress: async () => ({}),
    });
    for await (const followed of rows)
      if (followed.type === "events") yield* followed.events as unknown as readonly RunChange[];
  } catch (thrown) {
    const isMissing = thrown instanceof AgentError && MISSING.has(thrown.code);
    throw isMissing ? new AgentError("not_found", `${wire.subject} has no stream of runs`) : thrown;
  }
}

/** How servers without this stream answer: with a refusal, or with a list. */
const MISSING: ReadonlySet<string> = new Set(["not_found", "method_not_allowed", "call_failed"]);
