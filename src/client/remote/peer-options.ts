import { signClaim } from "../../shared/peer-claim.ts";
import type { PeerClaim } from "../../shared/peer-claim.ts";
import type { WireOptions } from "../wire/wire.ts";

/** Signs each request to the origin of an address with for whom it is, in the place of a token. */
export function asPeer(
  url: string,
  { fetch: given, token: _token, ...options }: WireOptions,
  { keys, claim, now }: { readonly keys: readonly string[]; readonly claim: PeerClaim; now(): number },
): WireOptions {
  const { origin } = new URL(url);
  return {
    ...options,
    async fetch(input, init) {
      const send = given ?? globalThis.fetch;
      const address = input instanceof Request ? input.url : String(input);
      if (new URL(address).origin !== origin) return send(input, init);
      const headers = new Headers(init?.headers);
      headers.set("authorization", `Bearer ${await signClaim(keys, claim, now())}`);
      return send(input, { ...init, headers });
    },
  };
}
