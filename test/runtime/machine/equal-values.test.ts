import { fromMachine } from "troupe";
import { expect, test } from "vitest";
import { assign, fromCallback, fromObservable, setup } from "xstate";
import type { Subscribable } from "xstate";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

const purpose = "Follows a sensor.";

/** An observable that gives some values at once, and goes on. */
const values = (...given: readonly number[]) => ({
  subscribe({ next }: { next?: (value: number) => void }) {
    queueMicrotask(() => {
      for (const value of given) next?.(value);
    });
    return { unsubscribe() {} };
  },
});

const listen = fromCallback(({ sendBack }) => {
  queueMicrotask(() => {
    for (const level of [1, 1, 1, 2, 2]) sendBack({ type: "level", level });
  });
});

const follow = fromObservable((): Subscribable<number> => values(1, 1, 1, 2, 2) as never);

test("a value of a callback or an observable that changes nothing is no StateChanged", async () => {
  const types = {
    context: {} as { readonly level: number },
    events: {} as { readonly type: "level"; readonly level: number } | { readonly type: "chat" },
  };
  const callback = setup({ types, actors: { listen } }).createMachine({
    context: { level: 0 },
    initial: "on",
    states: {
      on: {
        invoke: { src: "listen" },
        after: { 1_000: "off" },
        on: { chat: {}, level: { actions: assign({ level: ({ event }) => event.level }) } },
      },
      off: { type: "final" },
    },
  });
  const observable = setup({ types, actors: { follow } }).createMachine({
    context: { level: 0 },
    initial: "on",
    states: {
      on: {
        invoke: {
          src: "follow",
          onSnapshot: {
            actions: assign({ level: ({ event }) => event.snapshot.context ?? 0 }),
          },
        },
        after: { 1_000: "off" },
        on: { chat: {} },
      },
      off: { type: "final" },
    },
  });
  for (const machine of [callback, observable]) {
    const host = new TestHost({ agents: [fromMachine({ name: "sensor", purpose, machine })] });
    await host.ask("sensor", chat);
    await host.environment.advance(1_000);
    const events = await host.events(asked);
    const changes = ofType(events, "StateChanged").map(({ cause, steps, value }) => ({
      cause,
      steps,
      value,
    }));
    expect(changes.filter(({ value }) => value === "on")).toHaveLength(2);
  }
});
