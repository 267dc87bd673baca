import { describe, expect, test } from "vitest";
import { Fenced } from "../../../ports/event-log.ts";
import type { EventLog } from "../../../ports/event-log.ts";
import type { RequestMark } from "../../../ports/log-batch.ts";
import type { NodePresence } from "../../../ports/node-directory.ts";
import { alias, events, nextEvents, asRequestId, row, asRunId, startRun } from "../subject.ts";
import type { EventLogSubject } from "../subject.ts";
import { openTwo } from "./two-nodes.ts";

/** How long a wake may take when its hint is lost, with some reserve for a loaded machine, in milliseconds. */
const WAKE_MS = 15_000;

/** What one node does and another one sees; only for engines that nodes can share. */
export function testSharing(subject: EventLogSubject): void {
  if (subject.join === undefined) return;

  describe("nodes that share a log", () => {
    test("each opening has its own id", async () => {
      const [a, b] = await openTwo(subject);
      expect(a.node).not.toBe(b.node);
    });

    test("what one node has acknowledged, the other one reads", async () => {
      const [a, b] = await openTwo(subject);
      let cursor = await startRun(a, "run", 2);
      for (let round = 0; round < 20; round += 1) {
        cursor = await a.append(cursor, {
          ...nextEvents(cursor, 1),
          run: row({ turns: round }),
          requests: [{ requestId: asRequestId(`request-${round}`), phase: "queued", createdAt: 1 }],
        });
        expect(await b.read(asRunId("run"), { after: 0 })).toMatchObject({ head: cursor.head });
        expect((await b.run(asRunId("run")))?.turns).toBe(round);
        expect(await b.lookup(asRequestId(`request-${round}`))).toMatchObject({ runId: "run" });
      }
      const named = await a.append(cursor, { events: [], records: [], alias: alias("name"), snapshot: 1 });
      expect(await b.find(alias("name"))).toBe("run");
      expect(await b.snapshot(asRunId("run"))).toMatchObject({ data: 1, head: cursor.head });
      expect((await b.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, cursor.head));
      await a.remove(named);
      expect(await b.read(asRunId("run"), { after: 0 })).toMatchObject({ head: 0 });
      expect(await b.run(asRunId("run"))).toMatchObject({ removed: true });
      expect(await b.lookup(asRequestId("request-1"))).toMatchObject({ removed: true });
    });

    test("a claim of one node fences the cursor of the other one, again and again", async () => {
      const [a, b] = await openTwo(subject);
      let last = await startRun(a, "run", 1);
      for (let round = 0; round < 10; round += 1) {
        const node = round % 2 === 0 ? b : a;
        const other = round % 2 === 0 ? a : b;
        const { cursor } = await node.claim(asRunId("run"));
        expect(cursor.epoch).toBeGreaterThan(last.epoch);
        expect(cursor.head).toBe(last.head);
        const late = other.append(last, { ...nextEvents(last, 1), run: row({ turns: 99 }) });
        await expect(late).rejects.toBeInstanceOf(Fenced);
        await expect(other.remove(last)).rejects.toBeInstanceOf(Fenced);
        last = await node.append(cursor, nextEvents(cursor, 1));
      }
      expect((await a.read(asRunId("run"), { after: 0 })).events).toEqual(events(1, 11));
      expect((await b.run(asRunId("run")))?.turns).toBe(1);
    });

    test("of appends that two nodes race for, the log has those of the last claim, without a gap", async () => {
      const nodes = await openTwo(subject);
      await startRun(nodes[0], "run", 1);
      const fight = async (node: EventLog): Promise<number> => {
        let written = 0;
        for (let round = 0; round < 10; round += 1) {
          const { cursor } = await node.claim(asRunId("run"));
          try {
            await node.append(cursor, nextEvents(cursor, 1));
            written += 1;
          } catch (error) {
            if (!(error instanceof Fenced)) throw error;
          }
        }
        return written;
      };
      const written = await Promise.all(nodes.map(fight));
      const head = 1 + (written[0] ?? 0) + (written[1] ?? 0);
      const page = await nodes[0].read(asRunId("run"), { after: 0 });
      expect(page).toEqual({ events: events(1, head), records: [], head });
    });

    test("of one request id that two nodes give to two runs at once, one is accepted", async () => {
      const nodes = await openTwo(subject);
      for (let round = 0; round < 20; round += 1) {
        const id = asRequestId(`race-${round}`);
        const mark: RequestMark = { requestId: id, phase: "queued", createdAt: 1 };
        const outcomes = await Promise.allSettled(
          nodes.map(async (node, index) => {
            const cursor = await startRun(node, `run-${round}-${index}`, 1);
            return node.append(cursor, { ...nextEvents(cursor, 1), requests: [mark] });
          }),
        );
        const accepted = outcomes.findIndex(({ status }) => status === "fulfilled");
        expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
        expect(outcomes[1 - accepted]).toMatchObject({ reason: { code: "conflict" } });
        for (const node of nodes) {
          expect(await node.lookup(id)).toMatchObject({ runId: `run-${round}-${accepted}` });
          expect((await node.read(asRunId(`run-${round}-${1 - accepted}`), { after: 0 })).head).toBe(1);
        }
      }
    });

    test("of one alias that two nodes give to two runs at once, one is accepted", async () => {
      const nodes = await openTwo(subject);
      const outcomes = await Promise.allSettled(
        nodes.map(async (node, index) => {
          const cursor = await startRun(node, `run-${index}`, 1);
          return node.append(cursor, { ...nextEvents(cursor, 1), alias: alias("name") });
        }),
      );
      const accepted = outcomes.findIndex(({ status }) => status === "fulfilled");
      expect(outcomes[1 - accepted]).toMatchObject({ reason: { code: "conflict" } });
      for (const node of nodes) expect(await node.find(alias("name"))).toBe(`run-${accepted}`);
    });

    test(
      "a reader on another node is woken after each append",
      async () => {
        const [a, b] = await openTwo(subject);
        let cursor = await startRun(a, "run", 1);
        for (let round = 0; round < 5; round += 1) {
          const woken = nextWake(b, cursor.head + 1);
          cursor = await a.append(cursor, nextEvents(cursor, 1));
          expect(await woken).toBe(cursor.head);
        }
        const watched = new Promise<void>((resolve) => {
          const stop = b.watch((id) => {
            if (id !== "run") return;
            stop();
            resolve();
          });
        });
        await a.append(cursor, nextEvents(cursor, 1));
        await watched;
      },
      WAKE_MS,
    );

    const loseHints = subject.loseHints?.bind(subject);
    test.skipIf(loseHints === undefined)(
      "a reader on another node is woken although all hints are lost",
      async () => {
        const [a, b] = await openTwo(subject);
        const cursor = await startRun(a, "run", 1);
        await loseHints?.(b);
        const woken = nextWake(b, 2);
        await a.append(cursor, nextEvents(cursor, 1));
        expect(await woken).toBe(2);
      },
      WAKE_MS,
    );

    test("the table of nodes has what each node said last, how long ago, and a name for each heartbeat", async () => {
      const [a, b] = await openTwo(subject);
      const presence = (node: string, state: NodePresence["state"]): NodePresence => ({
        node,
        url: `http://127.0.0.1/${node}`,
        state,
        agents: { echo: {}, pay: { version: "2", compatible: ["1"] } },
      });
      const [first] = (await a.nodes?.().heartbeat(presence(a.node, "joining"))) ?? [];
      expect(first).toMatchObject(presence(a.node, "joining"));
      await b.nodes?.().heartbeat(presence(b.node, "active"));
      await a.nodes?.().heartbeat(presence(a.node, "draining"));
      const rows = (await b.nodes?.().heartbeat(presence(b.node, "active"))) ?? [];
      expect(rows).toHaveLength(2);
      expect(rows.find(({ node }) => node === a.node)).toMatchObject(presence(a.node, "draining"));
      expect(rows.find(({ node }) => node === b.node)).toMatchObject({ state: "active" });
      for (const { ageMs } of rows) {
        expect(ageMs).toBeGreaterThanOrEqual(0);
        expect(ageMs).toBeLessThan(60_000);
      }
      const again = (await a.nodes?.().heartbeat(presence(a.node, "draining"))) ?? [];
      const heartbeatOf = (node: string, read: typeof rows): unknown =>
        read.find((row) => row.node === node)?.heartbeat;
      expect(heartbeatOf(a.node, again)).not.toBe(heartbeatOf(a.node, rows));
      expect(heartbeatOf(b.node, again)).toBe(heartbeatOf(b.node, rows));

      const directory = b.nodes?.();
      const renew = directory?.renew ?? directory?.heartbeat;
      await renew?.(presence(b.node, "draining"));
      const renewed = (await a.nodes?.().heartbeat(presence(a.node, "draining"))) ?? [];
      expect(renewed.find(({ node }) => node === b.node)).toMatchObject(presence(b.node, "draining"));
      expect(heartbeatOf(b.node, renewed)).not.toBe(heartbeatOf(b.node, again));

      const forget = async (heartbeat = ""): Promise<readonly string[]> => {
        const directory = a.nodes?.();
        await directory?.heartbeat(presence(a.node, "active"), [{ node: b.node, heartbeat }]);
        return ((await directory?.heartbeat(presence(a.node, "active"))) ?? []).map(({ node }) => node);
      };
      // An earlier heartbeat, and the newest one.
      expect(await forget("1")).toContain(b.node);
      expect(await forget(renewed.find(({ node }) => node === b.node)?.heartbeat)).toEqual([a.node]);
    });
  });
}

/** Resolves with the head of the run, after a wake at which its event can be read. */
function nextWake(log: EventLog, id: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const look = async (): Promise<void> => {
      const { head } = await log.read(asRunId("run"), { after: 0 });
      if (head < id) return;
      stop();
      resolve(head);
    };
    const stop = log.tail(asRunId("run"), () => void look().catch(reject));
  });
}
