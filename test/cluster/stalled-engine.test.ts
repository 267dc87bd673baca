import { expect, test } from "vitest";
import type { EventLog } from "../../src/ports/event-log.ts";
import { ClusterHost } from "./cluster-host.ts";
import { tick, ticker } from "./ticker.ts";

/** Holds the beats of a node back, before the log gets them. */
class HeldBeats {
  #isHeld: Promise<void> | undefined;
  #release = (): void => {};

  hold(): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#isHeld = promise;
    this.#release = resolve;
  }

  release(): void {
    this.#isHeld = undefined;
    this.#release();
  }

  readonly prepare = (log: EventLog): void => {
    const directory = log.nodes?.();
    Object.assign(log, {
      nodes: () => ({
        heartbeat: async (self, forgotten) => {
          await this.#isHeld;
          return (await directory?.heartbeat(self, forgotten)) ?? [];
        },
      }),
    } satisfies Partial<EventLog>);
  };
}

test.for([1_300, 1_500, 3_000, 10_000])(
  "after %i ms without answers of the table of nodes a node judges no other node dead",
  async (stalledMs) => {
    const host = new ClusterHost();
    const [beatsOfA, beatsOfB] = [new HeldBeats(), new HeldBeats()];
    const a = await host.start([ticker], { prepare: beatsOfA.prepare });
    await host.pass(290);
    const b = await host.start([ticker], { prepare: beatsOfB.prepare });
    await host.pass(3_000);
    const runId = await host.ask(a, "ticker", tick);
    for (const beats of [beatsOfA, beatsOfB]) beats.hold();
    await host.pass(stalledMs);
    // The beats of the two nodes are answered one after the other.
    beatsOfB.release();
    await host.pass(50);
    expect(b.router.members()).toMatchObject([{ node: b.id }, { node: a.id, isAlive: true }]);
    beatsOfA.release();
    await host.pass(12_000);

    expect(b.router.figures?.().takenOver).toBe(0);
    expect(await host.log.run(runId)).toMatchObject({ node: a.id, status: "idle" });
    expect(host.faults).toEqual([]);
  },
);

test("a node that starts at the address of one that has crashed starts, although its beats are late", async () => {
  const host = new ClusterHost();
  const a = await host.start([ticker]);
  await host.pass(3_000);
  a.kill();
  await host.pass(600_000);
  const beats = new HeldBeats();
  const starting = host.start([ticker], { url: a.url, prepare: beats.prepare });
  starting.catch(() => {});
  await host.pass(590);
  beats.hold();
  await host.pass(1_110);
  beats.release();
  const b = await host.settle(starting);

  expect(b.router.members()).toMatchObject([{ node: b.id }, { node: a.id, isAlive: false }]);
  expect(host.faults).toEqual([]);
});

test.for([0, 5_000])(
  "of two nodes with one address, the one that starts %i ms later is refused",
  async (laterMs) => {
    const host = new ClusterHost();
    const url = "memory://shared";
    const outcome = async (): Promise<unknown> =>
      host.start([ticker], { url }).then(
        () => "started",
        ({ code }: { readonly code: string }) => code,
      );
    const first = outcome();
    await host.pass(laterMs);
    const second = outcome();
    const outcomes = await host.settle(Promise.all([first, second]));
    expect(outcomes[1]).toBe("conflict");
  },
);
