import { describe, expect, test } from "vitest";
import { openFor, asRequestId, asRunId, row, startRun } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The messages of runs to other actors. */
export function testOutbox(subject: EventLogSubject): void {
  describe("outboxes", () => {
    test("an entry of an outbox is listed until it is done", async () => {
      const log = await openFor(subject);
      const reply = { requestId: asRequestId("first"), kind: "reply", event: 1 } as const;
      const cancel = { requestId: asRequestId("second"), kind: "cancel", event: 2 } as const;
      const run = await startRun(log, "run", 2);
      const added = await log.append(run, { events: [], records: [], outbox: [reply] });
      const again = await log.append(added, { events: [], records: [], outbox: [cancel] });
      const other = await startRun(log, "other", 1);
      await log.append(other, { events: [], records: [], outbox: [reply] });
      const entries = [reply, cancel].map((entry) => ({ ...entry, runId: "run" }));
      expect(await log.outbox({ runId: asRunId("run") })).toEqual(entries);
      expect(await log.outbox({ runId: asRunId("none") })).toEqual([]);
      expect(await log.outbox({})).toHaveLength(3);

      const done = await log.append(again, {
        events: [],
        records: [],
        outbox: [
          { ...reply, done: true },
          { requestId: asRequestId("third"), kind: "reply", event: 2 },
          { requestId: asRequestId("third"), kind: "reply", event: 2, done: true },
        ],
      });
      expect(await log.outbox({ runId: asRunId("run") })).toEqual([{ ...cancel, runId: "run" }]);
      await log.remove(done);
      expect(await log.outbox({ runId: asRunId("run") })).toEqual([]);
      expect(await log.outbox({})).toEqual([{ ...reply, runId: "other" }]);
    });

    test("dead letters are listed apart from what is to be sent, and the newest first if only so many are wanted", async () => {
      const log = await openFor(subject);
      const dead = (event: number) =>
        ({ requestId: asRequestId(`dead-${event}`), kind: "dead", event }) as const;
      const reply = { requestId: asRequestId("first"), kind: "reply", event: 1 } as const;
      const notes = { events: [], records: [] };
      // The run that was changed last is neither the first nor the last one.
      for (const [name, updatedAt] of [
        ["a", 20],
        ["b", 30],
        ["c", 10],
      ] as const) {
        const run = await startRun(log, name, 3);
        await log.append(run, { ...notes, run: row({ updatedAt }), outbox: [dead(3), dead(1), reply] });
      }
      const of = (name: string, ...events: number[]) =>
        events.map((event) => ({ ...dead(event), runId: name }));
      expect(await log.outbox({ runId: asRunId("a"), kind: "dead" })).toEqual(of("a", 1, 3));
      expect(await log.outbox({ kind: "dead" })).toHaveLength(6);
      expect(await log.outbox({})).toHaveLength(3);
      expect(await log.outbox({ kind: "dead", newest: 10 })).toEqual([
        ...of("b", 3, 1),
        ...of("a", 3, 1),
        ...of("c", 3, 1),
      ]);
      expect(await log.outbox({ kind: "dead", newest: 3 })).toEqual([...of("b", 3, 1), ...of("a", 3)]);
      expect(await log.outbox({ runId: asRunId("c"), kind: "dead", newest: 1 })).toEqual(of("c", 3));
    });

    test("of two messages about a request the one that is not done stays", async () => {
      const log = await openFor(subject);
      const about = { requestId: asRequestId("first"), event: 1 };
      const kinds = ["reply", "cancel"] as const;
      for (const [index, kind] of kinds.entries()) {
        const run = await startRun(log, kind, 1);
        const outbox = kinds.map((each) => ({ ...about, kind: each }));
        const added = await log.append(run, { events: [], records: [], outbox });
        await log.append(added, { events: [], records: [], outbox: [{ ...about, kind, done: true }] });
        const other = kinds[1 - index];
        expect(await log.outbox({ runId: run.runId })).toEqual([{ ...about, kind: other, runId: kind }]);
      }
    });
  });
}
