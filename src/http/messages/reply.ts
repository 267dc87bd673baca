import type { Context } from "hono";
import { nodeOf } from "./app-env.ts";
import type { AppEnv } from "./app-env.ts";
import type { ProblemReply } from "./problem.ts";

/** How an answer differs from 200 with JSON. */
export interface ReplyOptions {
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Answers with a text, which is JSON unless told otherwise, and with the headers that all answers have.
 * A text ends its line, so that answers stand below each other in a terminal.
 */
export function reply(
  c: Context<AppEnv>,
  text: string,
  { status = 200, type = "application/json", headers }: ReplyOptions = {},
): Response {
  const all = { ...API_HEADERS, "content-type": type, ...corsOf(c), ...headers };
  const body = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  const outgoing = nodeOf(c)?.outgoing;
  if (outgoing === undefined) return new Response(body, { status, headers: all });
  // A Response, taken apart again by the adapter, would cost 50 µs, more than all the rest of a small answer.
  outgoing.writeHead(status, { ...all, "content-length": Buffer.byteLength(body) });
  outgoing.end(c.req.method === "HEAD" ? undefined : body);
  return ALREADY_SENT;
}

/** Answers with a problem. */
export function replyProblem(
  c: Context<AppEnv>,
  { status, headers, body }: ProblemReply,
  more?: Readonly<Record<string, string>>,
): Response {
  return reply(c, body, { status, type: "application/problem+json", headers: { ...headers, ...more } });
}

/** Answers without a body. */
export function replyEmpty(c: Context<AppEnv>, headers?: Readonly<Record<string, string>>): Response {
  return new Response(null, { status: 204, headers: { ...API_HEADERS, ...corsOf(c), ...headers } });
}

/** What a browser must not do with our answers: sniff, frame, keep, or run anything in them. */
export const API_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** The headers for a page of another origin that may read the answer; mostly none. */
export function corsOf(c: Context<AppEnv>): Readonly<Record<string, string>> | undefined {
  return c.get("cors");
}

/** Tells Node's adapter that the answer is on its way already. */
export const ALREADY_SENT: Response = new Response(null, { headers: { "x-hono-already-sent": "true" } });
