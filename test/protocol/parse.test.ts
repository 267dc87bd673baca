import fc from "fast-check";
import { expect, test } from "vitest";
import { parseScheduleRequest } from "../../src/protocol/requests/schedule.ts";
import { parseRequest, parseCursor, parseFlag } from "../../src/protocol/requests/parse.ts";
import type { IncomingRequest } from "../../src/protocol/requests/parse.ts";
import type { Issue } from "../../src/protocol/schema/check-json.ts";
import type { Request } from "../../src/protocol/requests/requests.ts";
import { anyRequest, json, requests } from "./arbitrary.ts";

type Query = { readonly [name: string]: string };

/** The parsed value of a valid body. */
function understood(body: unknown, query?: Query): IncomingRequest {
  const parsed = parseRequest(body, query);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.value;
}

/** The faults of an invalid body. */
function faults(body: unknown, query?: Query): readonly Issue[] {
  const parsed = parseRequest(body, query);
  if (parsed.ok) throw new Error("the body was understood");
  return parsed.issues;
}

const types = Object.keys(requests) as Request["type"][];

test.each(types)("a valid %s is parsed unchanged", (type) => {
  fc.assert(
    fc.property(requests[type], (request) => {
      expect(understood(request).request).toEqual(request);
    }),
  );
});

test("a body without a type is a chat if it has an input", () => {
  expect(understood({ input: "hi" }).request).toEqual({ type: "ChatRequest", input: "hi" });
  expect(understood({ type: null, input: "hi", args: {} }).request.type).toBe("ChatRequest");
});

test("a body without a type is an operation if it names one", () => {
  const { request } = understood({ operation: "add", input: { a: 1, b: 2 } });
  expect(request).toEqual({ type: "OperationRequest", operation: "add", input: { a: 1, b: 2 } });
});

test("a body without a type is a configuration if it has args", () => {
  expect(understood({ args: { a: 1 } }).request).toEqual({ type: "ConfigureRequest", args: { a: 1 } });
});

test.each([
  ["a cancel", { request_id: "req_1" }],
  ["a resume", { request_id: "req_1", request_keys: { a: 1 } }],
  ["nothing", {}],
])("%s without a type is refused", (_, body) => {
  expect(faults(body)).toMatchObject([{ path: "type" }]);
  expect(parseRequest(body)).toHaveProperty(
    "message",
    expect.stringMatching(/^type is required, unless there is input, operation or args; supported are /),
  );
});

test.each(["chatrequest", "ChatRequest ", "xstate.stop", "toString", "__proto__", "", 7, true, {}, []])(
  "the type %j is refused, and the supported ones are listed",
  (type) => {
    const parsed = parseRequest({ type, input: "hi" });
    expect(parsed).toMatchObject({ ok: false, kind: "invalid", issues: [{ path: "type" }] });
    for (const supported of types)
      expect(parsed).toHaveProperty("message", expect.stringContaining(supported));
  },
);

test.each([null, [], [{ input: "hi" }], "hi", 7, true])(
  "the body %j is refused because it is not an object",
  (body) => {
    expect(faults(body)).toEqual([{ path: "", message: "must be a JSON object" }]);
  },
);

test("whole numbers as ids are read as texts", () => {
  const { request } = understood({ type: "ChatRequest", input: "hi", run_id: 7, request_id: 0 });
  expect(request).toMatchObject({ run_id: "7", request_id: "0" });
});

test.each(["../x", "a b", "", "x".repeat(129), "\u202e", 1.5, 2 ** 53, true, {}, ["a"]])(
  "the id %j is refused",
  (id) => {
    expect(faults({ input: "hi", run_id: id, request_id: id })).toMatchObject([
      { path: "request_id" },
      { path: "run_id" },
    ]);
  },
);

test("null means absent, except as the input of an operation", () => {
  const body = { input: null, request_id: null, run_id: null, request_metadata: null, attachments: null };
  expect(understood({ type: "OperationRequest", operation: "look", ...body, wait: null }).request).toEqual({
    type: "OperationRequest",
    operation: "look",
    input: null,
  });
  expect(faults({ type: "ChatRequest", ...body })).toEqual([{ path: "input", message: "must be a string" }]);
});

test("unknown fields of a request are ignored", () => {
  const { request } = understood({ type: "CancelRequest", request_id: "r", mood: "fine", input: 3 });
  expect(request).toEqual({ type: "CancelRequest", request_id: "r" });
});

test("an unknown logging level means default", () => {
  for (const level of ["verbose", 3, {}, "MINIMAL"]) {
    expect(understood({ input: "hi", logging_level: level }).request).toMatchObject({
      logging_level: "default",
    });
  }
  expect(understood({ input: "hi" }, { logging_level: "debug" }).request).toMatchObject({
    logging_level: "default",
  });
});

test("query parameters fill in absent fields of the body", () => {
  const query = { run_id: "run_1", request_id: "req_1", on_busy: "reject", logging_level: "tools" };
  expect(understood({ input: "hi", run_id: "run_2", request_id: null }, query).request).toEqual({
    type: "ChatRequest",
    input: "hi",
    run_id: "run_2",
    request_id: "req_1",
    on_busy: "reject",
    logging_level: "tools",
  });
});

test("a query can name the wait that a resume answers", () => {
  const query = { run_id: "run_1", wait_id: "4", resume_id: "again" };
  expect(understood({ type: "ResumeWithInput", request_keys: { ok: true } }, query).request).toEqual({
    type: "ResumeWithInput",
    request_keys: { ok: true },
    run_id: "run_1",
    wait_id: 4,
    resume_id: "again",
  });
});

test("a query cannot replace the input", () => {
  const query = { type: "CancelRequest", input: "bye", request_metadata: "{}", constructor: "x" };
  expect(understood({ input: "hi" }, query).request).toEqual({ type: "ChatRequest", input: "hi" });
});

test("a resume must name its request or its run", () => {
  const body = { type: "ResumeWithInput", request_keys: {} };
  expect(faults(body)).toMatchObject([{ path: "request_id" }]);
  expect(understood({ ...body, run_id: "run_1" }).request).toEqual({ ...body, run_id: "run_1" });
});

test("the context is merged into the metadata, which wins", () => {
  const body = { input: "hi", run_context: { a: 1, b: 1 }, request_metadata: { b: 2, c: 2 } };
  expect(understood(body).request).toHaveProperty("request_metadata", { a: 1, b: 2, c: 2 });
  expect(understood({ input: "hi", run_context: { a: 1 } }).request).toHaveProperty("request_metadata", {
    a: 1,
  });
  expect(faults({ input: "hi", run_context: "a" })).toEqual([
    { path: "run_context", message: "must be an object" },
  ]);
});

test("the default is not to wait", () => {
  expect(understood({ input: "hi" }).delivery.wait).toBe("none");
});

test.each([
  [false, "none"],
  ["false", "none"],
  [0, "none"],
  ["none", "none"],
  [true, "acknowledged"],
  ["true", "acknowledged"],
  ["True", "acknowledged"],
  [1, "acknowledged"],
  ["1", "acknowledged"],
  ["acknowledged", "acknowledged"],
  ["completed", "completed"],
])("wait %j means %s, in the body and in the query", (wait, meant) => {
  expect(understood({ input: "hi", wait }).delivery.wait).toBe(meant);
  expect(understood({ input: "hi" }, { wait: String(wait) }).delivery.wait).toBe(meant);
});

test.each(["yes", "", 2, {}, ["true"]])("wait %j is refused", (wait) => {
  expect(faults({ input: "hi", wait })).toMatchObject([{ path: "wait" }]);
});

test("the maximum wait is 30 seconds, or up to ten minutes for a completion", () => {
  expect(understood({ input: "hi", wait: "completed" }).delivery.waitMs).toBe(30_000);
  expect(understood({ input: "hi", wait: "completed", wait_ms: 5 }).delivery.waitMs).toBe(5);
  expect(understood({ input: "hi", wait: "completed" }, { wait_ms: "45000" }).delivery.waitMs).toBe(45_000);
  expect(understood({ input: "hi", wait: "completed", wait_ms: 1e9 }).delivery.waitMs).toBe(600_000);
  expect(understood({ input: "hi", wait: true, wait_ms: 1e9 }).delivery.waitMs).toBe(30_000);
  expect(faults({ input: "hi", wait_ms: -1 })).toMatchObject([{ path: "wait_ms" }]);
  expect(faults({ input: "hi" }, { wait_ms: "soon" })).toMatchObject([{ path: "wait_ms" }]);
});

test("texts that cannot be stored are distinguished from invalid bodies", () => {
  expect(parseRequest({ input: "\ud800" })).toMatchObject({
    kind: "unprocessable",
    issues: [{ path: "input" }],
  });
  expect(parseRequest({ input: "a\u0000" })).toMatchObject({ kind: "unprocessable" });
  expect(parseRequest({ input: "x".repeat(262_145) })).toMatchObject({ kind: "too_large" });
  expect(parseRequest({ input: 3 })).toMatchObject({ kind: "invalid" });
  expect(parseRequest({ input: "\u0000", args: { prototype: 1 } })).toMatchObject({ kind: "invalid" });
});

test("no body can change object prototypes", () => {
  const body: unknown = JSON.parse('{"input":"hi","request_metadata":{"__proto__":{"polluted":true}}}');
  expect(faults(body)).toMatchObject([{ path: "request_metadata.__proto__" }]);
  expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
});

test("any input is parsed or refused with a reason, and never throws", () => {
  const names = fc.constantFrom(
    "type",
    "input",
    "args",
    "wait",
    "wait_ms",
    "run_id",
    "request_keys",
    "wait_id",
  );
  const body = fc.oneof(
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
    fc.dictionary(names, fc.oneof(json, fc.constantFrom(...types))),
  );
  fc.assert(
    fc.property(body, fc.dictionary(names, fc.string()), (value, query) => {
      const parsed = parseRequest(value, query);
      if (parsed.ok) return;
      expect(parsed.issues).not.toHaveLength(0);
      expect(parsed.message).toContain(parsed.issues[0]?.message);
    }),
  );
});

test("one wrong field is one issue, at that field", () => {
  const object = { a: 1 };
  const wrong: { readonly [field: string]: readonly unknown[] } = {
    operation: ["", 3, object],
    args: ["x", [], 3],
    request_keys: ["x", [], 3],
    request_id: ["a b", object, true],
    run_id: ["a b", object, true],
    resume_id: ["a b", 3, object],
    wait_id: [0, -1, 1.5, "1", object],
    request_metadata: ["x", [], 3],
    on_busy: ["later", 3, object],
    attachments: ["x", object, Array.from({ length: 101 }, () => "a")],
  };
  const mutation = anyRequest.chain((request) => {
    const fields = Object.keys(request).filter((name) => name in wrong);
    return fc
      .constantFrom(...(fields.length > 0 ? fields : ["attachments"]))
      .chain((field) =>
        fc.tuple(fc.constant(request), fc.constant(field), fc.constantFrom(...(wrong[field] ?? []))),
      );
  });
  fc.assert(
    fc.property(mutation, ([request, field, value]) => {
      expect(faults({ ...request, [field]: value }).map(({ path }) => path)).toEqual([field]);
    }),
  );
});

test("an issue within a field has the path to it", () => {
  expect(faults({ input: "hi", attachments: ["a", "b c", 3] }).map(({ path }) => path)).toEqual([
    "attachments.1",
    "attachments.2",
  ]);
});

test("a request in the body equals one completed by its query", () => {
  const whole = { type: "ChatRequest", input: "hi", run_id: "7", request_id: "req_1" };
  const split = understood({ input: "hi", request_id: "req_1" }, { run_id: "7", wait: "true" });
  expect(split.request).toEqual(understood(whole).request);
});

test("reads every event id", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (id) => {
      expect(parseCursor(String(id))).toEqual({ ok: true, value: id });
    }),
  );
});

test.each(["", " ", "-1", "+1", "1.5", "1e3", "0x10", "NaN", "Infinity", "9007199254740992", "1,2", "१"])(
  "refuses %j as a cursor",
  (text) => {
    expect(parseCursor(text)).toMatchObject({ ok: false, message: "must be the id of an event, or 0" });
  },
);

test.each(["true", "True", "TRUE", "1"])("reads %s as true", (text) => {
  expect(parseFlag(text)).toEqual({ ok: true, value: true });
});

test.each(["false", "False", "0"])("reads %s as false", (text) => {
  expect(parseFlag(text)).toEqual({ ok: true, value: false });
});

test.each(["", "yes", "2", "null", "truee"])("refuses %j as a boolean", (text) => {
  expect(parseFlag(text)).toMatchObject({ ok: false });
});

test("a schedule at no time is refused with a time as an example", () => {
  expect(parseScheduleRequest({ key: "a", operation: "run", at: "yesterday" })).toMatchObject({
    ok: false,
    message: "at must be a time such as 2030-01-31T12:00:00Z",
  });
});
