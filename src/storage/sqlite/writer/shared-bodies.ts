/**
 * Memory that the writer's thread reads without a copy. It holds the bodies of one commit and is used
 * again for the next, and grows to what the largest commit needs.
 */
export class SharedBodies {
  #buffer: Buffer<SharedArrayBuffer> = Buffer.from(new SharedArrayBuffer(START_BYTES));
  #length = 0;
  #isNew = true;

  /** Adds a text at the end; answers how many bytes it takes. */
  write(text: string): number {
    if (text.length === 0) return 0;
    // No character of a string takes more than three bytes.
    if (this.#length + 3 * text.length > this.#buffer.length) this.#reserve(Buffer.byteLength(text));
    const bytes = this.#buffer.write(text, this.#length);
    this.#length += bytes;
    return bytes;
  }

  /** Ends a commit. Answers the memory if the other side does not have it yet. */
  take(): SharedArrayBuffer | undefined {
    this.#length = 0;
    if (!this.#isNew) return undefined;
    this.#isNew = false;
    return this.#buffer.buffer;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.from(new SharedArrayBuffer(2 ** Math.ceil(Math.log2(needed))));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
    this.#isNew = true;
  }
}

const START_BYTES = 1024 * 1024;
