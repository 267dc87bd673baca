import { describe, expect, test } from "vitest";
import { Fenced, Owned } from "../../../ports/event-log.ts";
import type { EventLog } from "../../../ports/event-log.ts";
import { events, nextEvents, asRequestId, asRunId, row, startRun } from "../subject.ts";
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

    test("a claim of a new run holds from its first append on, and then as any other", async () => {
      const [a, b] = await openTwo(subject);
      const claimed = await a.claim(NEW, { isNew: true });
      expect(claimed).toMatchObject({ cursor: { runId: NEW, head: 0, records: 0 } });
      expect(claimed.run).toBeUndefined();
      expect(await a.read(NEW, { after: 0, records: true })).toEqual({ events: [], records: [], head: 0 });
      const requests = [{ requestId: asRequestId("first"), phase: "queued", createdAt: 1 }] as const;
      const first = await a.append(claimed.cursor, { ...nextEvents(claimed.cursor, 2), requests });
      expect(await b.run(NEW)).toMatchObject({ node: a.node, head: 2 });
      expect(await b.lookup(asRequestId("first"))).toMatchObject({ runId: NEW });
      const next = await a.append(first, nextEvents(first, 1));
      await expect(b.claim(NEW, { unlessOwnedBy: [a.node] })).rejects.toBeInstanceOf(Owned);
      const { cursor, run } = await b.claim(NEW);
      expect(run).toMatchObject({ node: b.node, head: 3 });
      await expect(async () => a.append(next, nextEvents(next, 1))).rejects.toBeInstanceOf(Fenced);
      await b.append(cursor, nextEvents(cursor, 1));
      expect(await a.read(NEW, { after: 0 })).toMatchObject({ events: events(1, 4), head: 4 });
    });

    test("of two nodes that claim a new run at once one appends, and the other changes nothing", async () => {
      const nodes = await openTwo(subject);
      for (let round = 0; round < 10; round += 1) {
        const id = asRunId(`run-${round}`);
        const claims = await Promise.all(nodes.map((node) => node.claim(id, { isNew: true })));
        const appends = await Promise.allSettled(
          claims.map(async ({ cursor }, at) => {
            const requests = [
              { requestId: asRequestId(`${id}-${at}`), phase: "queued", createdAt: 1 },
            ] as const;
            return nodes[at]?.append(cursor, { ...nextEvents(cursor, at + 1), requests });
          }),
        );
        const winner = appends.findIndex(({ status }) => status === "fulfilled");
        const loser = 1 - winner;
        expect(appends[loser]).toMatchObject({ status: "rejected", reason: { name: "Fenced" } });
        const owner = nodes[winner]?.node;
        for (const node of nodes) {
          expect(await node.run(id)).toMatchObject({ node: owner, head: winner + 1 });
          expect((await node.read(id, { after: 0 })).events).toEqual(events(1, winner + 1));
          expect(await node.lookup(asRequestId(`${id}-${winner}`))).toMatchObject({ runId: id });
          expect(await node.lookup(asRequestId(`${id}-${loser}`))).toBeUndefined();
        }
      }
    });

    test("the first append of a new run fails if the run was claimed meanwhile", async () => {
      const [a, b] = await openTwo(subject);
      const { cursor } = await a.claim(NEW, { isNew: true });
      const { cursor: other } = await b.claim(NEW);
      await expect(async () => a.append(cursor, nextEvents(cursor, 2))).rejects.toBeInstanceOf(Fenced);
      await expect(async () => a.append(cursor, nextEvents(cursor, 2))).rejects.toBeInstanceOf(Fenced);
      await b.append(other, nextEvents(other, 1));
      expect(await a.read(NEW, { after: 0 })).toMatchObject({ events: events(1, 1), head: 1 });
      const { cursor: late } = await a.claim(NEW);
      expect(await a.append(late, nextEvents(late, 1))).toMatchObject({ head: 2 });
    });

    test("a new run that is released, or whose first append is refused, leaves nothing", async () => {
      const [a, b] = await openTwo(subject);
      await startRun(b, "known", 1);
      await b.append((await b.claim(asRunId("known"))).cursor, {
        events: [],
        records: [],
        run: row(),
        alias: { agent: "echo", name: "taken" },
      });
      const { cursor } = await a.claim(NEW, { isNew: true });
      const named = { ...nextEvents(cursor, 1), alias: { agent: "echo", name: "taken" } };
      await expect(async () => a.append(cursor, named)).rejects.toMatchObject({ code: "conflict" });
      expect(await b.run(NEW)).toBeUndefined();
      a.release(cursor);
      await settle(a);
      expect(await b.run(NEW)).toBeUndefined();
      expect(await startRun(b, NEW, 1)).toMatchObject({ head: 1 });
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

const NEW = asRunId("new");

/** Waits until a node has done what it was asked before; a release has no answer. */
async function settle(log: EventLog): Promise<void> {
  const { cursor } = await log.claim(asRunId("settle"));
  log.release(cursor);
  await log.run(asRunId("settle"));
}
