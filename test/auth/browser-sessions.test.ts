import type { Principal } from "troupe";
import { expect, test } from "vitest";
import { BrowserSessions } from "../../src/auth/browser-sessions.ts";

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"] };
const ORIGIN = "https://agents.example.com";
const MINUTE = 60_000;

const requestWith = (cookie: string | undefined): Request =>
  new Request(ORIGIN, { headers: { cookie: cookie?.split(";")[0] ?? "" } });

test("a session is renewed while it is used, and ends when its time is over", async () => {
  let now = 1_000_000;
  const sessions = new BrowserSessions({ sessionMs: 150 * MINUTE, now: () => now });
  let cookie = await sessions.start(ORIGIN, ANN);
  const first = cookie;
  expect(await sessions.renew(requestWith(cookie), ORIGIN)).toEqual({});
  for (const minutes of [50, 100, 140]) {
    now = 1_000_000 + minutes * MINUTE;
    const renewed = await sessions.renew(requestWith(cookie), ORIGIN);
    expect(renewed?.cookie).toBeDefined();
    cookie = renewed?.cookie ?? "";
    expect(await sessions.principalOf(requestWith(cookie), ORIGIN)).toMatchObject(ANN);
  }
  expect(cookie).toContain("Max-Age=600;");
  // One that was not renewed for an hour is over.
  expect(await sessions.principalOf(requestWith(first), ORIGIN)).toBeUndefined();
  now = 1_000_000 + 150 * MINUTE;
  expect(await sessions.principalOf(requestWith(cookie), ORIGIN)).toBeUndefined();
  expect(await sessions.renew(requestWith(cookie), ORIGIN)).toBeUndefined();
});

test("the end of a session ends its renewed cookies too", async () => {
  let now = 1_000_000;
  const sessions = new BrowserSessions({ sessionMs: 150 * MINUTE, now: () => now });
  const first = await sessions.start(ORIGIN, ANN);
  now += 10 * MINUTE;
  const second = (await sessions.renew(requestWith(first), ORIGIN))?.cookie;
  const held = await sessions.principalOf(requestWith(first), ORIGIN);
  await sessions.end(requestWith(second), ORIGIN);
  expect(await held?.isValid?.()).toBe(false);
  expect(await sessions.principalOf(requestWith(first), ORIGIN)).toBeUndefined();
  expect(await sessions.principalOf(requestWith(second), ORIGIN)).toBeUndefined();
});
