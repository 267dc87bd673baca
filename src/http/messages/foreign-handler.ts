import type { Context } from "hono";
import type { AppEnv } from "./app-env.ts";
import { limitedBody } from "./body.ts";
import { toGuarded } from "./reply.ts";

/** A handler of another package, for example of an SDK of a protocol. */
export type ForeignHandler = (request: Request) => Response | Promise<Response>;

/**
 * Has a handler of another package answer a request. Its body is limited as in all routes, and its answer gets the headers of all
 * answers: those for pages of other origins, against sniffing, framing and caching. Throws `too_large` for a body above the limit,
 * also if the handler would answer otherwise. Nothing but `readJson` may have read the body before, whose value the handler then gets
 * in a way of its own.
 */
export async function replyFrom(
  c: Context<AppEnv>,
  limitBytes: number,
  handler: ForeignHandler,
): Promise<Response> {
  const { request, check } = limitedBody(c, limitBytes);
  let response: Response;
  try {
    response = await handler(request);
  } catch (thrown) {
    check();
    throw thrown;
  }
  check();
  return toGuarded(c, response);
}
