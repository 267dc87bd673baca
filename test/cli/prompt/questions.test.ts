import { expect, test } from "vitest";
import { z } from "zod";
import { parseField, toPromptFields } from "../../../src/cli/prompt/questions.ts";
import type { JsonObject } from "../../../src/protocol/json.ts";

test("one of several objects is typed as JSON", () => {
  const card = z.object({ by: z.literal("card"), number: z.string() });
  const cash = z.object({ by: z.literal("cash") });
  const input = z.object({ means: z.discriminatedUnion("by", [card, cash]) });
  const [field] = toPromptFields(z.toJSONSchema(input) as JsonObject);
  expect(field && parseField(field, '{"by":"cash"}')).toEqual({ value: { by: "cash" } });
});
