import { describe, expect, test } from "vitest";
import {
  accepted,
  events,
  nextEvents,
  openFor,
  asRequestId,
  row,
  asRunId,
  startRun,
  alias,
  besideId,
} from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The names of runs. */
export function testAliases(subject: EventLogSubject): void {
  describe("aliases", () => {
    test("a run is found by its alias", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("run"));
      await log.append(cursor, { events: [], records: [], run: row(), alias: alias("chat 7/é") });

      expect(await log.find(alias("chat 7/é"))).toBe("run");
      expect(await log.find(alias("chat 7"))).toBeUndefined();
    });

    test("two agents can give the same alias to a run each", async () => {
      const log = await openFor(subject);
      const [first, second] = [
        { agent: "first", name: "name" },
        { agent: "second", name: "name" },
      ] as const;
      const one = await startRun(log, "one", 1);
      const two = await startRun(log, "two", 1);
      const named = await log.append(one, { events: [], records: [], alias: first });
      await log.append(two, { events: [], records: [], alias: second });
      expect([await log.find(first), await log.find(second)]).toEqual(["one", "two"]);
      expect(await log.find(alias("name"))).toBeUndefined();
      await log.remove(named);
      expect([await log.find(first), await log.find(second)]).toEqual([undefined, "two"]);
    });

    test("an alias of another run is a conflict that changes nothing", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("run"));
      await log.append(cursor, { events: [], records: [], run: row(), alias: alias("name") });
      const other = await startRun(log, "other", 2);

      const refused = log.append(other, {
        ...nextEvents(other, 1),
        records: [{ n: 1, after: 2, type: "Alias" }],
        run: row({ turns: 9 }),
        requests: [accepted("refused", { createdAt: 1 })],
        alias: alias("name"),
        snapshot: {},
      });
      await expect(refused).rejects.toMatchObject({ code: "conflict" });
      expect(await log.find(alias("name"))).toBe("run");
      const page = await log.read(asRunId("other"), { after: 0, records: true });
      expect(page).toEqual({ events: events(1, 2), records: [], head: 2 });
      expect(await log.run(asRunId("other"))).toMatchObject({ turns: 1 });
      expect(await log.lookup(asRequestId("refused"))).toBeUndefined();
      expect((await log.claim(asRunId("other"))).snapshot).toBeUndefined();
    });

    test("after a batch was refused for its alias, the next one can be appended", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("run"));
      await log.append(cursor, { events: [], records: [], run: row(), alias: alias("name") });
      const other = await startRun(log, "other", 1);
      const refused = log.append(other, { events: [], records: [], alias: alias("name") });
      await expect(refused).rejects.toMatchObject({ code: "conflict" });

      expect(await log.append(other, nextEvents(other, 1))).toMatchObject({ head: 2 });
    });

    test("an alias moves from the run that has it to another one, in one append", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("old"));
      const old = await log.append(cursor, { events: [], records: [], run: row(), alias: alias("name") });
      const newId = besideId(log, "old", "new");
      const { cursor: empty } = await log.claim(newId);
      const move = { ...alias("name"), from: asRunId("old") };
      const moved = await log.append(empty, { ...nextEvents(empty, 1), alias: move });
      expect(await log.find(alias("name"))).toBe(newId);
      expect(await log.run(asRunId("old"))).not.toHaveProperty("alias");
      expect(await log.run(newId)).toMatchObject({ head: 1, alias: "name" });

      // The same move again changes nothing.
      await log.append(moved, { events: [], records: [], alias: move });
      await log.remove(old);
      expect(await log.find(alias("name"))).toBe(newId);
    });

    test("an alias that its run no longer has does not move, and nothing of the append is written", async () => {
      const log = await openFor(subject);
      const old = await startRun(log, "old", 1);
      const move = { ...alias("name"), from: asRunId("old") };
      const refused = async (): Promise<void> => {
        const newId = besideId(log, "old", "new");
        const { cursor } = await log.claim(newId);
        await expect(
          Promise.resolve(log.append(cursor, { ...nextEvents(cursor, 1), alias: move })),
        ).rejects.toMatchObject({ code: "conflict" });
        expect(await log.run(newId)).toBeUndefined();
      };
      await refused();
      const named = await log.append(old, { events: [], records: [], alias: alias("name") });
      await log.remove(named);
      await refused();
      const third = await startRun(log, "third", 1);
      await log.append(third, { events: [], records: [], alias: alias("name") });
      await refused();
      expect(await log.find(alias("name"))).toBe("third");
    });

    test("when many runs request one alias of a run concurrently, one gets it", async () => {
      const log = await openFor(subject);
      const { cursor } = await log.claim(asRunId("old"));
      await log.append(cursor, { events: [], records: [], run: row(), alias: alias("name") });
      const move = { ...alias("name"), from: asRunId("old") };
      const attempts = Array.from({ length: 8 }, async (_, index) => {
        const { cursor: own } = await log.claim(besideId(log, "old", `run-${index}`));
        await log.append(own, { events: [], records: [], run: row(), alias: move });
        return own.runId;
      });
      const settled = await Promise.allSettled(attempts);
      const winners = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      expect(winners).toEqual([await log.find(alias("name"))]);
    });

    test("when many runs request one alias concurrently, one gets it", async () => {
      const log = await openFor(subject);
      const attempts = Array.from({ length: 8 }, async (_, index) => {
        const { cursor } = await log.claim(asRunId(`run-${index}`));
        await log.append(cursor, { events: [], records: [], run: row(), alias: alias("name") });
        return cursor.runId;
      });
      const settled = await Promise.allSettled(attempts);

      const winners = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      expect(winners).toEqual([await log.find(alias("name"))]);
    });

    test("a row has the alias of its run", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      await startRun(log, "other", 1);
      await log.append(cursor, { events: [], records: [], alias: alias("name") });
      expect(await log.run(asRunId("run"))).toMatchObject({ alias: "name" });
      expect((await log.claim(asRunId("run"))).run).toMatchObject({ alias: "name" });
      expect(await log.run(asRunId("other"))).not.toHaveProperty("alias");
      const { runs } = await log.list({ limit: 10 });
      expect(new Map(runs.map((entry) => [entry.runId, entry.alias]))).toEqual(
        new Map([
          ["run", "name"],
          ["other", undefined],
        ]),
      );
    });
  });
}
