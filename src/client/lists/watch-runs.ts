import type { RunChange, RunsQuery } from "../client-api.ts";
import type { Followed } from "../stream/followed.ts";
import { followStream } from "../stream/reconnect.ts";
import { hasCode } from "../wire/problem.ts";
import type { Wire } from "../wire/wire.ts";

/** Which runs are followed, and until when. */
type WatchedRuns = Pick<RunsQuery, "agent" | "limit" | "signal">;

/** Follows the list of runs: the rows that are new or have changed. */
export async function* streamRunChanges(wire: Wire, query?: WatchedRuns): AsyncGenerator<RunChange, void> {
  for await (const followed of followRuns(wire, query))
    if (followed.type === "events") yield* followed.events;
}

/**
 * Follows the list of runs across reconnects. Each connection begins with the first page again; of two rows of a run the
 * one with the later `updated_at` is the newer one.
 */
export async function* followRuns(
  wire: Wire,
  { signal, ...query }: WatchedRuns = {},
): AsyncGenerator<Followed<RunChange>, void> {
  try {
    const limits = { unreachableMs: Infinity };
    const rows: AsyncGenerator<unknown, void> = followStream(wire, {
      path: "/runs",
      query,
      areRows: true,
      limits,
      signal,
    });
    yield* rows as AsyncGenerator<Followed<RunChange>, void>;
  } catch (thrown) {
    // A server without this stream answers with a refusal, or with a list.
    if (!hasCode(thrown, "not_found", "method_not_allowed", "call_failed")) throw thrown;
    throw wire.fault("not_found", "has no stream of runs");
  }
}
