/**
 * Memory that the writer's thread reads without a copy. It contains the bodies of one commit, is reused for
 * the next, and grows to the size of the largest commit.
 */
export class SharedBodies {
  #buffer: Buffer<SharedArrayBuffer> = Buffer.from(new SharedArrayBuffer(START_BYTES));
  #length = 0;
  #isNew = true;

  /** Appends a text. Returns its size in bytes. */
  write(text: string): number {
    if (text.length === 0) return 0;
    // A UTF-16 code unit takes at most three bytes.
    if (this.#length + 3 * text.length > this.#buffer.length) this.#reserve(Buffer.byteLength(text));
    const bytes = this.#buffer.write(text, this.#length);
    this.#length += bytes;
    return bytes;
  }

  /** Appends a line break. */
  breakLine(): void {
    this.#reserve(1);
    this.#buffer[this.#length] = LINE_BREAK;
    this.#length += 1;
  }

  /** Ends a commit. Returns the memory if the other thread does not have it yet. */
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

const LINE_BREAK = 10;

const START_BYTES = 1024 * 1024;
