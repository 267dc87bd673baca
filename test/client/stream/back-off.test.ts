import { AgentError } from "troupe";
import { afterEach, expect, test } from "vitest";
import { followStream } from "../../../src/client/stream/reconnect.ts";
import type { Clock } from "../../../src/shared/clock.ts";
import { retry } from "../../../src/client/wire/retry.ts";
import { Wire } from "../../../src/client/wire/wire.ts";

// How long a client waits between its attempts, and what counts as time without a server.

/** A clock that stands still; each pause is noted and is over at once, except that of the watch over a hidden page. */
class NotedClock implements Clock {
  readonly pauses: number[] = [];
  nowMs = 0;
  hide: (() => void) | undefined;

  readonly monotonic = (): number => this.nowMs;

  /** No jitter: the whole pause. */
  readonly random = (): number => 1;

  readonly timer = (ms: number, fire: () => void): (() => void) => {
    if (ms === HIDDEN_MS) {
      this.hide = fire;
      return () => {};
    }
    this.pauses.push(ms);
    const timer = setImmediate(fire);
    return () => clearImmediate(timer);
  };
}

const HIDDEN_MS = 10_000;
const GROWING = [200, 400, 800, 1_600, 3_200, 5_000, 5_000];

const browser = globalThis as { document?: EventTarget & { hidden: boolean } };
afterEach(() => {
  delete browser.document;
});

test("the pauses between attempts of a request double, up to five seconds", async () => {
  const clock = new NotedClock();
  const failing = retry({ clock, attempts: 8 }, () => Promise.reject(new AgentError("unavailable", "away")));
  await expect(failing).rejects.toMatchObject({ code: "unavailable" });
  expect(clock.pauses).toEqual(GROWING);
});

const settings = {
  path: "/getevents/run_1",
  query: { follow: true },
  after: 0,
  openWaits: () => 0,
  progress: async () => ({}),
};

test("the pauses between connections of a stream double, up to five seconds", async () => {
  const clock = new NotedClock();
  const away: typeof fetch = () => Promise.reject(new TypeError("fetch failed"));
  const stream = followStream(new Wire("http://server.test", { fetch: away }, { clock }), settings);
  for (let lost = 0; lost < 8; lost += 1) expect((await stream.next()).value).toMatchObject({ type: "lost" });
  await stream.return();
  // The first pause of a stream is twice as long.
  const pauses = clock.pauses.filter((ms) => ms <= 5_000);
  expect(pauses).toEqual([400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
});

test("the time in which the page is hidden does not count as silence of the server, or as time without it", async () => {
  const clock = new NotedClock();
  const page = Object.assign(new EventTarget(), { hidden: false });
  browser.document = page;
  const show = (isShown: boolean): void => {
    page.hidden = !isShown;
    page.dispatchEvent(new Event("visibilitychange"));
  };
  let attempts = 0;
  const away: typeof fetch = (_url, init) => {
    attempts += 1;
    if (attempts !== 2) return Promise.reject(new TypeError("fetch failed"));
    // The second attempt hangs until the page is hidden.
    const hanging = new Promise<never>((_, reject) => {
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
    });
    show(false);
    clock.hide?.();
    return hanging;
  };
  const limits = { unreachableMs: 120_000, silenceMs: 120_000 };
  const stream = followStream(new Wire("http://server.test", { fetch: away }, { clock }), {
    ...settings,
    limits,
  });
  expect((await stream.next()).value).toMatchObject({ type: "lost" });
  expect((await stream.next()).value).toMatchObject({ type: "hidden" });
  clock.nowMs += 3_600_000;
  show(true);
  expect((await stream.next()).value).toMatchObject({ type: "lost" });
  expect((await stream.next()).value).toMatchObject({ type: "lost" });
  await stream.return();
});
