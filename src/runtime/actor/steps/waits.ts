import type { Json, JsonObject } from "../../../protocol/json.ts";
import { copyJson } from "../../../protocol/json.ts";
import type { Schema } from "../../agent/agent.ts";
import { checkTimeoutOption } from "../../agent/call-options.ts";
import { isSchema } from "../../agent/definition/check-definition.ts";
import { parseNow, parseWith, toJsonSchema, toQuestions } from "../../agent/definition/schema.ts";
import type { TimedWaitOptions } from "../../agent/turn-api.ts";
import {
  receivedSignature,
  receiveSignature,
  sleepSignature,
  waitSignature,
} from "../../replay/signature.ts";
import { checkRequested, checkTimeout, messageSchema, receive } from "../messages/receive.ts";
import type { Sequence } from "../sequence.ts";
import { checkQuestions, sleep, wait } from "../wait.ts";
import { takeUnread } from "../../turn/turn-messages.ts";

/** Asks the caller of the turn for values; `undefined` if no answer came in time. */
export async function waitForInput(
  sequence: Sequence,
  asked: Schema<unknown> | { readonly [key: string]: string },
  { timeoutMs, approval }: Partial<TimedWaitOptions>,
): Promise<unknown> {
  const { actor } = sequence;
  checkTimeoutOption({ ...(timeoutMs !== undefined && { timeoutMs }) }, actor.describe("turn.waitForInput"));
  const schema = isSchema(asked) ? asked : undefined;
  const jsonSchema = schema && toJsonSchema(schema, "input");
  const questions = schema
    ? toQuestions(jsonSchema, approval !== undefined)
    : // A copy, because the code may change its object while the wait is open.
      copyJson(asked as { readonly [key: string]: string });
  // Checked before it takes a position, because a refused wait is not in the log.
  checkQuestions(questions, jsonSchema, approval);
  const expiresAt = actor.turn.context.environment.now() + (timeoutMs ?? Infinity);
  const values = await sequence.issue(waitSignature(questions), (step) =>
    wait(actor, {
      ...step,
      questions,
      schema,
      expiresAt,
      ...(jsonSchema && { jsonSchema }),
      ...(approval && { approval }),
    }),
  );
  if (values === null) return undefined;
  return schema ? parseWith(schema, values as JsonObject, "the answer") : values;
}

/** Takes the oldest unread message with a name, or waits for one; `undefined` if none came in time. */
export async function receiveMessage(
  sequence: Sequence,
  name: string,
  timeoutMs: number | undefined,
): Promise<unknown> {
  const { actor } = sequence;
  checkRequested(actor);
  const schema = messageSchema(actor, name);
  checkTimeout(timeoutMs);
  const bodies = await sequence.issue(receiveSignature(name), (step) =>
    receive(actor, step, name, timeoutMs),
  );
  const [body] = bodies as readonly Json[];
  return body === undefined ? undefined : parseNow(schema, copyJson(body), `message ${name}`);
}

/** Takes all unread messages with a name. */
export function receivedMessages(sequence: Sequence, name: string): readonly unknown[] {
  const { actor } = sequence;
  if (actor.depth > 0) return [];
  const schema = messageSchema(actor, name);
  return sequence
    .take(receivedSignature(name), (callId) => takeUnread(actor.turn, callId, name))
    .map((body) => parseNow(schema, copyJson(body), `message ${name}`));
}

/** Waits for a time. */
export async function sleepFor(sequence: Sequence, ms: number): Promise<void> {
  if (!Number.isFinite(ms) || ms < 0) throw new TypeError("turn.sleep needs milliseconds, 0 or more");
  await sequence.issue(sleepSignature(ms), (step) => sleep(sequence.actor, step, ms));
}
