import type { CallId } from "../../protocol/ids.ts";

interface Part {
  /** Long pieces, then short ones: repeated concatenation would build a deep tree of strings. */
  readonly joined: string[];
  readonly pieces: string[];
  readonly callId: CallId | undefined;
}

/** A transcript as plain data. */
export interface KeptTranscript {
  readonly parts: readonly { readonly text: string; readonly callId?: CallId }[];
  readonly isWhole: boolean;
}

/** The approximate maximum length in characters; a result contains no more. */
const LIMIT = 128 * 1024;

/**
 * The text of an actor, in the order of the log, without text that a later attempt of the same completion
 * replaced.
 */
export class Transcript {
  #parts: Part[] = [];
  #length = 0;
  #isWhole = true;

  get text(): string {
    return this.#parts.map(toText).join("");
  }

  /** Whether nothing was omitted because of the length. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Adds a text, with the call of its completion if any. */
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

  /** The transcript as plain data. */
  get kept(): KeptTranscript {
    return {
      parts: this.#parts.map((part) => ({
        text: toText(part),
        ...(part.callId !== undefined && { callId: part.callId }),
      })),
      isWhole: this.#isWhole,
    };
  }

  /** The transcript that was kept. */
  static from({ parts, isWhole }: KeptTranscript): Transcript {
    const transcript = new Transcript();
    for (const { text, callId } of parts) transcript.add(text, callId);
    transcript.#isWhole = isWhole;
    return transcript;
  }

  /** Removes the text of a completion that is retried. */
  retract(callId: CallId): void {
    this.#parts = this.#parts.filter((part) => part.callId !== callId);
    this.#length = this.#parts.reduce((length, part) => length + toText(part).length, 0);
  }
}

/** The number of pieces that are joined into one. */
const PIECES = 32;

function toText({ joined, pieces }: Part): string {
  return [...joined, ...pieces].join("");
}
