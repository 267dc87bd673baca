import { expect, test } from "vitest";
import type { ErrorCode } from "../../src/errors.ts";
import { answerSchemas } from "../../src/protocol/answers/answers.ts";
import type { Problem, ProblemCode } from "../../src/protocol/answers/problem.ts";

const problem: Problem = {
  type: "about:blank",
  title: "Conflict",
  status: 409,
  code: "conflict",
  detail: "run run_1 waits for input",
  hint: "answer it, or send on_busy",
  errors: [{ path: "input", message: "must be a string" }],
};

test("a problem can have additional fields", () => {
  expect(answerSchemas.Problem.parse({ ...problem, request_keys: { ok: "Go on?" } })).toEqual(problem);
});

test("a problem has one of the known codes, which are also error codes", () => {
  const code: ProblemCode = "conflict";
  const same: ErrorCode = code;
  expect(answerSchemas.Problem.safeParse({ ...problem, code: same }).success).toBe(true);
  expect(answerSchemas.Problem.safeParse({ ...problem, code: "strange" }).success).toBe(false);
});

test("a description is valid with its operations", () => {
  const descriptor = {
    name: "echo",
    purpose: "Says what you say.",
    endpoints: ["/echo/process"],
    operations: [{ name: "chat", description: "Says it.", input_schema: { type: "object" } }],
    tools: ["calculator"],
  };
  expect(answerSchemas.AgentDescriptor.parse(descriptor)).toEqual(descriptor);
  expect(answerSchemas.AgentDescriptor.safeParse({ ...descriptor, operations: ["chat"] }).success).toBe(
    false,
  );
});

test("the status of a request can have a result, an error or questions", () => {
  const queued = {
    request_id: "req_1",
    run_id: "run_1",
    agent: "echo",
    operation: "chat",
    status: "queued",
    created_at: "2026-01-31T12:00:00.000Z",
    last_event_id: 0,
  };
  const completed = { ...queued, status: "completed", finish_reason: "success", result: null, output: [1] };
  const failed = { ...completed, finish_reason: "error", error: { code: "timeout", message: "too slow" } };
  const waiting = { ...queued, status: "waiting", request_keys: { ok: "Go on?" }, wait_id: 3 };
  for (const status of [queued, completed, failed, waiting]) {
    expect(answerSchemas.RequestStatus.parse(status)).toEqual(status);
  }
  expect(answerSchemas.RequestStatus.safeParse({ ...queued, status: "lost" }).success).toBe(false);
  expect(answerSchemas.RequestStatus.safeParse({ ...queued, created_at: "today" }).success).toBe(false);
});

test("an accepted request without a run is valid for the agent itself", () => {
  expect(answerSchemas.Accepted.safeParse({ request_id: "req_1", run_id: null }).success).toBe(true);
  expect(answerSchemas.Accepted.safeParse({ request_id: "req_1" }).success).toBe(false);
});
