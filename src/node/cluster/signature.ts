import { createHmac, timingSafeEqual } from "node:crypto";

/** How far the clocks of two nodes may differ, in milliseconds; an older message is not taken. */
const MOST_APART_MS = 60_000;

/** The header with the signature of a message or an answer. */
export const SIGNATURE = "x-troupe-signature";

/** Signs and checks the messages between nodes with a secret that all of them have. */
export class Signer {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  /** The signature of a message to the node with an address, with its time. */
  sign(body: string, to: string, now: number): string {
    return `${now}.${this.#hash(`${now} ${to} ${body}`)}`;
  }

  /** Why a message to this node is refused; `undefined` for one of a node with the same secret. */
  refusal(signature: string | undefined, body: string, own: string, now: number): string | undefined {
    if (signature === undefined) return "the message of another node has no signature";
    const at = Number(signature.slice(0, signature.indexOf(".")));
    if (!isEqual(signature, `${at}.${this.#hash(`${at} ${own} ${body}`)}`))
      return "the signature of a message of another node is wrong";
    if (Math.abs(now - at) <= MOST_APART_MS) return undefined;
    const seconds = Math.round(Math.abs(now - at) / 1_000);
    return `a message of another node is ${seconds} s away from the time of this one`;
  }

  /** The signature of an answer, which belongs to one message. */
  signAnswer(signature: string, body: string): string {
    return this.#hash(`answer.${signature}.${body}`);
  }

  isAnswer(signature: string, answer: string | null, body: string): boolean {
    return answer !== null && isEqual(answer, this.signAnswer(signature, body));
  }

  #hash(text: string): string {
    return createHmac("sha256", this.#secret).update(text).digest("hex");
  }
}

/** Compares in a time that does not depend on the texts. */
function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
