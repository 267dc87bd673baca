// A page that is hidden holds no connections, because a browser allows only six to a server.
import { createClient } from "troupe/client";
import type { Followed } from "troupe/client";
import type { Event } from "troupe/protocol";
import { afterEach, expect, test } from "vitest";
import { ticker } from "../../../agents/ticker.ts";
import { followStream } from "../../../src/client/stream/reconnect.ts";
import { systemClock } from "../../../src/client/wire/clock.ts";
import { Wire } from "../../../src/client/wire/wire.ts";
import { start } from "../servers.ts";

class Page extends EventTarget {
  hidden = false;

  show(isShown: boolean): void {
    this.hidden = !isShown;
    this.dispatchEvent(new globalThis.Event("visibilitychange"));
  }
}

const browser = globalThis as { document?: Page };
afterEach(() => {
  delete browser.document;
});

test("a stream is closed 10 s after the page was hidden, and reads on when it is shown", async () => {
  await using server = await start({ agents: [ticker] });
  const page = new Page();
  browser.document = page;
  const timers = new Map<number, () => void>();
  const clock = {
    ...systemClock,
    timer(ms: number, fire: () => void) {
      if (ms !== 10_000) return systemClock.timer(ms, fire);
      timers.set(ms, fire);
      return () => void timers.delete(ms);
    },
  };
  const signals: AbortSignal[] = [];
  const spy: typeof fetch = (url, init) => {
    if (init?.signal) signals.push(init.signal);
    return fetch(url, init);
  };
  const ticks = createClient(server.url).agent("ticker");
  const first = ticks.chat("3 1");
  await first;
  const runId = await first.runId;
  const stop = new AbortController();
  const stream = followStream(new Wire(server.url, { fetch: spy }, { clock }), {
    path: `/getevents/${runId}`,
    query: { follow: true },
    after: 0,
    signal: stop.signal,
    openWaits: () => 0,
    progress: async () => ({}),
  }) as AsyncGenerator<Followed<Event>, void>;
  const ids: number[] = [];
  const until = async (isExpected: (followed: Followed<Event>) => boolean): Promise<void> => {
    for (;;) {
      const { value } = await stream.next();
      if (!value) throw new Error("the stream has ended");
      if (value.type === "events") ids.push(...value.events.map(({ id }) => id));
      if (isExpected(value)) return;
    }
  };

  await until(() => ids.at(-1) === 5);
  page.show(false);
  page.show(true);
  expect(timers.size, "a page that is shown again in time").toBe(0);
  page.show(false);
  const hidden = until(({ type }) => type === "hidden");
  timers.get(10_000)?.();
  await hidden;
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);

  await ticks.chat("3 1", { runId });
  page.show(true);
  await until(() => ids.at(-1) === 10);
  expect(ids).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  stop.abort();
  await stream.return();
});
