import { AgentError, isInstance } from "../../errors.ts";
import type { Encryption } from "../../ports/encryption.ts";
import type { Json } from "../../protocol/json.ts";
import { fromBase64url, toBase64url } from "../../shared/base64url.ts";
import { LruMap } from "../../shared/lru-map.ts";

/** Encrypts and decrypts with the keys of owners. */
export class KeyRing {
  readonly #encryption: Encryption;
  readonly #known = new LruMap<string, Known>(OWNERS_KNOWN);

  constructor(encryption: Encryption) {
    this.#encryption = encryption;
  }

  /** The newest key of an owner; `undefined` if it has none. */
  async newest(owner: string): Promise<NamedKey | undefined> {
    return (await this.#keysOf(owner))[0];
  }

  /** The key of an owner with which something was encrypted. */
  async find(owner: string, id: string): Promise<NamedKey> {
    const keys = await this.#keysOf(owner);
    const key = keys.find((known) => known.id === id);
    if (key !== undefined) return key;
    if (keys.length === 0)
      throw new AgentError("unavailable", `the data of the owner ${owner} cannot be read: it has no key`, {
        hint: `keyFor gives none, and this needs ${id}`,
      });
    const given = keys.map((known) => known.id).join(" and ");
    throw new AgentError("unavailable", `the data of the owner ${owner} is encrypted with another key`, {
      hint: `keyFor gives the key ${given}, and this needs ${id}; put the earlier key behind the new one`,
    });
  }

  /** A text that only the owner's key opens, at the same place. Without a key `undefined`. */
  async seal(owner: string, place: string, text: string): Promise<string | undefined> {
    const key = await this.newest(owner);
    return key && `${SEAL}${key.id}.${toBase64url(await encrypt(key, place, ENCODER.encode(text)))}`;
  }

  async open(owner: string, place: string, sealed: string): Promise<string> {
    const [, id = "", body = ""] = /^e1\.([0-9a-f]{8})\.([\w-]+)$/.exec(sealed) ?? [];
    const bytes = fromBase64url(body);
    if (id === "" || bytes === undefined) throw damaged(place);
    return DECODER.decode(await decrypt(await this.find(owner, id), place, bytes));
  }

  /** A value in which only its owner can read. */
  async sealJson(owner: string, place: string, value: Json): Promise<Json> {
    const sealed = await this.seal(owner, place, JSON.stringify(value));
    return sealed === undefined ? value : { encrypted: sealed };
  }

  /** A value as `sealJson` got it; one that is not sealed as it is. */
  async openJson(owner: string, place: string, value: Json): Promise<Json> {
    const sealed = sealedIn(value);
    return sealed === undefined ? value : (JSON.parse(await this.open(owner, place, sealed)) as Json);
  }

  async #keysOf(owner: string): Promise<readonly NamedKey[]> {
    const before = this.#known.get(owner);
    if (before !== undefined && performance.now() - before.at < FRESH_MS) return before.keys;
    const keys = this.#ask(owner);
    const known = { keys, at: performance.now() };
    this.#known.set(owner, known);
    // What has failed is asked again.
    keys.catch(() => this.#known.get(owner) === known && this.#known.delete(owner));
    return keys;
  }

  async #ask(owner: string): Promise<readonly NamedKey[]> {
    let given: Awaited<ReturnType<Encryption["keyFor"]>>;
    try {
      given = await this.#encryption.keyFor(owner);
    } catch (cause) {
      throw new AgentError("unavailable", `the key of the owner ${owner} cannot be had at present`, {
        cause,
      });
    }
    const keys = given instanceof Uint8Array ? [given] : (given ?? []);
    return Promise.all(keys.map((bytes) => toNamedKey(owner, bytes)));
  }
}

interface Known {
  readonly keys: Promise<readonly NamedKey[]>;
  readonly at: number;
}

/** A key, and the beginning of its hash, by which what it has encrypted names it. */
export interface NamedKey {
  readonly id: string;
  readonly key: Awaited<ReturnType<typeof crypto.subtle.importKey>>;
}

/** How a sealed text begins. */
export const SEAL = "e1.";

/** The sealed text of a value; `undefined` if it is not sealed. */
export function sealedIn(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { encrypted } = value as { readonly encrypted?: unknown };
  const isSealed = typeof encrypted === "string" && encrypted.startsWith(SEAL);
  return isSealed && Object.keys(value).length === 1 ? encrypted : undefined;
}

/** Whether an error says that something cannot be read with the keys that there are. */
export function isUnreadable(thrown: unknown): boolean {
  return isInstance(thrown, AgentError) && thrown.code === "unavailable";
}

/** The nonce, the encrypted bytes and their tag. */
export async function encrypt(
  { key }: NamedKey,
  place: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const additionalData = ENCODER.encode(place);
  const sealed = new Uint8Array(
    await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData }, key, bytes),
  );
  const whole = new Uint8Array(NONCE_BYTES + sealed.byteLength);
  whole.set(iv);
  whole.set(sealed, NONCE_BYTES);
  return whole;
}

export async function decrypt(
  { key }: NamedKey,
  place: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const iv = bytes.subarray(0, NONCE_BYTES);
  const additionalData = ENCODER.encode(place);
  try {
    const sealed = bytes.subarray(NONCE_BYTES);
    return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv, additionalData }, key, sealed));
  } catch {
    throw damaged(place);
  }
}

/** By how much `encrypt` makes something longer. */
export const SEAL_BYTES: number = 12 + 16;

function damaged(place: string): AgentError {
  return new AgentError("unavailable", `what is encrypted is damaged, or was moved there: ${place}`, {
    hint: "restore it from a backup",
  });
}

async function toNamedKey(owner: string, bytes: unknown): Promise<NamedKey> {
  if (!(bytes instanceof Uint8Array) || bytes.byteLength !== KEY_BYTES) {
    throw new AgentError("unavailable", `the key of the owner ${owner} is not ${KEY_BYTES} bytes`, {
      hint: "make one with crypto.getRandomValues(new Uint8Array(32)), and keep it where you keep secrets",
    });
  }
  const raw = Uint8Array.from(bytes);
  const named = new Uint8Array([...ENCODER.encode("troupe owner key "), ...raw]);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", named));
  const id = Array.from(digest.subarray(0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { id, key: await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]) };
}

const KEY_BYTES = 32;
const NONCE_BYTES = 12;

/** How long an answer of `keyFor` is used, in milliseconds, and for how many owners. */
const FRESH_MS = 10_000;
const OWNERS_KNOWN = 10_000;

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();
