import { timingSafeEqual } from "hono/utils/buffer";
import { AgentError } from "../../errors.ts";
import { DEFAULT_OWNER } from "../../ports/principal.ts";
import type { Authenticate, Principal } from "../../ports/principal.ts";
import { bearerOf } from "./bearer.ts";

/**
 * Everyone who sends one token, as `Authorization: Bearer`, is an admin of the owner `default`. Throws `invalid_request` for
 * a token that no client can send.
 */
export function sharedToken(token: string): Authenticate {
  checkSendable(token);
  return async ({ headers }) => {
    const given = bearerOf(headers);
    return given !== undefined && (await timingSafeEqual(given, token)) ? HOLDER : undefined;
  };
}

const HOLDER: Principal = { id: "token", owner: DEFAULT_OWNER, roles: ["admin"] };

/** What fits behind `Bearer` in a header: ASCII that can be seen, without the comma that joins two headers. */
const SENDABLE = /^[\x21-\x2b\x2d-\x7e]{1,4096}$/;

function checkSendable(token: string): void {
  if (SENDABLE.test(token)) return;
  throw new AgentError("invalid_request", `the token cannot be sent in a header: ${faultOf(token)}`, {
    hint: "use 1 to 4096 ASCII letters, digits and signs, without spaces, commas and line ends",
  });
}

function faultOf(token: string): string {
  if (token === "") return "it is empty";
  if (/\s/.test(token)) return "it has a space or a line end";
  if (token.includes(",")) return "it has a comma";
  return token.length > 4_096 ? "it is too long" : "it has letters outside ASCII";
}
