import { pause, unlessAborted } from "../../shared/clock.ts";
import type { Clock } from "../../shared/clock.ts";
import { hasCode, isRetryable } from "../wire/problem.ts";
import { retryDelayMs } from "../wire/retry.ts";
import type { Wire } from "../wire/wire.ts";
import { connect, isWaiting, readConnection } from "./connection.ts";
import { followLimits } from "./follow-settings.ts";
import type { AllFollowSettings, FollowSettings, ReadPosition } from "./follow-settings.ts";
import type { Followed } from "./followed.ts";
import type { ReceivedEvent } from "./received-events.ts";

/**
 * Follows an event stream across reconnects. Each reconnect resumes after the newest event, with increasing
 * delays. Yields events in batches as they arrive, without duplicates, and the changes of the connection. Returns when no
 * more events will come, or none before an answer; throws when the failure is permanent.
 */
export async function* followStream(
  wire: Wire,
  settings: FollowSettings,
): AsyncGenerator<Followed<ReceivedEvent>, void> {
  const options: AllFollowSettings = {
    openWaits: () => 0,
    progress: async () => undefined,
    ...settings,
    limits: { ...followLimits, ...settings.limits },
  };
  const { limits, signal } = options;
  const { clock } = wire;
  const position: ReadPosition = {
    after: options.after ?? -1,
    newest: -1,
    failures: 1,
    heardAt: clock.monotonic(),
    events: 0,
    characters: 0,
  };
  const page = new PageWatch(clock);
  /** The id of the newest event before an invalid one. */
  let garbledAfter: number | undefined;
  try {
    for (;;) {
      let retryMs: number | undefined;
      try {
        if (await isWaiting(options, position)) return;
        const reply = await connect(wire, { ...options, signal: page.with(signal) }, position);
        if (reply === undefined) return;
        const end = yield* readConnection(wire, reply, position, options);
        // Without a delay, the server did not announce more events.
        if (end === "waiting" || (end === undefined && (await hasNoMoreEvents(options, position)))) return;
        retryMs = end;
      } catch (thrown) {
        signal?.throwIfAborted();
        if (page.isAway) {
          const { back } = page;
          yield { type: "hidden" };
          await unlessAborted(back, signal);
          // The time in which the page is hidden is not silence of the server.
          position.heardAt = clock.monotonic();
          delete position.downSince;
          continue;
        }
        // An event that was damaged on the way is valid on the next try; one that is invalid twice was sent
        // that way.
        const isGarbled = hasCode(thrown, "call_failed") && garbledAfter !== position.after;
        if (!isRetryable(thrown) && !isGarbled) throw thrown;
        if (isGarbled) garbledAfter = position.after;
        position.downSince ??= clock.monotonic();
        if (clock.monotonic() - position.downSince >= limits.unreachableMs) throw thrown;
        retryMs = (thrown.details.retryAfterS ?? 0) * 1_000;
        yield { type: "lost", error: thrown };
      }
      const now = clock.monotonic();
      if (now - position.heardAt >= limits.silenceMs) {
        // A turn that is held says nothing until its server has code that can continue it.
        if ((await options.progress())?.status !== "held")
          throw wire.fault("timeout", `sent no event for ${limits.silenceMs} ms`);
        position.heardAt = now;
      }
      const { downSince = now, heardAt, failures } = position;
      position.failures += 1;
      const leftMs = Math.min(downSince + limits.unreachableMs, heardAt + limits.silenceMs) - now;
      await pause(clock, Math.min(retryDelayMs(clock, failures, retryMs), Math.max(leftMs, 0)), signal);
    }
  } finally {
    page.stop();
  }
}

/** Whether a stream that was closed normally has delivered everything for now. */
async function hasNoMoreEvents(
  { openWaits, progress, areRows }: AllFollowSettings,
  { after }: ReadPosition,
): Promise<boolean> {
  if (after < 0) return areRows !== true;
  if (openWaits() === 0) return false;
  const { status } = (await progress()) ?? {};
  // A queued request continues by itself, like a running one.
  return status !== "running" && status !== "queued";
}

/** The document of a browser, as far as it is used. */
type Page = EventTarget & { readonly hidden: boolean };

/**
 * Notices when the page is hidden for 10 s. A browser allows six connections to a server, so streams of hidden pages
 * must not hold them; otherwise the seventh tab waits forever.
 */
class PageWatch {
  readonly #page: Page | undefined = (globalThis as { readonly document?: Page }).document;
  readonly #clock: Clock;
  #away: AbortController = new AbortController();
  #back: PromiseWithResolvers<void> = Promise.withResolvers();
  #stopTimer: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#page?.addEventListener("visibilitychange", this.#look);
    this.#look();
  }

  /** Whether streams must be closed. */
  get isAway(): boolean {
    return this.#away.signal.aborted;
  }

  /** Resolves when the page, which is away, is shown. */
  get back(): Promise<void> {
    return this.#back.promise;
  }

  /** The signal for a connection: it aborts with `signal`, and when the page is hidden for 10 s. */
  with(signal: AbortSignal | undefined): AbortSignal | undefined {
    if (this.#page === undefined) return signal;
    return AbortSignal.any(signal ? [signal, this.#away.signal] : [this.#away.signal]);
  }

  stop(): void {
    this.#page?.removeEventListener("visibilitychange", this.#look);
    this.#stopTimer?.();
  }

  readonly #look = (): void => {
    this.#stopTimer?.();
    if (this.#page?.hidden === true) {
      this.#stopTimer = this.#clock.timer(AWAY_MS, () => this.#away.abort());
    } else if (this.isAway) {
      this.#away = new AbortController();
      this.#back.resolve();
      this.#back = Promise.withResolvers();
    }
  };
}

const AWAY_MS = 10_000;
