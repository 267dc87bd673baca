import type { CallId } from "../../protocol/ids.ts";

interface Part {
  /** Long pieces, then short ones: a text that is added to again and again would be a tree of all that was. */
  readonly joined: string[];
  readonly pieces: string[];
  readonly callId: CallId | undefined;
}

/** Texts are kept up to about this length, in characters: a result holds no more. */
const LIMIT = 128 * 1024;

/** What an actor has said, in the order of the log, without what a later attempt of the same completion replaced. */
export class Transcript {
  #parts: Part[] = [];
  #length = 0;
  #isWhole = true;

  get text(): string {
    return this.#parts.map(toText).join("");
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
    if (last === undefined || last.callId !== callId) {
      this.#parts.push({ joined: [], pieces: [text], callId });
      return;
    }
    last.pieces.push(text);
    if (last.pieces.length >= PIECES) last.joined.push(last.pieces.splice(0).join(""));
  }

  /** Takes back what a completion has said: it is asked again. */
  retract(callId: CallId): void {
    this.#parts = this.#parts.filter((part) => part.callId !== callId);
    this.#length = this.#parts.reduce((length, part) => length + toText(part).length, 0);
  }
}

/** So many texts are joined to one. */
const PIECES = 32;

function toText({ joined, pieces }: Part): string {
  return [...joined, ...pieces].join("");
}
