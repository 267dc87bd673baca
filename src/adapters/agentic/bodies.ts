import * as z from "zod";
import { unprocessable } from "../../http/messages/wrong-field.ts";
import { json } from "../../protocol/fields.ts";
import { isObject } from "../../protocol/json.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { checkJson } from "../../protocol/schema/check-json.ts";
import { describeIssue, toIssues } from "../../protocol/schema/schema-issues.ts";

/** The body that starts a turn. */
export interface ProcessBody {
  readonly prompt: string;
  /** Absent for a new thread. */
  readonly threadId?: string;
  readonly debug?: string;
}

/** The body that answers a question. */
export interface ResumeBody {
  readonly values: JsonObject;
  readonly threadId: string;
}

export function parseProcess(body: unknown): ProcessBody {
  const { prompt, thread_id: threadId, debug } = parse(processSchema, body);
  return { prompt, ...(isNamed(threadId) && { threadId }), ...(debug && { debug }) };
}

export function parseResume(body: unknown): ResumeBody {
  const { continue_result: values, thread_id: threadId } = parse(resumeSchema, body);
  return { values, threadId };
}

/** The thread that a body names, if there is one. */
export function parseThread(body: unknown): string | undefined {
  const { thread_id: threadId } = parse(threadSchema, body ?? {});
  return isNamed(threadId) ? threadId : undefined;
}

export function parseLogin(body: unknown): { readonly password: string | undefined } {
  return { password: parse(loginSchema, body ?? {}).password ?? undefined };
}

const text = z.string().nullish();

const processSchema = z.object({ prompt: z.string(), thread_id: text, debug: text });

const resumeSchema = z.object({ continue_result: z.record(z.string(), json), thread_id: z.string() });

const threadSchema = z.object({ thread_id: text });

const loginSchema = z.object({ password: text });

/** Their clients write a new thread in three ways. */
function isNamed(threadId: string | null | undefined): threadId is string {
  return threadId !== undefined && threadId !== null && threadId !== "" && threadId !== "NEW";
}

function parse<Value>(schema: z.ZodType<Value>, body: unknown): Value {
  const unsafe = checkJson(body);
  if (unsafe.length > 0) throw unprocessable(unsafe.map(({ path, message }) => ({ path, message })));
  if (!isObject(body)) throw unprocessable([{ path: "", message: "must be a JSON object" }]);
  const parsed = schema.safeParse(body, { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw unprocessable(toIssues(parsed.error));
}
