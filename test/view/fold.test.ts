// The laws of the view of a run, over random logs.
import fc from "fast-check";
import { project, RunFold, segmentsOf, textOf } from "troupe/projection";
import type { PartView, RunView, TextPart } from "troupe/projection";
import type { Event } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { randomLog } from "./random-log.ts";
import type { RandomLog } from "./random-log.ts";
import { runsLong } from "../machine/long.ts";

const logs = fc
  .tuple(fc.integer(), fc.integer({ min: 1, max: 120 }))
  .map(([seed, steps]) => logOf(seed, steps));
const runs = { numRuns: runsLong ? 300 : 60 };

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

  test("names who canceled a turn and who sent a message", () => {
    const by = { id: "key:1", name: "Ann" };
    const ts = "2026-01-01T00:00:00.000Z";
    const address = { run_id: "a", request_id: "r", agent: "desk", role: "user" as const, depth: 0, ts };
    const started = { ...address, id: 1, type: "RequestStarted", operation: "chat", input: "go" };
    const hinted = { ...address, id: 2, type: "MessageReceived", message_id: "m", name: "hint", body: 1, by };
    const canceled = { ...address, id: 3, type: "CancelRequest", by };
    const view = project([started, hinted, canceled] as unknown as readonly Event[]);
    expect(view.turns).toMatchObject([{ requestId: "r", canceledBy: by }]);
    expect(view.parts.at(-1)).toMatchObject({ kind: "received", by });
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
        for (const message of project(events).parts) {
          if (message.kind !== "text" || message.completion === undefined) continue;
          said.set(message.completion, (said.get(message.completion) ?? "") + message.text);
        }
        for (const [completion, text] of texts) expect(said.get(completion) ?? "").toBe(text);
      }),
      runs,
    );
  });

  test("is the same whether or not somebody asks what each event has changed", () => {
    fc.assert(
      fc.property(logs, ({ events }) => {
        const fold = new RunFold();
        for (const event of events) fold.take(event);
        expect(fold.view).toEqual(project(events));
      }),
      runs,
    );
  });

  test("is told by its changes: every text as it grew, every call, wait, file and turn once", () => {
    fc.assert(
      fc.property(logs, ({ events }) => {
        const fold = new RunFold();
        const texts = new Map<number, string>();
        const told = new Map<string, number>();
        for (const event of events) {
          for (const change of fold.take(event)) {
            if (change.type === "text")
              texts.set(change.part.id, (texts.get(change.part.id) ?? "") + change.text);
            else told.set(change.type, (told.get(change.type) ?? 0) + 1);
          }
        }
        const { view } = fold;
        const isText = (part: PartView): part is TextPart =>
          part.kind === "text" || part.kind === "reasoning";
        for (const { id, text } of view.parts.filter(isText)) expect(texts.get(id)).toBe(text);
        const calls = [...view.calls.values()].filter(({ kind }) => kind !== "turn" && kind !== "wait");
        const ended = view.turns.filter(({ outcome }) => outcome !== undefined);
        const closed = (state: string): number => view.waits.filter((wait) => wait.state === state).length;
        expect(told.get("call") ?? 0).toBe(calls.length);
        expect(told.get("wait") ?? 0).toBe(view.waits.length);
        expect(told.get("answer") ?? 0).toBe(closed("answered"));
        expect(told.get("expiry") ?? 0).toBe(closed("expired"));
        expect(told.get("file") ?? 0).toBe(view.files.length);
        expect(told.get("input") ?? 0).toBe(view.turns.length);
        expect(told.get("end") ?? 0).toBe(ended.length);
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
        // A server may send any text as a type, also the names that every object has.
        for (const type of ["Invented", ...Object.getOwnPropertyNames(Object.prototype)]) {
          const invented = { ...events.at(-1), id: view.head + 1, type } as unknown as Event;
          expect(project([invented], view)).toEqual({ ...view, head: view.head + 1 });
        }
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

test("what completions say at the same time are two texts, and an answer begins new ones", () => {
  const address = { run_id: "r", request_id: "q", agent: "a", role: "assistant", depth: 0, ts: "" };
  const at = (id: number, fields: object): Event => ({ ...address, id, ...fields }) as unknown as Event;
  const said = (id: number, content: string, call_id: string): Event =>
    at(id, { type: "TextOutput", content, call_id, attempt: 1 });
  const view = project([
    at(1, { type: "RequestStarted", operation: "chat", input: "" }),
    at(2, { type: "CompletionCall", model: "m", call_id: "c1.1", attempt: 1 }),
    at(3, { type: "CompletionCall", model: "m", call_id: "c1.2", attempt: 1 }),
    said(4, "a", "c1.1"),
    said(5, "b", "c1.2"),
    said(6, "a", "c1.1"),
    at(7, { type: "WaitForInput", request_keys: { ok: "?" }, call_id: "c1.3", wait_id: 7 }),
    said(8, "a", "c1.1"),
    at(9, { type: "ResumeWithInput", wait_id: 7, request_keys: { ok: true }, resume_id: "res_1" }),
    said(10, "b", "c1.2"),
  ]);
  const texts = view.parts.flatMap((part) => (part.kind === "text" ? [[part.id, part.text]] : []));
  expect(texts).toEqual([
    [4, "aa"],
    [5, "b"],
    [8, "a"],
    [10, "b"],
  ]);
  expect(segmentsOf(view).map(({ id, parts }) => [id, textOf(parts)])).toEqual([
    [1, "aaba"],
    [9, "b"],
  ]);
  expect(view.waits).toMatchObject([{ state: "answered", answeredId: 9, resumeId: "res_1" }]);
});

test("10,000 texts are folded in less than a second", () => {
  const { events } = logOf(1, 1);
  const text = { ...events.at(-1), type: "TextOutput", content: "word " } as unknown as Event;
  const many = Array.from({ length: 10_000 }, (_, index) => ({ ...text, id: index + 2 }));
  const began = performance.now();
  const view: RunView = project([...events, ...many]);
  expect(performance.now() - began).toBeLessThan(1_000);
  expect(view.parts.at(-1)).toMatchObject({ kind: "text", text: "word ".repeat(10_000) });
});

function logOf(seed: number, steps: number): RandomLog {
  let state = seed >>> 0;
  return randomLog((limit) => {
    // A linear congruential generator; its high bits are random enough.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  }, steps);
}
