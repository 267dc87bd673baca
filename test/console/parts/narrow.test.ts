import { expect, test } from "vitest";
import { project } from "../../../src/view/fold.ts";
import { chatItems } from "../../../src/console/chat/chat-items.ts";
import { isOfActor, narrowTo } from "../../../src/console/run/narrow.ts";
import { toRows } from "../../../src/console/timeline/axis.ts";
import type { Event } from "../../../src/protocol/events/events.ts";

const ts = "2026-11-22T12:00:00.000Z";
const bodies = [
  { type: "RequestStarted", operation: "chat", input: "go" },
  { type: "ToolCall", function_name: "a", args: {}, tool_call_id: "c1.1" },
  { type: "TextOutput", content: "inside", depth: 1, parent_call_id: "c1.1", agent: "a" },
  {
    type: "ToolCall",
    function_name: "b",
    args: {},
    tool_call_id: "c1.1.1",
    depth: 1,
    parent_call_id: "c1.1",
    agent: "a",
  },
  {
    type: "ToolResult",
    function_name: "b",
    result: 1,
    tool_call_id: "c1.1.1",
    depth: 1,
    parent_call_id: "c1.1",
    agent: "a",
  },
  { type: "ToolResult", function_name: "a", result: 1, tool_call_id: "c1.1" },
  { type: "ToolCall", function_name: "c", args: {}, tool_call_id: "c1.10" },
  { type: "TextOutput", content: "outside" },
  { type: "RequestCompleted", finish_reason: "success", result: "outside", output: null },
];
const events = bodies.map((body, at) => {
  return { id: at + 1, run_id: "run", request_id: "req", agent: "main", depth: 0, ts, ...body };
}) as unknown as readonly Event[];
const view = project(events);

test("a view is narrowed to a call with everything under it, and to nothing beside it", () => {
  const actor = view.calls.get("req/c1.1");
  if (actor === undefined) throw new Error("the call is missing");
  const own = narrowTo(view, actor);
  expect(toRows(own).map(({ call }) => call.callId)).toEqual(["c1.1", "c1.1.1"]);
  expect(events.filter((event) => isOfActor(event, actor)).map(({ id }) => id)).toEqual([2, 3, 4, 5, 6]);
  // What the called agent said is its conversation, and the end of the turn is not its end.
  const said = chatItems(own).map((item) => (item.kind === "end" ? "end" : item.message.kind));
  expect(said).toEqual(["text", "call"]);
  expect(own.head).toBe(view.head);
});

test("a view that is narrowed to a turn has all of the turn", () => {
  const turn = view.calls.get("req/");
  if (turn === undefined) throw new Error("the turn is missing");
  const own = narrowTo(view, turn);
  expect(toRows(own)).toEqual(toRows(view));
  expect(chatItems(own)).toEqual(chatItems(view));
  expect(events.every((event) => isOfActor(event, turn))).toBe(true);
});
