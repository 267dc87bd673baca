// The event streams and answers of a misbehaving remote agent affect only the call that was made to it.
import type { RemoteLimits } from "troupe/client";
import { expect, test } from "vitest";
import { textsOf } from "../../../agents/events.ts";
import {
  started,
  call,
  checkOrder,
  raw,
  redirect,
  endless,
  counting,
  opening,
  nested,
  impatient,
  lonely,
  patient,
} from "./fiend.ts";
import { completed, event, frame, json, open, startHostile, stream } from "../../hostile-server.ts";
import type { Handler } from "../../hostile-server.ts";
import { sampled } from "../../../machine/long.ts";

/** The behavior of its event stream, and the end of the call. */
const streams: readonly (readonly [
  what: string,
  end: string,
  handler: Handler,
  special?: Partial<RemoteLimits>,
])[] = [
  ["sends no JSON", "tool_error: agent fiend sent an event that is not JSON", raw("data: {nonsense\n\n")],
  ["sends no events", "tool_error: agent fiend sent an invalid event", raw("data: [1,2]\n\n")],
  [
    "sends events without ids",
    "tool_error: agent fiend sent an invalid event",
    raw('data: {"type":"TextOutput"}\n\n'),
  ],
  [
    "sends ids that are none",
    "tool_error: agent fiend sent an invalid event",
    raw('data: {"id":1.5,"type":"x"}\n\n'),
  ],
  ["sends another type of content", "tool_error: agent fiend did not answer with an event stream", json([])],
  ["answers with 500", "tool_error: agent fiend refused: HTTP 500", json({}, 500)],
  [
    "answers with 503 and an hour to wait",
    "tool_error: agent fiend refused: come back",
    (response) => {
      response.writeHead(503, { "retry-after": "3600", "content-type": "application/problem+json" });
      response.end(JSON.stringify({ code: "unavailable", detail: "come back" }));
    },
  ],
  [
    "no longer knows the request",
    "interrupted: agent fiend has lost the request; whether it took effect is unknown",
    json({}, 404),
  ],
  ["redirects", "tool_error: agent fiend answers with a redirect, which is not followed", redirect],
  [
    "sends an event of another request",
    "tool_error: agent fiend sent an event of another request",
    stream(started, { ...event(2, "TextOutput", { content: "x" }), request_id: "req_2" }),
  ],
  [
    "sends an event of another run",
    "tool_error: agent fiend sent an event of another run",
    stream(started, { ...event(2, "TextOutput", { content: "x" }), run_id: "run_2" }),
  ],
  [
    "sends an event too deep",
    "tool_error: agent fiend is part of a chain of agents that is too deep",
    stream(event(2, "TextOutput", { content: "x", depth: 9 })),
  ],
  [
    "sends an event without a depth",
    "tool_error: agent fiend sent an event without a valid depth",
    stream(event(2, "TextOutput", { content: "x", depth: -1 })),
  ],
  [
    "sends half a surrogate pair",
    "tool_error: agent fiend sent an event that cannot be kept: content contains half of a surrogate pair",
    stream(event(2, "TextOutput", { content: "\ud800" })),
  ],
  [
    "sends JSON that is too deep",
    "tool_error: agent fiend sent an event that cannot be kept: args.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0 is nested deeper than 32 levels",
    stream(event(2, "ToolCall", { function_name: "f", args: nested(40) })),
  ],
  [
    "sends a key with a meaning",
    "tool_error: agent fiend sent an event that cannot be kept: args.__proto__ is a key that is not allowed",
    raw('data: {"id":2,"type":"ToolCall","args":{"__proto__":{"polluted":true}}}\n\n'),
  ],
  [
    "sends a huge event",
    "tool_error: a frame of the stream is larger than 10000 bytes",
    stream(event(2, "TextOutput", { content: "x".repeat(20_000) })),
  ],
  [
    "sends an event that is huge in bytes",
    "tool_error: an event of the stream is larger than 10000 bytes",
    stream(event(2, "TextOutput", { content: "€".repeat(4_000) })),
  ],
  [
    "sends a huge frame that never ends",
    "tool_error: a frame of the stream is larger than 10000 bytes",
    endless("data: x\n", 0),
  ],
  ["sends events for ever", "tool_error: agent fiend sends more events than a request may have", counting],
  [
    "sends the same event for ever",
    "tool_error: agent fiend sends more events than a request may have",
    endless(frame(started), 0),
  ],
  [
    "sends heartbeats for ever",
    "timeout: agent fiend sent no event for 2000 ms",
    endless(":\n\n", 20),
    impatient,
  ],
  [
    "sends a frame byte by byte for ever",
    "timeout: agent fiend sent nothing for 8000 ms",
    endless("x", 20),
    lonely,
  ],
  [
    "says nothing at all",
    "timeout: agent fiend sent nothing for 8000 ms",
    (response) => void open(response),
    lonely,
  ],
  ["does not even answer", "timeout: agent fiend did not answer within 8000 ms", () => {}, lonely],
  [
    "hangs up at once, each time",
    "tool_error: agent fiend cannot be reached",
    (response) => response.destroy(),
  ],
  [
    "ends its stream in the middle, each time",
    "timeout: agent fiend sent no event for 2000 ms",
    stream(started),
    impatient,
  ],
  [
    "ends a stream without a word",
    "tool_error: agent fiend ended its events without an end of the request",
    stream(),
  ],
  [
    "ends as canceled",
    "canceled: agent fiend was canceled on its server",
    stream(completed(2, { finish_reason: "canceled" })),
  ],
  [
    "ends with an error it made up",
    "tool_error: agent fiend failed: it gives no reason",
    stream(completed(2, { finish_reason: "error", error: { code: "x" } })),
  ],
  [
    "opens more calls than anybody",
    "tool_error: agent fiend sends more events than a request may have",
    opening("ToolCall", 1_100),
  ],
  [
    "asks more than anybody",
    "tool_error: agent fiend asks more than 100 questions at a time",
    opening("WaitForInput", 101),
  ],
  [
    "publishes a file of somebody else",
    "tool_error: agent fiend published a file at a foreign address",
    stream(
      event(2, "ArtifactGenerated", {
        name: "x",
        url: "http://169.254.169.254/secrets",
        mime_type: "text/plain",
      }),
    ),
  ],
  [
    "publishes a file without an address",
    "tool_error: agent fiend published a file at a foreign address",
    stream(event(2, "ArtifactGenerated", {})),
  ],
  [
    "publishes a file that is not there",
    "tool_error: agent fiend published a file that does not exist",
    stream(event(2, "ArtifactGenerated", { url: "/gone" })),
  ],
];

test.each(
  sampled(streams, 5).map(([what, end, handler, special = {}]) => [what, end, handler, special] as const),
)("an agent that %s ends its call with %j", async (_what, end, getevents, special) => {
  const file: Handler = json({}, 404);
  const events = await call({ getevents, file }, special);
  expect(textsOf(events)).toEqual([end]);
  checkOrder(events);
});

/** The behavior of the request itself. */
const answers: readonly (readonly [
  what: string,
  end: string,
  handler: Handler,
  special?: Partial<RemoteLimits>,
])[] = [
  ["refuses it", "tool_error: agent fiend refused: no", json({ detail: "no" }, 403)],
  ["does not fit it", "invalid_input: agent fiend refused: no", json({ detail: "no" }, 422)],
  ["answers with 500", "tool_error: agent fiend refused: HTTP 500", json({}, 500)],
  ["answers with no ids", "tool_error: agent fiend answers without a request id", json({})],
  [
    "answers with a page",
    "tool_error: agent fiend did not answer with JSON",
    (response) => response.end("<html>"),
  ],
  [
    "answers with ids that are none",
    "tool_error: agent fiend answers without a request id",
    json({ request_id: { a: 1 } }),
  ],
  [
    "answers with megabytes",
    "tool_error: agent fiend answers with more than 8388608 bytes",
    endless("x".repeat(65_536), 0),
    patient,
  ],
  ["redirects", "tool_error: agent fiend answers with a redirect, which is not followed", redirect],
  ["hangs up", "tool_error: agent fiend cannot be reached", (response) => response.destroy()],
];

test.each(
  sampled(answers, 3).map(([what, end, handler, special = {}]) => [what, end, handler, special] as const),
)("an agent that %s when it is asked ends its call with %j", async (_what, end, process, special) => {
  expect(textsOf(await call({ process }, special))).toEqual([end]);
});

test.each([
  ["is no description", json([1])],
  ["is a page", (response) => response.end("<html>")],
  [
    "contains special keys",
    (response) => response.end('{"name":"x","operations":[{"name":"constructor"},{"name":"__proto__"}]}'),
  ],
  ["redirects", redirect],
  ["never comes", () => {}],
] satisfies readonly (readonly [string, Handler])[])(
  "a description that %s does no harm",
  async (_what, describe) => {
    const events = await call({ describe });
    expect(textsOf(events)).toEqual(["fine"]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  },
);

test("an agent that redirects is not followed to any target", async () => {
  await using other = await startHostile({});
  await call({
    getevents: (response) => {
      response.writeHead(307, { location: `${other.url}/getevents/req_1` });
      response.end();
    },
  });
  expect(other.asked).toEqual([]);
});
