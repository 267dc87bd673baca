import { AgentError } from "troupe";
import type { ErrorCode } from "troupe";
import { expect, test } from "vitest";
import { isFault, toProblem } from "../../src/http/messages/problem.ts";

const STATUSES: { readonly [Code in ErrorCode]?: number } = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  run_full: 409,
  too_deep: 409,
  would_deadlock: 409,
  not_accepted: 409,
  gone: 410,
  too_large: 413,
  unsupported_media_type: 415,
  misdirected: 421,
  unprocessable: 422,
  overloaded: 429,
  internal: 500,
  call_failed: 500,
  unavailable: 503,
  timeout: 504,
  insufficient_storage: 507,
};

test.each(Object.entries(STATUSES))("%s is a %i", (code, status) => {
  const reply = toProblem(new AgentError(code as ErrorCode, "something is wrong"));
  expect(reply.status).toBe(status);
  expect(JSON.parse(reply.body)).toMatchObject({ type: "about:blank", status });
});

test("a problem contains the code, the message, the hint, the issues and the facts of its error", () => {
  const error = new AgentError("conflict", "run run_1 waits for input", {
    hint: "answer it",
    issues: [{ path: "input", message: "is missing" }],
    facts: { request_keys: { approved: "Pay?" } },
  });
  expect(JSON.parse(toProblem(error).body)).toEqual({
    type: "about:blank",
    title: "Conflict",
    status: 409,
    code: "conflict",
    detail: "run run_1 waits for input",
    hint: "answer it",
    errors: [{ path: "input", message: "is missing" }],
    request_keys: { approved: "Pay?" },
    help: "npx troupe explain conflict",
  });
});

test("the facts of an error cannot replace its code", () => {
  const error = new AgentError("conflict", "no", { facts: { code: "internal", status: 200 } });
  expect(JSON.parse(toProblem(error).body)).toMatchObject({ code: "conflict", status: 409 });
});

test("a temporary refusal has a Retry-After", () => {
  const headersOf = (error: AgentError): unknown => toProblem(error).headers;
  expect(headersOf(new AgentError("overloaded", "full"))).toEqual({ "retry-after": "1" });
  expect(headersOf(new AgentError("unavailable", "no", { retryAfterS: 2.2 }))).toEqual({
    "retry-after": "3",
  });
  expect(headersOf(new AgentError("conflict", "no"))).toEqual({});
});

test.each([
  ["an error of another kind", new TypeError("cannot read /home/ada/secret.txt")],
  ["a thrown text", "password=hunter2"],
  [
    "an error with a cause",
    new AgentError("internal", "an unexpected error occurred", { cause: new Error("/home/ada") }),
  ],
  ["a request to another server", new AgentError("call_failed", "agent x said /home/ada/secret.txt")],
  [
    "a call that escaped from its turn",
    new AgentError("overloaded", "tool x said /home/ada/secret.txt", {
      call: { agent: "x", callId: "c1.1" },
    }),
  ],
])("%s tells the caller only that it happened", (_, thrown) => {
  const { status, body } = toProblem(thrown);
  expect(status).toBe(500);
  expect(JSON.parse(body)).toEqual({
    type: "about:blank",
    title: "Internal Server Error",
    status: 500,
    code: "internal",
    detail: "an unexpected error occurred",
    help: "npx troupe explain internal",
  });
  expect(isFault(thrown)).toBe(true);
});

test("a refusal is not a server fault", () => {
  expect(isFault(new AgentError("not_found", "there is no run"))).toBe(false);
});
