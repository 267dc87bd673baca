import type * as z from "zod";
import type { Issue } from "./check-json.ts";

/** The issues of a schema error; empty without an error. */
export function toIssues(error: z.ZodError | undefined): readonly Issue[] {
  return (error?.issues ?? []).map(({ path, message }) => ({ path: path.join("."), message }));
}

/** Describes a schema issue without repeating the value. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined) return "is required";
  switch (issue.code) {
    case "invalid_type":
      return `must be ${EXPECTED.get(issue.expected) ?? issue.expected}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      return issue.origin === "string" ? "must not be empty" : `must be at least ${issue.minimum}`;
    case "too_big":
      return issue.origin === "array"
        ? `must have at most ${issue.maximum} items`
        : `must be at most ${issue.maximum}`;
    default:
      return undefined;
  }
}

const EXPECTED = new Map<string, string>([
  ["string", "a string"],
  ["int", "a whole number"],
  ["number", "a number"],
  ["boolean", "true or false"],
  ["array", "an array"],
  ["object", "an object"],
  ["record", "an object"],
]);
