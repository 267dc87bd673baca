import type { CallId } from "../protocol/ids.ts";

/** A text in pieces. A new attempt of a completion replaces what the attempts before it said. */
export class Texts {
  #pieces: { readonly text: string; readonly callId: CallId | undefined }[] = [];
  #joined: string | undefined = "";

  get text(): string {
    return (this.#joined ??= this.#pieces.map(({ text }) => text).join(""));
  }

  add(text: string, callId?: CallId): void {
    this.#pieces.push({ text, callId });
    this.#joined = undefined;
  }

  /** Removes the text of a completion that is tried again. */
  retract(callId: CallId): void {
    this.#pieces = this.#pieces.filter((piece) => piece.callId !== callId);
    this.#joined = undefined;
  }

  /** Keeps only the joined text, because nothing can replace a part of it any more. */
  settle(): void {
    const { text } = this;
    this.#pieces = [{ text, callId: undefined }];
  }
}
