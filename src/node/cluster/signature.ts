import { createHmac, hash, timingSafeEqual } from "node:crypto";

/** How far the clocks of two nodes may differ, in milliseconds; an older message is not taken. */
export const MOST_APART_MS = 60_000;

/** What mends a refused message. */
export const SAME_SECRET = "give all nodes the same secret (TROUPE_CLUSTER_SECRET)";
export const SAME_TIME = "set the clocks of all nodes, for example with NTP";

/** The header with the signature of a message or an answer. */
export const SIGNATURE = "x-troupe-signature";

/**
 * Signs and checks the messages between nodes with a secret that all of them have. A signature contains the hash of its
 * message, so that a node can refuse a message before it reads it.
 */
export class Signer {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** The signature of a message to the node with an address, with its time. */
  sign(body: string, to: string, now: number): string {
    return this.#toSignature(now, digest(body), to);
  }

  /** Why a message to this node is refused; `undefined` if a node with the same secret has signed it for this one. */
  refusal(signature: string, own: string, now: number): string | undefined {
    const [at = "", digestOfBody = ""] = signature.split(".");
    if (!isEqual(signature, this.#toSignature(Number(at), digestOfBody, own)))
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
    return this.#hash(`answer.${signature}.${body}`);
  }

  isAnswer(signature: string, answer: string | null, body: string): boolean {
    return answer !== null && isEqual(answer, this.signAnswer(signature, body));
  }

  #toSignature(at: number, digestOfBody: string, to: string): string {
    return `${at}.${digestOfBody}.${this.#hash(`${at} ${to} ${digestOfBody}`)}`;
  }

  #hash(text: string): string {
    return createHmac("sha256", this.#secret).update(text).digest("hex");
  }
}

function digest(text: string): string {
  return hash("sha256", text);
}

/** Compares in a time that does not depend on the texts. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
