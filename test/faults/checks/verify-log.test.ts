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

const message = (id: number): string =>
  event(id, "MessageReceived", { agent: "listener", message_id: "m", name: "line", body: "end" });
const read = { n: 2, after: 2, type: "Received", call_id: "c1.1", ids: [2] };
const listening = [
  event(1, "RequestStarted", { agent: "listener" }),
  message(2),
  event(3, "TextOutput", { agent: "listener", content: "end\n" }),
  event(4, "RequestCompleted", { agent: "listener", finish_reason: "success" }),
];
const sent: Heard = { kind: "sent", requestId: "q", messageId: "m" };

/** A log with a turn that has read one message. */
function mail(changes: Partial<RunHistory> = {}, more: Partial<Evidence> = {}): Evidence {
  const run = { events: listening, records: [accepted, read], ...changes };
  return evidence({ run, heard: [sent], effects: [], ...more });
}

const ask = event(2, "ToolCall", {
  function_name: "a.do",
  args: {},
  tool_call_id: "c1.1",
  mode: "ask",
  callee: { kind: "actor", name: "a", key: "k", request_id: "other" },
});
const answered = (result: unknown): string =>
  event(3, "ToolResult", { function_name: "a.do", result, tool_call_id: "c1.1" });

/** A log with an ask of another run. */
function asking(result: unknown, there: readonly string[]): Evidence {
  const { history, ...rest } = evidence({ heard: [], effects: [] });
  const events = [events1, ask, answered(result), event(4, "RequestCompleted", { finish_reason: "success" })];
  const theirs = there.map((text) => text.replace('"run_id":"r"', '"run_id":"s"'));
  const other = { n: 1, after: 0, type: "Accepted", accepted: { requestId: "other" } };
  const runs = new Map<string, RunHistory>([
    ["r", { events, records: [accepted] }],
    ["s", { events: theirs, records: there.length === 0 ? [] : [other] }],
  ]);
  return { ...rest, history: { ...history, runs } };
}

const events1 = event(1, "RequestStarted");
const theirStart = event(1, "RequestStarted", { request_id: "other" });
const theirEnd = event(2, "RequestCompleted", {
  request_id: "other",
  finish_reason: "success",
  output: 7,
});

const without = (index: number): readonly string[] => events.toSpliced(index, 1);
const earlier = evidence().history;

test("a correct log passes", () => {
  expect(verifyLog({ ...evidence(), earlier, earlierEffects: [deed] })).toEqual([]);
});

test("a correct log of actors passes", () => {
  expect(verifyLog(mail())).toEqual([]);
  expect(verifyLog(asking(7, [theirStart, theirEnd]))).toEqual([]);
});

test.for<[string, string, Evidence]>([
  ["an ask has another result than its request", "I8", asking(8, [theirStart, theirEnd])],
  ["an ask has a result that no turn gave", "I8", asking(7, [])],
  ["a message that was taken is lost", "I9", mail({}, { heard: [{ ...sent, messageId: "n" }] })],
  [
    "a message is in the log twice",
    "I9",
    mail({ events: [...listening.slice(0, 2), message(3), event(4, "RequestCompleted")] }),
  ],
  ["a message is read twice", "I9", mail({ records: [accepted, read, { ...read, n: 3 }] })],
  ["a line was not said", "I9", mail({ events: listening.with(2, event(3, "Other")) })],

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
