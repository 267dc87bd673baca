import { describe, expect, test } from "vitest";
import { AgentError } from "../../../../errors.ts";
import type { Cursor, EventLog, SeenRun } from "../../../../ports/event-log.ts";
import type { Batch } from "../../../../ports/log-batch.ts";
import type { RunId } from "../../../../protocol/ids.ts";
import { openTwo } from "../../nodes/two-nodes.ts";
import { alias, asRequestId, asRunId, nextEvents, openFor, reopenFor, row, startRun } from "../../subject.ts";
import type { EventLogSubject } from "../../subject.ts";

/** The removal of runs that nothing needs, without a claim. */
export function testIdleRemoval(subject: EventLogSubject): void {
  describe("the removal of idle runs", () => {
    test("those of a list are removed together, each with all its content", async () => {
      const log = await openFor(subject);
      const names = ["e", "b", "d", "a", "c"];
      for (const name of names) log.release(await startIdle(log, name));
      await startRun(log, "other", 2);
      await log.indexed?.();
      expect(await removeAll(log, names)).toEqual(new Set(names));

      for (const name of names) {
        expect(await log.read(asRunId(name), { after: 0, records: true })).toEqual({
          events: [],
          records: [],
          head: 0,
        });
        expect(await log.run(asRunId(name))).toMatchObject({ runId: name, removed: true, head: 0 });
        expect(await log.lookup(asRequestId(`request-${name}`))).toEqual({
          requestId: `request-${name}`,
          runId: name,
          phase: "completed",
          createdAt: 0,
          accepted: { n: 0, after: 0 },
          removed: true,
        });
      }
      expect((await log.list({ limit: 10 })).runs).toMatchObject([{ runId: "other" }]);
      expect((await log.list({ limit: 10, byCreation: true, total: true })).total).toBe(1);
      expect((await log.listRequests({ limit: 10 })).requests).toEqual([]);
      expect((await log.list({ limit: 10, text: "needle" })).runs).toEqual([]);
      expect(await log.runIds({ limit: 10 })).toEqual(["other"]);
      expect((await log.runIds({ limit: 10, removed: true })).toSorted()).toEqual(names.toSorted());
      expect(await log.size(asRunId("a"))).toBe(0);
      await log.indexed?.();
      await log.scrub();
      expect((await log.list({ limit: 10, text: "needle" })).runs).toEqual([]);
      expect(await log.read(asRunId("other"), { after: 0 })).toMatchObject({ head: 2 });
    });

    test("a run that has changed, is claimed, or has something that may be needed stays as it is", async () => {
      const log = await openFor(subject);
      const requestId = asRequestId("needed");
      const none = { events: [], records: [] };
      const message = { createdAt: 1, accepted: { n: 1, after: 2 }, started: 3, completed: 3 };
      const needed: Readonly<Record<string, Partial<Batch>>> = {
        working: { run: row({ status: "running" }) },
        hidden: { run: row({ agent: "" }) },
        queued: { requests: [{ requestId, phase: "queued", createdAt: 1 }] },
        messaged: { requests: [{ requestId: asRequestId("message"), phase: "completed", ...message }] },
        named: { alias: alias("name") },
        scheduled: { schedules: [{ id: "daily", due: 1_000, data: {} }] },
        referring: { references: [{ thing: "secret" }] },
        sending: { outbox: [{ requestId, kind: "reply", event: 1 }] },
        saved: { snapshot: {} },
      };
      for (const [name, batch] of Object.entries(needed)) {
        const cursor = await startIdle(log, name);
        log.release(await log.append(cursor, { ...none, ...batch }));
      }
      const claimed = await startIdle(log, "claimed");
      for (const name of ["updated", "grown", "free"]) log.release(await startIdle(log, name));
      const names = [...Object.keys(needed), "claimed", "updated", "grown"];
      const others = await Promise.all(names.map((name) => seenOf(log, name)));
      const seen = others.map((run) => ({
        ...run,
        ...(run.runId === "updated" && { updatedAt: run.updatedAt - 1 }),
        ...(run.runId === "grown" && { head: run.head - 1 }),
      }));
      const before = await contentOf(log, names);
      const missing = { runId: asRunId("missing"), head: 0, updatedAt: 0 };
      // An engine may hold a run a little longer than its owner.
      await expect
        .poll(async () => log.removeIdle([missing, ...seen, await seenOf(log, "free")]))
        .toEqual(["free"]);

      expect(await log.removeIdle([...seen, await seenOf(log, "free")])).toEqual([]);
      expect(await contentOf(log, names)).toEqual(before);
      expect(await log.append(claimed, nextEvents(claimed, 1))).toMatchObject({ head: 4 });
    });

    test("no run is none", async () => {
      const log = await openFor(subject);
      expect(await log.removeIdle([])).toEqual([]);
    });

    test("of a claim and a removal at once, the claim finds the run removed or keeps it", async () => {
      const log = await openFor(subject);
      const ids = Array.from({ length: 20 }, (_, round) => `run-${round}`);
      for (const id of ids) log.release(await startIdle(log, id));
      await removable(log, "other");
      for (const [round, id] of ids.entries()) {
        const seen = [await seenOf(log, id)];
        const claim = (): ReturnType<EventLog["claim"]> => log.claim(asRunId(id));
        const [removed, { cursor, run }] =
          round % 2 === 0
            ? await Promise.all([log.removeIdle(seen), claim()])
            : await Promise.all([claim(), log.removeIdle(seen)]).then(([one, two]) => [two, one] as const);
        const isRemoved = run?.removed === true;
        expect(removed).toEqual(isRemoved ? [id] : []);
        expect(await outcomeOf(log, cursor)).toBe(isRemoved ? "gone" : "kept");
      }
    });

    test("readers and watchers of a run are woken by its removal", async () => {
      const log = await openFor(subject);
      log.release(await startIdle(log, "run"));
      const tailed = Promise.withResolvers<void>();
      const watched = Promise.withResolvers<void>();
      await removable(log, "other");
      log.tail(asRunId("run"), tailed.resolve);
      log.watch((runId) => {
        if (runId === "run") watched.resolve();
      });
      await removeAll(log, ["run"]);
      await Promise.all([tailed.promise, watched.promise]);
      expect(await log.run(asRunId("run"))).toMatchObject({ removed: true });
    });

    test("what was counted of a removed run stays", async () => {
      const log = await openFor(subject);
      const by = { id: "ada" };
      const cursor = await startIdle(log, "run");
      log.release(
        await log.append(cursor, {
          events: [],
          records: [],
          audit: [{ at: 5, action: "process", by }],
          spent: [{ day: 1, tokens: 7, cost: 0, raisedTokens: 0, raisedCost: 0 }],
        }),
      );
      await removeAll(log, ["run"]);
      expect((await log.audit.list({ limit: 10 })).entries).toMatchObject([{ runId: "run", by }]);
      expect(await log.spending.on({ owner: "default", day: 1 })).toMatchObject({ tokens: 7 });
    });
  });

  testAfterReopen(subject);
  testNodes(subject);
}

function testAfterReopen(subject: EventLogSubject): void {
  const reopen = subject.reopen?.bind(subject);
  if (reopen === undefined) return;

  test("runs that were removed while idle stay so after a reopen, and their ids are not used again", async () => {
    const log = await openFor(subject);
    for (const name of ["one", "two"]) log.release(await startIdle(log, name));
    await removeAll(log, ["one"]);
    const again = await reopenFor(reopen, log);
    expect((await again.list({ limit: 10 })).runs).toMatchObject([{ runId: "two" }]);
    const { cursor, run } = await again.claim(asRunId("one"));
    expect(run).toMatchObject({ removed: true });
    const append = async (): Promise<Cursor> => again.append(cursor, { events: [], records: [], run: row() });
    await expect(append).rejects.toMatchObject({ code: "gone" });
    const other = await startRun(again, "other", 1);
    const used = [{ requestId: asRequestId("request-one"), phase: "queued", createdAt: 1 } as const];
    await expect(async () =>
      again.append(other, { ...nextEvents(other, 1), requests: used }),
    ).rejects.toMatchObject({ code: "conflict" });
  });
}

function testNodes(subject: EventLogSubject): void {
  if (subject.join === undefined) return;

  test("an idle run that another node has claimed stays, and its readers there are woken when it is removed", async () => {
    const [a, b] = await openTwo(subject);
    const cursor = await startIdle(b, "run");
    a.release(await startIdle(a, "other"));
    const seen = await seenOf(a, "run");
    await expect.poll(async () => a.removeIdle([seen, await seenOf(a, "other")])).toEqual(["other"]);
    const next = await b.append(cursor, nextEvents(cursor, 1));
    b.release(next);
    const woken = new Promise<void>((resolve) => {
      b.tail(asRunId("run"), () => {
        void b.run(asRunId("run")).then((run) => {
          if (run?.removed === true) resolve();
        });
      });
    });
    await removeAll(a, ["run"]);
    await woken;
  }, 20_000);

  test("of a claim of one node and the removal of an idle run by another, the claim finds the run removed or keeps it", async () => {
    const [a, b] = await openTwo(subject);
    for (let round = 0; round < 20; round += 1) {
      const id = `run-${round}`;
      a.release(await startIdle(a, id));
      await expect.poll(async () => (await b.run(asRunId(id)))?.node).toBeUndefined();
      const seen = [await seenOf(a, id)];
      const [removed, { cursor, run }] = await Promise.all([a.removeIdle(seen), b.claim(asRunId(id))]);
      const isRemoved = run?.removed === true;
      expect(removed).toEqual(isRemoved ? [id] : []);
      expect(await outcomeOf(b, cursor)).toBe(isRemoved ? "gone" : "kept");
    }
  });
}

/** Claims a run, and appends a turn that has ended. */
async function startIdle(log: EventLog, id: string): Promise<Cursor> {
  const { cursor } = await log.claim(asRunId(id));
  const request = { requestId: asRequestId(`request-${id}`), phase: "completed", createdAt: 1 } as const;
  return log.append(cursor, {
    ...nextEvents(cursor, 3),
    records: [{ n: 1, after: 1, type: "Now" }],
    run: row({ initialInput: "needle" }),
    requests: [{ ...request, accepted: { n: 1, after: 0 }, started: 1, completed: 3 }],
  });
}

/** A run as a list shows it. */
async function seenOf(log: EventLog, id: string): Promise<SeenRun> {
  const { runId, head, updatedAt } = (await log.run(asRunId(id))) ?? {
    runId: asRunId(id),
    head: 0,
    updatedAt: 0,
  };
  return { runId, head, updatedAt };
}

/** Removes released runs. An engine may hold a run a little longer than its owner. */
async function removeAll(log: EventLog, ids: readonly string[]): Promise<ReadonlySet<RunId>> {
  const removed = new Set<RunId>();
  await expect
    .poll(async () => {
      const left = ids.filter((id) => !removed.has(asRunId(id)));
      const seen = await Promise.all(left.map((id) => seenOf(log, id)));
      for (const id of await log.removeIdle(seen)) removed.add(id);
      return removed.size;
    })
    .toBe(ids.length);
  return removed;
}

/** Resolves when runs that were released can be removed: so can this one, which is released last. */
async function removable(log: EventLog, id: string): Promise<void> {
  log.release(await startIdle(log, id));
  await removeAll(log, [id]);
}

async function contentOf(log: EventLog, ids: readonly string[]): Promise<unknown> {
  return Promise.all(
    ids.map(async (id) => {
      const { node: _, ...run } = (await log.run(asRunId(id))) ?? {};
      return [run, await log.read(asRunId(id), { after: 0, records: true })];
    }),
  );
}

/** Whether a claimed run, which is released then, takes an event; `gone` if it was removed. */
async function outcomeOf(log: EventLog, cursor: Cursor): Promise<string> {
  try {
    await log.append(cursor, nextEvents({ ...cursor, head: 3 }, 1));
    return "kept";
  } catch (error) {
    return error instanceof AgentError ? error.code : String(error);
  } finally {
    log.release(cursor);
  }
}
