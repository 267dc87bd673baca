import { expect, test } from "vitest";
import type { Heard } from "../journal.ts";
import type { OutsideEffect } from "../server/outside.ts";
import type { History, RunHistory } from "./read-history.ts";
import { verifyLog } from "./verify-log.ts";
import type { Evidence } from "./verify-log.ts";

const event = (id: number, type: string, fields: object = {}): string =>
  JSON.stringify({
    id,
    run_id: "r",
    request_id: "q",
    agent: "a",
    type,
    role: "system",
    depth: 0,
    ts: "t",
    ...fields,
  });

const events = [
  event(1, "RequestStarted"),
  event(2, "ToolCall", { function_name: "unsafe_tool", args: { key: "q/1" }, tool_call_id: "c1.1" }),
  event(3, "ToolResult", { function_name: "unsafe_tool", result: "q/1", tool_call_id: "c1.1" }),
  event(4, "WaitForInput", { request_keys: { a: "?" }, call_id: "c1.2", wait_id: 4 }),
  event(5, "ResumeWithInput", { wait_id: 4, request_keys: { a: "!" } }),
  event(6, "RequestCompleted", { finish_reason: "success" }),
];
const accepted = { n: 1, after: 0, type: "Accepted", accepted: { requestId: "q" } };
const deed: OutsideEffect = { kind: "unsafe", key: "q/1", requestId: "q" };
const heard = events.map((text, index): Heard => ({ kind: "event", requestId: "q", id: index + 1, text }));

function evidence(
  changes: Partial<Evidence> & { readonly run?: Partial<RunHistory>; readonly open?: boolean } = {},
) {
  const { run, open = false, ...rest } = changes;
  const history: History = {
    runs: new Map([["r", { events, records: [accepted], ...run }]]),
    open: new Set(open ? ["q"] : []),
    unanswered: new Map(),
    chain: [],
  };
  return { history, heard, effects: [deed], finished: true, ...rest };
}

const without = (index: number): readonly string[] => events.toSpliced(index, 1);
const earlier = evidence().history;

test("a correct log passes", () => {
  expect(verifyLog({ ...evidence(), earlier, earlierEffects: [deed] })).toEqual([]);
});

test.for<[string, string, Evidence]>([
  ["an event is missing", "I1", evidence({ run: { events: without(1) } })],
  [
    "an event is not what it was",
    "I1",
    { ...evidence({ run: { events: events.with(0, event(1, "Other")) } }), earlier },
  ],
  [
    "a run has disappeared",
    "I1",
    { ...evidence(), earlier: { ...earlier, runs: new Map([["s", { events: [], records: [] }]]) } },
  ],
  ["a request was accepted twice", "I2", evidence({ run: { records: [accepted, { ...accepted, n: 2 }] } })],
  ["a request has two ends", "I2", evidence({ run: { events: [...events, event(7, "RequestCompleted")] } })],
  ["a request has no end", "I2", evidence({ run: { events: events.slice(0, 5) }, open: true })],
  ["the index has another opinion of a request", "I2", evidence({ open: true })],
  ["something follows the end", "I3", evidence({ run: { events: [...events, event(7, "TextOutput")] } })],
  [
    "a client got other bytes",
    "I4",
    evidence({ heard: heard.with(2, { kind: "event", requestId: "q", id: 3, text: "{}" }) }),
  ],
  ["a client got an event twice", "I4", evidence({ heard: heard.toSpliced(2, 0, heard[1] as Heard) })],
  ["a client missed an event", "I4", evidence({ heard: heard.toSpliced(2, 1) })],
  [
    "a request was taken and is not there",
    "I4",
    evidence({ heard: [...heard, { kind: "accepted", requestId: "p" }] }),
  ],
  [
    "an answer was taken and is not there",
    "I4",
    evidence({ heard: [...heard, { kind: "resumed", requestId: "q", waitId: 9 }] }),
  ],
  [
    "a client complains",
    "I4",
    evidence({ heard: [...heard, { kind: "complaint", requestId: "q", what: "409" }] }),
  ],
  [
    "an answer belongs to no wait",
    "I5",
    evidence({ run: { events: events.with(4, event(5, "ResumeWithInput", { wait_id: 3 })) } }),
  ],
  ["something unsafe was done twice", "I6", evidence({ effects: [deed, deed] })],
  [
    "something was done that the log does not call for",
    "I6",
    evidence({ effects: [deed, { ...deed, key: "q/2" }] }),
  ],
  ["nothing was done although there is a result", "I6", evidence({ effects: [] })],
  [
    "something was done again behind its result",
    "I6",
    { ...evidence({ effects: [deed, deed] }), earlier, earlierEffects: [deed] },
  ],
  ["the chain is broken", "I7", { ...evidence(), history: { ...earlier, chain: ["batch 3"] } }],
  [
    "a turn failed that should not",
    "ends",
    evidence({ run: { events: events.with(5, event(6, "RequestCompleted", { finish_reason: "error" })) } }),
  ],
])("the check detects that %s", ([, invariant, broken]) => {
  expect(verifyLog(broken).map((violation) => violation.invariant)).toContain(invariant);
});
