import { describe, expect, test } from "vitest";
import { Fenced, Owned } from "../../../ports/event-log.ts";
import type { EventLog } from "../../../ports/event-log.ts";
import { nextEvents, asRequestId, asRunId, startRun } from "../subject.ts";
import type { EventLogSubject } from "../subject.ts";
import { openTwo } from "./two-nodes.ts";

/** The owners of runs; only for engines that nodes can share. */
export function testOwners(subject: EventLogSubject): void {
  if (subject.join === undefined) return;

  describe("the owners of runs", () => {
    test("a claim writes the owner, and a release of the newest claim clears it", async () => {
      const [a, b] = await openTwo(subject);
      const first = await startRun(a, "run", 1);
      expect(await b.run(asRunId("run"))).toMatchObject({ node: a.node });
      const { cursor, run } = await b.claim(asRunId("run"));
      expect(run).toMatchObject({ node: b.node });
      expect((await a.list({ limit: 1 })).runs).toMatchObject([{ node: b.node }]);
      a.release(first);
      await settle(a);
      expect(await a.run(asRunId("run"))).toMatchObject({ node: b.node });
      b.release(await b.append(cursor, nextEvents(cursor, 1)));
      await expect.poll(async () => (await a.run(asRunId("run")))?.node).toBeUndefined();
    });

    test("a claim is refused while a node owns the run that it names", async () => {
      const [a, b] = await openTwo(subject);
      const first = await startRun(a, "run", 1);
      const refused = b.claim(asRunId("run"), { unlessOwnedBy: ["other", a.node] });
      await expect(refused).rejects.toBeInstanceOf(Owned);
      await expect(refused).rejects.toMatchObject({ owner: a.node });
      const next = await a.append(first, nextEvents(first, 1));
      expect(await b.run(asRunId("run"))).toMatchObject({ node: a.node, head: 2 });

      const { cursor } = await b.claim(asRunId("run"), { unlessOwnedBy: ["other"] });
      await expect(async () => a.append(next, nextEvents(next, 1))).rejects.toBeInstanceOf(Fenced);
      b.release(cursor);
      await expect.poll(async () => (await a.run(asRunId("run")))?.node).toBeUndefined();
      expect((await a.claim(asRunId("run"), { unlessOwnedBy: [b.node] })).run?.node).toBe(a.node);
    });

    test("of two claims of a run without an owner that spare each other, one gets it", async () => {
      const nodes = await openTwo(subject);
      for (let round = 0; round < 10; round += 1) {
        const id = asRunId(`run-${round}`);
        const first = await startRun(nodes[0], id, 1);
        nodes[0].release(first);
        await expect.poll(async () => (await nodes[1].run(id))?.node).toBeUndefined();
        const unlessOwnedBy = nodes.map(({ node }) => node);
        const claims = await Promise.allSettled(nodes.map((node) => node.claim(id, { unlessOwnedBy })));
        const claimed = claims.findIndex(({ status }) => status === "fulfilled");
        const owner = nodes[claimed]?.node;
        expect(claims[1 - claimed]).toMatchObject({ reason: { name: "Owned", owner } });
        expect((await nodes[1].run(id))?.node).toBe(owner);
      }
    });

    test("the runs of some nodes are left out of what is open, to wake and to send", async () => {
      const [a, b] = await openTwo(subject);
      const start = async (node: EventLog, id: string): Promise<void> => {
        const cursor = await startRun(node, id, 1);
        const at = { createdAt: 1, started: 1 };
        const sleeps = {
          requestId: asRequestId(`sleeps-${id}`),
          phase: "running",
          wakeAt: 5,
          ...at,
        } as const;
        const next = await node.append(cursor, {
          events: [],
          records: [],
          requests: [{ requestId: asRequestId(`runs-${id}`), phase: "running", ...at }, sleeps],
          outbox: [{ requestId: asRequestId(`reply-${id}`), kind: "reply", event: 1 }],
        });
        if (id === "released") node.release(next);
      };
      await start(a, "a");
      await start(b, "b");
      await start(a, "released");
      await expect.poll(async () => (await b.run(asRunId("released")))?.node).toBeUndefined();
      const ids = (entries: readonly { readonly runId: string }[]): readonly string[] =>
        entries.map((entry) => entry.runId).toSorted();
      for (const log of [a, b]) {
        const listed = async (notOwnedBy?: readonly string[]): Promise<readonly (readonly string[])[]> => {
          const query = notOwnedBy && { notOwnedBy };
          return [
            ids(await log.open(query)),
            ids(await log.waking({ notAfter: 9, ...query })),
            ids(await log.outbox({ ...query })),
          ];
        };
        const each = (...wanted: string[]): readonly (readonly string[])[] => [wanted, wanted, wanted];
        expect(await listed()).toEqual(each("a", "b", "released"));
        expect(await listed([])).toEqual(each("a", "b", "released"));
        expect(await listed([a.node])).toEqual(each("b", "released"));
        expect(await listed(["unknown", a.node, b.node])).toEqual(each("released"));
        expect(ids(await log.waking({ limit: 1, notOwnedBy: [a.node] }))).toHaveLength(1);
      }
    });
  });
}

/** Waits until a node has done what it was asked before; a release has no answer. */
async function settle(log: EventLog): Promise<void> {
  const { cursor } = await log.claim(asRunId("settle"));
  log.release(cursor);
  await log.run(asRunId("settle"));
}
