import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { afterEach, expect, test, vi } from "vitest";
import { Semaphore } from "../../src/shared/semaphore.ts";
import { deliver, toSigningKey } from "../../src/webhooks/delivery.ts";
import { SECRET, startReceiver } from "./receiver.ts";

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/** Answers lookups of names, each with the next addresses, and calls `asked` before each answer. */
function resolveTo(answers: readonly (readonly string[])[], asked: () => void): () => number {
  const left = answers.values();
  const spy = vi.spyOn(dns, "lookup").mockImplementation(((_name: string, _options: object, done: Done) => {
    asked();
    const addresses = left.next().value ?? [];
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  }) as never);
  syncBuiltinESMExports();
  return () => spy.mock.calls.length;
}

type Done = (error: null, addresses: readonly { address: string; family: number }[]) => void;

test("a name that leads to this machine is refused at each attempt, also if it was public a moment ago, or is so too", async () => {
  await using receiver = await startReceiver();
  let aborting = new AbortController();
  const lookups = resolveTo(
    [["1.1.1.1"], ["127.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["fe80::1%lo"]],
    () => aborting.abort(),
  );
  const { port } = new URL(receiver.url);
  const attempt = (signal: AbortSignal) =>
    deliver(
      {
        url: new URL(`http://rebinding.example:${port}/hook`),
        key: toSigningKey(SECRET),
        allowPrivate: false,
        slots: new Semaphore(1),
      },
      { id: "msg_1", body: "{}" },
      signal,
    );
  // Public: it would be sent, and ends before.
  expect(await attempt(aborting.signal)).toEqual({ error: "no answer in time" });
  for (let time = 0; time < 5; time += 1) {
    aborting = new AbortController();
    expect(await attempt(new AbortController().signal)).toEqual({
      error: "rebinding.example has an address that is not public",
    });
  }
  // Once for each attempt: what was checked is what is connected to.
  expect(lookups()).toBe(6);
  expect(receiver.attempts).toBe(0);
});

test("where a receiver leads elsewhere is not visited", async () => {
  await using inside = await startReceiver();
  await using receiver = await startReceiver(() => 307, inside.url);
  const outcome = await deliver(
    {
      url: new URL(receiver.url),
      key: toSigningKey(SECRET),
      allowPrivate: true,
      slots: new Semaphore(1),
    },
    { id: "msg_1", body: "{}" },
    new AbortController().signal,
  );
  expect(outcome).toEqual({ status: 307 });
  expect([receiver.attempts, inside.attempts]).toEqual([1, 0]);
});
