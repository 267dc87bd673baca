import { AgentError } from "../../errors.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { TextSigner } from "../secrets/text-signer.ts";
import type { AnswerLinkOptions } from "./turn-api.ts";

/** The wait that a link is for. */
export interface LinkedWait {
  readonly runId: RunId;
  readonly requestId: RequestId;
  readonly callId: CallId;
}

/** Makes the path of a link. The same wait, options and time always make the same path, unless the keys have changed. */
export async function toAnswerLink(
  signer: TextSigner,
  { runId, requestId, callId }: LinkedWait,
  { expiresMs = USUAL_MS, name, roles = [] }: AnswerLinkOptions,
  now: number,
): Promise<string> {
  checkLinkOptions({ expiresMs, roles, ...(name !== undefined && { name }) });
  const token = await signer.sign(LINK_PURPOSE, {
    run: runId,
    request: requestId,
    call: callId,
    until: Math.ceil(now + expiresMs),
    ...(name !== undefined && { name }),
    ...(roles.length > 0 && { roles: [...roles] }),
  });
  return `/${ANSWER_LINKS}/${token}`;
}

/** Throws for options that no link can have. */
function checkLinkOptions({ expiresMs = USUAL_MS, name, roles = [] }: AnswerLinkOptions): void {
  if (!(expiresMs > 0 && expiresMs <= LONGEST_MS)) {
    throw new AgentError("invalid_request", "an answer link needs a time above 0 and up to one year");
  }
  if (name !== undefined && (!NAME.test(name) || new TextEncoder().encode(name).length > NAME_BYTES)) {
    throw new AgentError(
      "invalid_request",
      "the name of an answer link needs 1 to 48 bytes, none of control",
    );
  }
  if (roles.length > ROLES_LIMIT || !roles.every((role) => /^[\x21-\x7e]{1,64}$/.test(role))) {
    throw new AgentError("invalid_request", "the roles of an answer link are not names");
  }
}

/** The first segment of the paths of links. */
export const ANSWER_LINKS = "answer-links";

/** What the signature of a link is for. */
export const LINK_PURPOSE = "answer-link";
/** What the signature of the state of a sign-in elsewhere is for. */
export const SIGN_IN_PURPOSE = "sign-in";

/** The path, below that of the server, to which a browser is led after a consent elsewhere. */
export const SIGNED_IN_PATH: string = `/${ANSWER_LINKS}/signed-in`;

/** How long after it was begun a sign-in elsewhere may end, in milliseconds. */
export const SIGN_IN_MS = 1_200_000;

const USUAL_MS = 604_800_000;
const LONGEST_MS = 31_536_000_000;
const NAME_BYTES = 48;
const NAME = /^[^\p{Cc}\p{Zl}\p{Zp}\p{Cs}]{1,48}$/u;
const ROLES_LIMIT = 20;
