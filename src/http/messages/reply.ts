import type { Context } from "hono";
import { nodeOf } from "./app-env.ts";
import type { AppEnv } from "./app-env.ts";
import type { ProblemReply } from "./problem.ts";

/** Differences of an answer from 200 with JSON. */
export interface ReplyOptions {
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Sends a text, by default JSON, with the headers of all answers. The text gets a line break at its end, so
 * that answers are on separate lines in a terminal.
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
  // A Response would cost 50 µs in the adapter, more than the rest of a small answer.
  outgoing.writeHead(status, { ...all, "content-length": Buffer.byteLength(body) });
  outgoing.end(c.req.method === "HEAD" ? undefined : body);
  return ALREADY_SENT;
}

export function replyProblem(
  c: Context<AppEnv>,
  { status, headers, body }: ProblemReply,
  more?: Readonly<Record<string, string>>,
): Response {
  return reply(c, body, { status, type: "application/problem+json", headers: { ...headers, ...more } });
}

export function replyEmpty(c: Context<AppEnv>, headers?: Readonly<Record<string, string>>): Response {
  return new Response(null, { status: 204, headers: { ...API_HEADERS, ...corsOf(c), ...headers } });
}

/**
 * An answer that a handler of another package has made: with the headers of all our answers in place of its own of these names, and
 * readable for the pages that may read ours, and for no other.
 */
export function toGuarded(c: Context<AppEnv>, { body, status, headers: given }: Response): Response {
  const headers = new Headers(given);
  const theirs = [...given.keys()].filter((name) => name.startsWith("access-control-"));
  for (const name of theirs) headers.delete(name);
  for (const [name, value] of Object.entries({ ...API_HEADERS, ...corsOf(c) })) headers.set(name, value);
  return new Response(body, { status, headers });
}

/** An answer that another part has made, with the headers of all answers that it lacks. */
export function withHeaders(response: Response): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(API_HEADERS)) if (!headers.has(name)) headers.set(name, value);
  return new Response(response.body, { status: response.status, headers });
}

/** Forbids browsers to sniff, frame, cache or run anything in our answers. */
export const API_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

/** The headers for a page of another origin that may read the answer; usually none. */
export function corsOf(c: Context<AppEnv>): Readonly<Record<string, string>> | undefined {
  return c.get("cors");
}

/**
 * Tells Node's adapter that the answer was already sent. A clone is always a Response of the platform: the adapter does not
 * look at the headers of its own kind, which is the global one in a program that has used the adapter before.
 */
export const ALREADY_SENT: Response = new Response(null, {
  headers: { "x-hono-already-sent": "true" },
}).clone();
