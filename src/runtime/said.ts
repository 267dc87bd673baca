import type { CallId } from "../protocol/ids.ts";

interface Part {
  text: string;
  readonly callId: CallId | undefined;
}

/** Texts are kept up to about this length, in characters: a result holds no more. */
const LIMIT = 128 * 1024;

/** What an actor has said, in the order of the log, without what a later attempt of the same completion replaced. */
export class Said {
  #parts: Part[] = [];
  #length = 0;
  #isWhole = true;

  get text(): string {
    const [only, ...others] = this.#parts;
    if (others.length === 0) return only?.text ?? "";
    return this.#parts.map(({ text }) => text).join("");
  }

  /** Whether nothing was left out for its length. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Adds a text, with the call of the completion that it came from. */
  add(text: string, callId?: CallId): void {
    if (this.#length >= LIMIT) {
      this.#isWhole = false;
      return;
    }
    this.#length += text.length;
    const last = this.#parts.at(-1);
    if (last !== undefined && last.callId === callId) last.text += text;
    else this.#parts.push({ text, callId });
  }

  /** Takes back what a completion has said: it is asked again. */
  retract(callId: CallId): void {
    this.#parts = this.#parts.filter((part) => part.callId !== callId);
    this.#length = this.#parts.reduce((length, { text }) => length + text.length, 0);
  }
}
