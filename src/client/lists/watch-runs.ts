import { AgentError } from "../../errors.ts";
import type { RunChange } from "../client-api.ts";
import { followLimits } from "../stream/follow-settings.ts";
import type { Followed } from "../stream/followed.ts";
import { follow } from "../stream/reconnect.ts";
import type { Wire } from "../wire/wire.ts";

/** Follows the list of runs: the rows that are new or have changed. */
export async function* watchRuns(
  wire: Wire,
  signal: AbortSignal | undefined,
): AsyncGenerator<RunChange, void> {
  for await (const followed of followRuns(wire, signal))
    if (followed.type === "events") yield* followed.events;
}

/**
 * Follows the list of runs across reconnects. Each connection begins with the first page again; of two rows of a run the
 * one with the later `updated_at` is the newer one.
 */
export async function* followRuns(
  wire: Wire,
  signal: AbortSignal | undefined,
): AsyncGenerator<Followed<RunChange>, void> {
  try {
    const rows = follow(wire, {
      path: "/runs",
      areRows: true,
      limits: { ...followLimits, unreachableMs: Infinity },
      signal,
      openWaits: () => 0,
      progress: async () => ({}),
    });
    yield* rows as unknown as AsyncGenerator<Followed<RunChange>, void>;
  } catch (thrown) {
    const isMissing = thrown instanceof AgentError && MISSING.has(thrown.code);
    throw isMissing ? new AgentError("not_found", `${wire.subject} has no stream of runs`) : thrown;
  }
}

/** How servers without this stream answer: with a refusal, or with a list. */
const MISSING: ReadonlySet<string> = new Set(["not_found", "method_not_allowed", "call_failed"]);
