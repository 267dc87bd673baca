import { AgentError } from "../../errors.ts";
import type { SecretStore } from "../../ports/secret-store.ts";
import { isObject } from "../../protocol/json.ts";
import type { Fields, JsonObject } from "../../protocol/json.ts";
import { fromBase64url, toBase64url } from "../../shared/base64url.ts";
import { LruMap } from "../../shared/lru-map.ts";
import { AUTH } from "./secret-prefixes.ts";

/**
 * Signs what the server gives away and believes when it comes back: sessions, links. Hides what only the server may read in the
 * log. The keys are in the secret store, so a text is valid on every node and after a restart.
 */
export class TextSigner {
  readonly #secrets: SecretStore;
  readonly #newId: () => string;
  readonly #keys = new LruMap<string, SigningKey>(KEYS_LIMIT);
  #own: Promise<string> | undefined;

  /** `newId` makes unpredictable ids of 16 or more letters, digits, `-` and `_`. */
  constructor(secrets: SecretStore, newId: () => string) {
    this.#secrets = secrets;
    this.#newId = newId;
  }

  /** A text with the fields, which are not hidden in it, and a signature for a purpose. */
  async sign(purpose: string, fields: JsonObject): Promise<string> {
    const [id, key] = await this.#usable();
    const body = `${id}.${toBase64url(ENCODER.encode(JSON.stringify(fields)))}`;
    const mac = await crypto.subtle.sign("HMAC", key, toInput(purpose, body));
    return `${body}.${toBase64url(new Uint8Array(mac))}`;
  }

  /** The fields of a text that was signed for a purpose; `undefined` for any other text. */
  async read(purpose: string, text: string): Promise<Fields | undefined> {
    const [, id, payload, given] = SIGNED.exec(text) ?? [];
    if (id === undefined || payload === undefined || given === undefined) return undefined;
    const [bytes, mac] = [fromBase64url(payload), fromBase64url(given)];
    const key = await this.#key(id);
    if (bytes === undefined || mac === undefined || key === undefined) return undefined;
    // Compares in constant time.
    const isOurs = await crypto.subtle.verify("HMAC", key, mac, toInput(purpose, `${id}.${payload}`));
    if (!isOurs) return undefined;
    const fields: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(fields) ? fields : undefined;
  }

  /** The fields as a text that only this server can read, for a purpose. Throws `unprocessable` for more than 12 KiB of JSON. */
  async hide(purpose: string, fields: JsonObject): Promise<string> {
    const plain = ENCODER.encode(JSON.stringify(fields));
    if (plain.length > HIDDEN_BYTES)
      throw new AgentError("unprocessable", `what is to be hidden has more than ${HIDDEN_BYTES} bytes`);
    const [id] = await this.#usable();
    const nonce = await crypto.subtle.digest("SHA-256", ENCODER.encode(this.#newId()));
    const iv = new Uint8Array(nonce, 0, IV_BYTES);
    const algorithm = { name: "AES-GCM", iv, additionalData: ENCODER.encode(purpose) };
    const hidden = await crypto.subtle.encrypt(algorithm, await this.#hidingKey(id), plain);
    return `${id}.${toBase64url(iv)}.${toBase64url(new Uint8Array(hidden))}`;
  }

  /** The fields of a text that was hidden for a purpose; `undefined` for any other text. */
  async reveal(purpose: string, text: string): Promise<Fields | undefined> {
    const [, id, nonce, payload] = HIDDEN.exec(text) ?? [];
    if (id === undefined || nonce === undefined || payload === undefined) return undefined;
    const [iv, hidden] = [fromBase64url(nonce), fromBase64url(payload)];
    if (iv === undefined || hidden === undefined || (await this.#key(id)) === undefined) return undefined;
    const algorithm = { name: "AES-GCM", iv, additionalData: ENCODER.encode(purpose) };
    try {
      const plain = await crypto.subtle.decrypt(algorithm, await this.#hidingKey(id), hidden);
      const fields: unknown = JSON.parse(new TextDecoder().decode(plain));
      return isObject(fields) ? fields : undefined;
    } catch {
      // It was hidden for another purpose, or was changed.
      return undefined;
    }
  }

  /** The key for new texts, and its id. */
  async #usable(): Promise<readonly [id: string, key: SigningKey]> {
    const own = (this.#own ??= this.#findOwn());
    const id = await own.catch((thrown: unknown) => {
      this.#own = undefined;
      throw thrown;
    });
    const key = await this.#key(id);
    if (key !== undefined) return [id, key];
    // Someone has removed the keys: what they have signed is not valid any more, and there is a new one.
    if (this.#own === own) this.#own = undefined;
    return this.#usable();
  }

  /** The id of the key to sign with. Two nodes that start at once may make two; both are then valid everywhere. */
  async #findOwn(): Promise<string> {
    const [first] = (await this.#secrets.names()).filter((name) => name.startsWith(SIGNING)).toSorted();
    if (first !== undefined) return first.slice(SIGNING.length);
    const id = this.#newId().replaceAll(/[^\w]/g, "0").slice(-ID_LENGTH);
    await this.#secrets.put({ [SIGNING + id]: this.#newId() + this.#newId() });
    return id;
  }

  /** The key that hides, made from the secret of a key that signs. */
  async #hidingKey(id: string): Promise<SigningKey> {
    const secret = ENCODER.encode((await this.#secrets.get(SIGNING + id)) ?? "");
    const base = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
    const derivation = {
      name: "HKDF",
      hash: "SHA-256",
      salt: ENCODER.encode(id),
      info: ENCODER.encode("hide"),
    };
    return crypto.subtle.deriveKey(derivation, base, { name: "AES-GCM", length: 256 }, false, [
      "encrypt",
      "decrypt",
    ]);
  }

  async #key(id: string): Promise<SigningKey | undefined> {
    const known = this.#keys.get(id);
    if (known !== undefined) return known;
    const secret = await this.#secrets.get(SIGNING + id);
    if (secret === undefined) return undefined;
    const key = await crypto.subtle.importKey("raw", ENCODER.encode(secret), ALGORITHM, false, USES);
    this.#keys.set(id, key);
    return key;
  }
}

const SIGNING = `${AUTH}sign/`;
const ENCODER = new TextEncoder();
const ALGORITHM = { name: "HMAC", hash: "SHA-256" };
const USES: ("sign" | "verify")[] = ["sign", "verify"];

type SigningKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;
const KEYS_LIMIT = 100;
const ID_LENGTH = 12;
const IV_BYTES = 12;
/** The most bytes that are hidden: with the tag of the cipher they are 16,384 letters. */
const HIDDEN_BYTES = 12_272;
const HIDDEN = /^(\w{12})\.([\w-]{16})\.([\w-]{22,16384})$/;
const SIGNED = /^(\w{12})\.([\w-]{1,8192})\.([\w-]{43})$/;

function toInput(purpose: string, body: string): Uint8Array<ArrayBuffer> {
  return ENCODER.encode(`troupe ${purpose}\n${body}`);
}
