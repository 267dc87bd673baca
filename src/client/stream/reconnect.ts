import { AgentError } from "../../errors.ts";
import { pause, unlessAborted } from "../wire/clock.ts";
import { isTransient } from "../wire/problem.ts";
import { backoffMs } from "../wire/retry.ts";
import type { Wire } from "../wire/wire.ts";
import { connect, isParked, readConnection } from "./connection.ts";
import type { FollowLimits, FollowSettings, ReadPosition } from "./follow-settings.ts";
import type { Followed } from "./followed.ts";
import { PageWatch } from "./page.ts";
import type { ReceivedEvent } from "./received-events.ts";

/**
 * Follows an event stream across reconnects. Each reconnect resumes after the newest event, with increasing
 * delays. Yields events in batches as they arrive, without duplicates, and the changes of the connection. Returns when no more events will come,
 * or none before an answer; throws when the failure is permanent.
 */
export async function* follow(
  wire: Wire,
  options: FollowSettings,
): AsyncGenerator<Followed<ReceivedEvent>, void> {
  const { limits, signal } = options;
  const { clock } = wire;
  const position: ReadPosition = {
    after: options.after ?? -1,
    heardAt: clock.monotonic(),
    events: 0,
    characters: 0,
  };
  const page = new PageWatch(clock);
  let failures = 0;
  /** The id of the newest event before an invalid one. */
  let garbledAfter: number | undefined;
  try {
    for (;;) {
      const { after: before, events: eventsBefore } = position;
      let retryMs: number | undefined;
      try {
        if (await isParked(options, position)) return;
        const reply = await connect(wire, { ...options, signal: page.with(signal) }, position);
        if (reply === undefined) return;
        const end = yield* readConnection(wire, reply, position, options);
        if (end === "parked") return;
        retryMs = end.retryMs;
        // The server did not announce more events.
        if (retryMs === undefined && (await isAtRest(options, position))) return;
      } catch (thrown) {
        if (signal?.aborted === true) throw signal.reason;
        if (page.isAway) {
          yield { type: "hidden" };
          await unlessAborted(page.back, signal);
          // The time in which nobody reads is not silence of the server.
          position.heardAt = clock.monotonic();
          delete position.downSince;
          continue;
        }
        // An event that was damaged on the way is valid on the next try; one that is invalid twice was sent
        // that way.
        const isGarbled = isFault(thrown) && garbledAfter !== position.after;
        if (!isTransient(thrown) && !isGarbled) throw thrown;
        if (isGarbled) garbledAfter = position.after;
        position.downSince ??= clock.monotonic();
        if (clock.monotonic() - position.downSince >= limits.unreachableMs) throw thrown;
        retryMs = ((thrown as AgentError).details.retryAfterS ?? 0) * 1_000;
        yield { type: "lost", error: thrown as AgentError };
      }
      const now = clock.monotonic();
      if (now - position.heardAt >= limits.silenceMs) throw silent(wire, limits);
      const isProgress = position.after > before || (options.areRows && position.events > eventsBefore);
      failures = isProgress === true ? 0 : failures + 1;
      const { downSince = now, heardAt } = position;
      const leftMs = Math.min(downSince + limits.unreachableMs, heardAt + limits.silenceMs) - now;
      await pause(clock, Math.min(backoffMs(clock, failures, retryMs), Math.max(leftMs, 0)), signal);
      if (signal?.aborted === true) throw signal.reason;
    }
  } finally {
    page.stop();
  }
}

/** Whether a stream that was closed normally has delivered everything for now. */
async function isAtRest(
  { openWaits, progress, areRows }: FollowSettings,
  { after }: ReadPosition,
): Promise<boolean> {
  if (after < 0) return areRows !== true;
  return openWaits() > 0 && (await progress()).status !== "running";
}

function isFault(thrown: unknown): boolean {
  return thrown instanceof AgentError && thrown.code === "call_failed";
}

function silent({ subject }: Wire, { silenceMs }: FollowLimits): AgentError {
  return new AgentError("timeout", `${subject} sent no event for ${silenceMs} ms`);
}
