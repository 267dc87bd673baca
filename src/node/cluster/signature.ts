import { createHmac, hash, timingSafeEqual } from "node:crypto";

/** How far the clocks of two nodes may differ, in milliseconds; an older message is not taken. */
export const MOST_APART_MS = 60_000;

/** What mends a refused message. */
export const SAME_SECRET = "give all nodes the same secret (TROUPE_CLUSTER_SECRET)";
export const SAME_TIME = "set the clocks of all nodes, for example with NTP";

/** The header with the signature of a message or an answer. */
export const SIGNATURE = "x-troupe-signature";

/**
 * Signs the messages between nodes with the first of the secrets that all of them have, and checks them with each. A signature
 * contains the hash of its message, so that a node can refuse a message before it reads it.
 */
export class Signer {
  readonly #secrets: readonly string[];

  constructor(...secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  /** The signature of a message to the node with an address, with its time. */
  sign(body: string, to: string, now: number): string {
    return toSignature(this.#first, now, digest(body), to);
  }

  /** Why a message to this node is refused; `undefined` if a node with the same secret has signed it for this one. */
  refusal(signature: string, own: string, now: number): string | undefined {
    const [at = "", digestOfBody = ""] = signature.split(".");
    const isKnown = this.#secrets.some((secret) =>
      isEqual(signature, toSignature(secret, Number(at), digestOfBody, own)),
    );
    if (!isKnown)
      return `a message of another node is signed with another secret, or for another address; ${SAME_SECRET}`;
    const apartMs = Math.abs(now - Number(at));
    if (apartMs <= MOST_APART_MS) return undefined;
    return `a message of another node is ${Math.round(apartMs / 1_000)} s away from the time of this one; ${SAME_TIME}`;
  }

  /** Whether a signature that was not refused is that of a message. */
  isOf(signature: string, body: string): boolean {
    return signature.split(".")[1] === digest(body);
  }

  /** The signature of an answer, which belongs to one message. */
  signAnswer(signature: string, body: string): string {
    return toAnswerSignature(this.#first, signature, body);
  }

  isAnswer(signature: string, answer: string | null, body: string): boolean {
    return (
      answer !== null &&
      this.#secrets.some((secret) => isEqual(answer, toAnswerSignature(secret, signature, body)))
    );
  }

  get #first(): string {
    return this.#secrets[0] ?? "";
  }
}

function toSignature(secret: string, at: number, digestOfBody: string, to: string): string {
  return `${at}.${digestOfBody}.${hashWith(secret, `${at} ${to} ${digestOfBody}`)}`;
}

function toAnswerSignature(secret: string, signature: string, body: string): string {
  return hashWith(secret, `answer.${signature}.${body}`);
}

function hashWith(secret: string, text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}

function digest(text: string): string {
  return hash("sha256", text);
}

/** Compares in a time that does not depend on the texts. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
