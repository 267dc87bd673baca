import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import type { EventLog } from "../../src/ports/event-log.ts";
import { ClusterHost } from "./cluster-host.ts";

/** Speaks for ten seconds. */
const ticker = defineAgent({
  name: "ticker",
  purpose: "Says a number ten times a second.",
  async chat(_input, turn) {
    for (let tick = 1; tick <= 100; tick += 1) {
      await turn.sleep(100);
      await turn.text(`${tick}\n`);
    }
  },
});

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
        beat: async (self) => {
          await this.#isHeld;
          return (await directory?.beat(self)) ?? [];
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
    const runId = await host.ask(a, "ticker", { type: "ChatRequest", input: "tick" });
    for (const beats of [beatsOfA, beatsOfB]) beats.hold();
    await host.pass(stalledMs);
    // The beats of the two nodes are answered one after the other.
    beatsOfB.release();
    await host.pass(50);
    expect(b.router.members()).toMatchObject([{ node: b.id }, { node: a.id, isAlive: true }]);
    beatsOfA.release();
    await host.pass(12_000);

    expect(b.router.figures?.().takenOver).toBe(0);
    expect(await host.log.run(runId)).toMatchObject({ owner: a.id, status: "idle" });
    expect(host.faults).toEqual([]);
  },
);
