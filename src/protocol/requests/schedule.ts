import * as z from "zod";
import type { ScheduleRequest } from "../answers/schedule.ts";
import { json, key, optional, runId } from "../fields.ts";
import type { Shape } from "../fields.ts";
import { parseStrictly } from "./parse.ts";
import type { Parsed } from "./parse.ts";

const schedule = z.strictObject({
  key: optional(key),
  run_id: optional(runId),
  id: optional(key),
  operation: z.string().min(1).max(256),
  input: optional(json),
  cron: optional(z.string().max(256)),
  timezone: optional(z.string().min(1).max(64)),
  every_ms: optional(z.number()),
  at: optional(z.iso.datetime({ offset: true, error: "must be a time such as 2030-01-31T12:00:00Z" })),
  after_ms: optional(z.number().min(0)),
  overlap: optional(z.enum(["skip", "queue"])),
} satisfies Shape<ScheduleRequest>);

/** Parses what a schedule is to be. Unknown fields are refused: one that is misspelled would be left out. Never throws. */
export function parseScheduleRequest(body: unknown): Parsed<ScheduleRequest> {
  return parseStrictly(schedule, body);
}
