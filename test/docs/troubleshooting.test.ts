import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PROBLEM_CODES } from "../../src/protocol/answers/problem.ts";
import {
  COMPLETION_ERROR_CODES,
  HOLD_CODES,
  TOOL_ERROR_CODES,
  TURN_ERROR_CODES,
} from "../../src/protocol/events/outcome-codes.ts";
import { root } from "./blocks.ts";

const page = readFileSync(join(root, "docs/guide/troubleshooting.md"), "utf8");
const sections = new Map(
  [...page.matchAll(/^### `(\w+)`\n(.*?)(?=^##|$(?![\s\S]))/gms)].map(([, code = "", text = ""]) => [
    code,
    text,
  ]),
);

test("the page has a section with the cause of every code that a user can meet", () => {
  const codes = [
    ...PROBLEM_CODES,
    ...TURN_ERROR_CODES,
    ...TOOL_ERROR_CODES,
    ...COMPLETION_ERROR_CODES,
    ...HOLD_CODES,
    "model_error",
    "call_failed",
    "waiting",
  ];
  for (const code of new Set(codes)) expect(sections.get(code) ?? code).toMatch(/^\n- \*\*Cause:\*\* /);
});
