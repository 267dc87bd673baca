import { AgentError, messageOf } from "../errors.ts";
import { bearerOf } from "../http/guards/bearer.ts";
import { isOwner } from "../ports/principal.ts";
import type { Authenticate } from "../ports/principal.ts";
import { parsePeerKeys, readClaim } from "../shared/peer-claim.ts";

/**
 * Other servers, whose agents call those of this one for their own principals: `remoteAgent` with the same `peerKeys` signs for each
 * request for whom it is. Such a principal is a user of the owner that the other server names, and may answer every question of it, because
 * that server has checked who answers. `keys` are 32 or more characters each, separated by commas.
 */
export function peers(keys: string): Authenticate {
  const known = toKeys(keys);
  return async ({ headers }) => {
    const claim = await readClaim(known, bearerOf(headers) ?? "", Date.now());
    if (claim === undefined || !isOwner(claim.owner)) return undefined;
    const { id, owner, name } = claim;
    return { id, owner, roles: ["user", "peer"], ...(name !== undefined && { name }) };
  };
}

function toKeys(keys: string): readonly string[] {
  try {
    return parsePeerKeys(keys);
  } catch (error) {
    throw new AgentError("invalid_request", messageOf(error), {
      hint: "make one with `openssl rand -hex 32`, and give it to both servers as TROUPE_PEER_KEYS",
    });
  }
}
