import { fromBase64url, toBase64url } from "./base64url.ts";

/** For whom a server acts at another one. */
export interface PeerClaim {
  readonly id: string;
  readonly owner: string;
  readonly name?: string;
}

/** What a claim begins with, so that it is no other kind of token. */
const PREFIX = "peer_";

/** How long a claim is believed, in milliseconds. It is made anew for each request. */
const VALID_MS = 60_000;

/** How far the clocks of two servers may be apart, in milliseconds. */
const SKEW_MS = 60_000;

const KEY = /^[\x21-\x2b\x2d-\x7e]{32,256}$/;
const CLAIM = /^peer_([\w-]{1,2048})\.([\w-]{43})$/;
const ALGORITHM = { name: "HMAC", hash: "SHA-256" };
const ENCODER = new TextEncoder();

/** The keys in a text, separated by commas; the first one signs. Throws a TypeError for one that is too weak. */
export function parsePeerKeys(text: string): readonly string[] {
  const keys = text.split(",").map((key) => key.trim());
  if (keys.every((key) => KEY.test(key))) return keys;
  throw new TypeError(
    "peer keys must be 32 to 256 ASCII letters, digits and signs each, separated by commas",
  );
}

/** A claim, signed with the first of the keys. */
export async function signClaim(
  [key = ""]: readonly string[],
  { id, owner, name }: PeerClaim,
  now: number,
): Promise<string> {
  const fields = { id, owner, ...(name !== undefined && { name }), until: now + VALID_MS };
  const body = toBase64url(ENCODER.encode(JSON.stringify(fields)));
  const mac = await crypto.subtle.sign("HMAC", await toKey(key), toInput(body));
  return `${PREFIX}${body}.${toBase64url(new Uint8Array(mac))}`;
}

/** The claim of a text that was signed with one of the keys and is still believed; `undefined` for any other text. */
export async function readClaim(
  keys: readonly string[],
  text: string,
  now: number,
): Promise<PeerClaim | undefined> {
  const [, body = "", given = ""] = CLAIM.exec(text) ?? [];
  const [bytes, mac] = [fromBase64url(body), fromBase64url(given)];
  if (body === "" || bytes === undefined || mac === undefined) return undefined;
  for (const key of keys) {
    // Compares in constant time.
    // oxlint-disable-next-line no-await-in-loop -- there are one or two
    if (!(await crypto.subtle.verify("HMAC", await toKey(key), mac, toInput(body)))) continue;
    const fields = JSON.parse(new TextDecoder().decode(bytes)) as PeerClaim & { readonly until: number };
    const isFresh = fields.until >= now - SKEW_MS && fields.until <= now + VALID_MS + SKEW_MS;
    return isFresh ? fields : undefined;
  }
  return undefined;
}

function toKey(key: string): ReturnType<typeof crypto.subtle.importKey> {
  return crypto.subtle.importKey("raw", ENCODER.encode(key), ALGORITHM, false, ["sign", "verify"]);
}

function toInput(body: string): Uint8Array<ArrayBuffer> {
  return ENCODER.encode(`troupe peer\n${body}`);
}
