import * as z from "zod";
import { count } from "../fields.ts";
import type { Shape } from "../fields.ts";
import { HOLD_CODES, TURN_ERROR_CODES } from "./outcome-codes.ts";
import type { HoldReason, TurnError, Usage } from "./outcome-codes.ts";

/** @internal The schema of the error of a turn. */
export const turnError: z.ZodType<TurnError> = z.object({
  code: z.enum(TURN_ERROR_CODES),
  message: z.string(),
} satisfies Shape<TurnError>);

/** @internal The schema of the usage of a turn or a completion. */
export const usage: z.ZodType<Usage> = z.object({
  input_tokens: count.exactOptional(),
  cached_input_tokens: count
    .exactOptional()
    .describe("Those of the input tokens that the provider had in its cache."),
  output_tokens: count.exactOptional(),
  reasoning_tokens: count.exactOptional().describe("Those of the output tokens that were reasoning."),
  cost: z.number().exactOptional(),
  interrupted_attempts: count
    .exactOptional()
    .describe(
      "Attempts that broke off before their usage was reported, which is not among the other figures.",
    ),
} satisfies Shape<Usage>);

/** @internal The schemas of the fields of the reason for which a turn is held. */
export const holdReason: Shape<HoldReason> = {
  code: z.enum(HOLD_CODES),
  message: z.string(),
  scope: z.string().exactOptional().describe("The place in the turn where the code differs from the log."),
  expected: z.string().exactOptional().describe("What the log has there."),
  found: z.string().exactOptional().describe("What the code does there."),
  at: z.string().exactOptional().describe("The file and line of the agent's code, if they are known."),
};
