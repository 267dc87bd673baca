import * as z from "zod";
import type { Shape } from "../fields.ts";
import type { Issue } from "../schema/check-json.ts";

/** All kinds of problems. */
export const PROBLEM_CODES = [
  "invalid_request",
  "unauthorized",
  "forbidden",
  "not_an_approver",
  "not_found",
  "method_not_allowed",
  "request_timeout",
  "conflict",
  "gone",
  "too_large",
  "unsupported_media_type",
  "misdirected",
  "unprocessable",
  "overloaded",
  "run_full",
  "too_deep",
  "would_deadlock",
  "not_accepted",
  "stopped",
  "internal",
  "unavailable",
  "timeout",
  "insufficient_storage",
] as const;

/** The kind of a problem, for programs to branch on; a closed list. */
export type ProblemCode = (typeof PROBLEM_CODES)[number];

/** The body of every refusal (RFC 9457). It can have more fields. */
export interface Problem {
  /** `about:blank`: the status says what kind of problem it is. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  /** Names the thing and the fact. */
  readonly detail: string;
  /** How to fix it. */
  readonly hint?: string;
  /** Each fault of the request. */
  readonly errors?: readonly Issue[];
  /** The command that prints what the code means, what to look at and what to do. */
  readonly help?: string;
}

const text = z.string();

const issue = z.object({
  path: text.describe("Path from the root of the body, joined by dots."),
  message: text,
} satisfies Shape<Issue>);

/** @internal The schema of a refusal. */
export const problem: z.ZodType<Problem> = z
  .object({
    type: text,
    title: text,
    status: z.int(),
    code: z.enum(PROBLEM_CODES),
    detail: text.describe("Names the thing and the fact."),
    hint: text.exactOptional().describe("How to fix it."),
    errors: z.array(issue).exactOptional().describe("Each fault of the request."),
    help: text.exactOptional().describe("The command that prints what the code means and what to do."),
  } satisfies Shape<Problem>)
  .describe("Why a request was refused (RFC 9457).");
