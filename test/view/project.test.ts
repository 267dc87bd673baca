// The laws of the view of a run, over random logs.
import fc from "fast-check";
import { project } from "troupe/client";
import type { RunView } from "troupe/client";
import type { Event } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { randomLog } from "./random-log.ts";
import type { RandomLog } from "./random-log.ts";

const logs = fc
  .tuple(fc.integer(), fc.integer({ min: 1, max: 120 }))
  .map(([seed, steps]) => logOf(seed, steps));
const runs = { numRuns: 300 };

describe("the view of a log", () => {
  test("is the same however the log is cut", () => {
    fc.assert(
      fc.property(logs, fc.array(fc.nat()), ({ events }, cuts) => {
        const whole = project(events);
        const ends = [...cuts.map((cut) => cut % (events.length + 1)), events.length].sort((a, b) => a - b);
        let view = project([]);
        let start = 0;
        for (const end of ends) {
          view = project(events.slice(start, end), view);
          start = end;
        }
        expect(view).toEqual(whole);
      }),
      runs,
    );
  });

  test("leaves the view that it continues unchanged", () => {
    fc.assert(
      fc.property(logs, fc.nat(), ({ events }, cut) => {
        const middle = cut % events.length;
        const first = project(events.slice(0, middle));
        const before = structuredClone(first);
        project(events.slice(middle), first);
        expect(first).toEqual(before);
      }),
      runs,
    );
  });

  test("names the runs that its actor had before and has next", () => {
    const address = {
      request_id: null,
      agent: "desk",
      role: "system" as const,
      depth: 0,
      ts: "2026-01-01T00:00:00.000Z",
    };
    const events = [
      {
        ...address,
        id: 1,
        run_id: "b",
        type: "RunCreated",
        input: 1,
        metadata: {},
        key: "k",
        continues: "a",
      },
      { ...address, id: 2, run_id: "b", type: "Renewed", to: "c", key: "k" },
    ] as const;
    expect(project(events)).toMatchObject({
      agent: "desk",
      created: { input: 1, metadata: {}, continues: "a" },
      renewedTo: "c",
      status: "idle",
    });
  });

  test("is waiting if and only if nothing but waits is left to end", () => {
    fc.assert(
      fc.property(logs, ({ events, isWaiting }) => {
        let view = project([]);
        for (const [index, event] of events.entries()) {
          view = project([event], view);
          expect(view.status === "waiting", `after event ${event.id}, a ${event.type}`).toBe(
            isWaiting[index],
          );
        }
      }),
      runs,
    );
  });

  test("has only the text of the last attempt of each completion", () => {
    fc.assert(
      fc.property(logs, ({ events, texts }) => {
        const said = new Map<string, string>();
        for (const message of project(events).messages) {
          if (message.kind !== "text" || message.completion === undefined) continue;
          said.set(message.completion, (said.get(message.completion) ?? "") + message.text);
        }
        for (const [completion, text] of texts) expect(said.get(completion) ?? "").toBe(text);
      }),
      runs,
    );
  });

  test("of a fork equals that of its origin, except for the id of the run", () => {
    fc.assert(
      fc.property(logs, ({ events }) => {
        const copied = events.map((event) => ({
          ...event,
          run_id: "run_2",
          forked_from: { run_id: "run_1", id: event.id },
        }));
        expect(project(copied)).toEqual({ ...project(events), runId: "run_2" });
      }),
      runs,
    );
  });

  test("only has another head after events of unknown types", () => {
    fc.assert(
      fc.property(logs, ({ events }) => {
        const view = project(events);
        const invented = { ...events.at(-1), id: view.head + 1, type: "Invented" } as unknown as Event;
        expect(project([invented], view)).toEqual({ ...view, head: view.head + 1 });
      }),
      runs,
    );
  });

  test("accounts for all the time of ended turns", () => {
    fc.assert(
      fc.property(logs, ({ events }) => {
        for (const turn of project(events).turns) {
          if (turn.endedAt === undefined) continue;
          const { workedMs, waitedMs, sleptMs } = turn.times;
          const lasted = Date.parse(turn.endedAt) - Date.parse(turn.startedAt);
          expect(workedMs + waitedMs + sleptMs).toBe(lasted);
        }
      }),
      runs,
    );
  });

  test("has no open call in an ended one", () => {
    fc.assert(
      fc.property(logs, ({ events }) => {
        const { calls } = project(events);
        for (const call of calls.values()) {
          const open = call.children.filter((key) => calls.get(key)?.outcome === undefined);
          expect(call.openCalls).toBe(open.length);
          expect(call.outcome !== undefined && open.length > 0).toBe(false);
        }
      }),
      runs,
    );
  });
});

test("10,000 texts are folded in less than a second", () => {
  const { events } = logOf(1, 1);
  const text = { ...events.at(-1), type: "TextOutput", content: "word " } as unknown as Event;
  const many = Array.from({ length: 10_000 }, (_, index) => ({ ...text, id: index + 2 }));
  const began = performance.now();
  const view: RunView = project([...events, ...many]);
  expect(performance.now() - began).toBeLessThan(1_000);
  expect(view.messages.at(-1)).toMatchObject({ kind: "text", text: "word ".repeat(10_000) });
});

function logOf(seed: number, steps: number): RandomLog {
  let state = seed >>> 0;
  return randomLog((limit) => {
    // A linear congruential generator; its high bits are random enough.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  }, steps);
}
