import * as z from "zod";
import type { PublicationRequest } from "../answers/topic.ts";
import { json, key, optional, requestId } from "../fields.ts";
import type { Shape } from "../fields.ts";
import { parseStrictly } from "./parse.ts";
import type { Parsed } from "./parse.ts";

const publication = z.strictObject({
  name: z.string().min(1).max(256),
  body: optional(json),
  request_id: optional(requestId),
} satisfies Shape<PublicationRequest>);

/** Parses what is published to a topic. Never throws. */
export function parsePublication(body: unknown): Parsed<PublicationRequest> {
  return parseStrictly(publication, body);
}

const opened = z.strictObject({ name: key });

/** Parses the name of the topic that is to have a run. Never throws. */
export function parseTopicName(body: unknown): Parsed<{ readonly name: string }> {
  return parseStrictly(opened, body);
}
