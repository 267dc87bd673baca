import { describe, expect, test } from "vitest";
import type { ScheduleMark } from "../../../../ports/log-batch.ts";
import { alias, asRunId, openFor, reopenFor, row, startRun, besideId } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

const NOTHING = { events: [], records: [] } as const;

/** The schedules of runs. */
export function testSchedules(subject: EventLogSubject): void {
  describe("schedules", () => {
    test("are made, replaced and removed with the append that has them, and go with their run", async () => {
      const log = await openFor(subject);
      const run = await startRun(log, "run", 1);
      const made = await log.append(run, {
        ...NOTHING,
        schedules: [of("a", 5), of("b"), { ...of("c", 7.5), data: { text: "é" } }],
      });
      const query = { runId: asRunId("run"), limit: 10 };
      expect((await log.schedules(query)).schedules).toEqual([
        { runId: "run", ...of("a", 5) },
        { runId: "run", ...of("b") },
        { runId: "run", id: "c", due: 8, data: { text: "é" } },
      ]);
      const changed = await log.append(made, {
        ...NOTHING,
        schedules: [{ ...of("a"), data: { n: 1 } }, { id: "b" }, { id: "none" }, of("d", 1), { id: "d" }],
      });
      expect((await log.schedules(query)).schedules.map(({ id }) => id)).toEqual(["a", "c"]);
      expect((await log.schedules({ ...query, id: "a" })).schedules).toEqual([
        { runId: "run", id: "a", data: { n: 1 } },
      ]);
      const stored = subject.reopen === undefined ? log : await reopenFor(subject.reopen, log);
      expect((await stored.schedules(query)).schedules).toHaveLength(2);
      const { cursor } = subject.reopen === undefined ? { cursor: changed } : await stored.claim(run.runId);
      await stored.remove(cursor);
      expect((await stored.schedules({ limit: 10 })).schedules).toEqual([]);
      expect(await stored.due({})).toEqual([]);
    });

    test("are listed in pages, by owner, agent and run", async () => {
      const log = await openFor(subject);
      for (const [runId, owner, agent] of [
        ["one", "default", "echo"],
        ["two", "ada", "echo"],
        ["six", "ada", "other"],
      ] as const) {
        const { cursor } = await log.claim(asRunId(runId));
        await log.append(cursor, {
          ...NOTHING,
          run: row({ owner, agent }),
          schedules: [of("a", 1), of("b", 2)],
        });
      }
      const idsOf = async (query: object): Promise<readonly string[]> => {
        const found: string[] = [];
        const totals = new Set<number | undefined>();
        for (let cursor: string | undefined; ;) {
          const page = await log.schedules({ ...query, limit: 1, total: true, ...(cursor && { cursor }) });
          found.push(...page.schedules.map(({ runId, id, owner = "" }) => `${owner} ${runId} ${id}`));
          cursor = page.next;
          totals.add(page.total);
          if (cursor === undefined) break;
        }
        expect([...totals]).toEqual([found.length]);
        return found.sort();
      };
      expect(await idsOf({})).toHaveLength(6);
      expect(await idsOf({ owner: "default" })).toEqual([" one a", " one b"]);
      expect(await idsOf({ owner: "ada" })).toEqual(["ada six a", "ada six b", "ada two a", "ada two b"]);
      expect(await idsOf({ owner: "ada", agent: "echo" })).toEqual(["ada two a", "ada two b"]);
      expect(await idsOf({ owner: "ada", runId: "one" })).toEqual([]);
      await expect(log.schedules({ limit: 1, cursor: "?" })).rejects.toThrow("the cursor is not one");
    });

    test("that are due are listed by their times", async () => {
      const log = await openFor(subject);
      await log.append(await startRun(log, "one", 1), {
        ...NOTHING,
        schedules: [of("a", 30), of("b"), of("c", 10)],
      });
      await log.append(await startRun(log, "two", 1), { ...NOTHING, schedules: [of("a", 20)] });
      const dueOf = async (query: object): Promise<readonly (number | undefined)[]> =>
        (await log.due(query)).map(({ due }) => due);
      expect(await dueOf({})).toEqual([10, 20, 30]);
      expect(await dueOf({ notAfter: 20 })).toEqual([10, 20]);
      expect(await dueOf({ after: 10, limit: 1 })).toEqual([20]);
    });

    test("go with the name that another run takes", async () => {
      const log = await openFor(subject);
      const run = await startRun(log, "run", 1);
      await log.append(run, { ...NOTHING, alias: alias("key"), schedules: [of("a", 5)] });
      const nextId = besideId(log, "run", "next");
      const next = await startRun(log, nextId, 1);
      await log.append(next, {
        ...NOTHING,
        alias: { ...alias("key"), from: asRunId("run") },
        schedules: [of("b", 6)],
      });
      expect((await log.schedules({ runId: asRunId("run"), limit: 10 })).schedules).toEqual([]);
      expect(await log.due({})).toEqual([
        { runId: nextId, ...of("a", 5) },
        { runId: nextId, ...of("b", 6) },
      ]);
    });
  });
}

function of(id: string, due?: number): ScheduleMark {
  return { id, data: { of: id }, ...(due !== undefined && { due }) };
}
