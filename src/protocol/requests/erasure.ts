import * as z from "zod";
import { jsonObject, key, optional, runId } from "../fields.ts";
import type { Shape } from "../fields.ts";
import type { RunId } from "../ids.ts";
import type { JsonObject } from "../json.ts";
import { parseStrictly } from "./parse.ts";
import type { Parsed } from "./parse.ts";

/** The body of an erasure: the runs that have all that is given. */
export interface ErasureRequest {
  readonly owner?: string;
  readonly agent?: string;
  readonly run_id?: RunId;
  readonly key?: string;
  readonly metadata?: JsonObject;
}

const erasure = z.strictObject({
  owner: optional(z.string().min(1).max(128)),
  agent: optional(z.string().min(1)),
  run_id: optional(runId),
  key: optional(key),
  metadata: optional(jsonObject),
} satisfies Shape<ErasureRequest>);

/** Parses an erasure. Unknown fields are refused: without one that is misspelled, more would be erased. Never throws. */
export function parseErasure(body: unknown): Parsed<ErasureRequest> {
  return parseStrictly(erasure, body);
}
