import { AgentError } from "../errors.ts";
import type { Questions } from "../protocol/events.ts";
import type { JsonObject } from "../protocol/json.ts";
import { byteLength, EVENT_LIMIT_BYTES } from "./to-json.ts";

/** One wait asks at most for so many values. */
const QUESTIONS_LIMIT = 256;

/** What an event needs beside its questions. */
const ADDRESS_BYTES = 4_096;

/** Throws `too_large` for more questions than one wait may ask, or than one event can hold. */
export function checkQuestions(questions: Questions, schema: JsonObject | undefined): void {
  const count = Object.keys(questions).length;
  if (count > QUESTIONS_LIMIT) {
    throw new AgentError(
      "too_large",
      `a wait asks ${count} questions; at most ${QUESTIONS_LIMIT} are allowed`,
    );
  }
  const limitBytes = EVENT_LIMIT_BYTES - ADDRESS_BYTES;
  if (byteLength(JSON.stringify([questions, schema])) > limitBytes) {
    throw new AgentError(
      "too_large",
      `the questions of a wait, with their schema, are larger than ${limitBytes} bytes`,
    );
  }
}
