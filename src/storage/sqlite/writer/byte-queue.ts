/**
 * Bytes in order of arrival, at positions that never change. All of them are in one buffer, because thousands of small
 * buffers are costly to collect.
 */
export class ByteQueue {
  #buffer: Buffer = Buffer.allocUnsafeSlow(START_BYTES);
  /** The position of the first byte in the buffer. */
  #start = 0;
  /** The position of the oldest byte that is needed. */
  #needed = 0;
  #end = 0;

  /** The position after the newest byte. */
  get end(): number {
    return this.#end;
  }

  push(bytes: Uint8Array): void {
    if (this.#end - this.#start + bytes.length > this.#buffer.length) this.#makeRoom(bytes.length);
    this.#buffer.set(bytes, this.#end - this.#start);
    this.#end += bytes.length;
  }

  /** The bytes between two positions, valid until the next `push`. */
  read(start: number, end: number): Buffer {
    return this.#buffer.subarray(start - this.#start, end - this.#start);
  }

  /** Copies the bytes between several pairs of positions into one buffer. */
  join(pairs: readonly number[]): Buffer {
    let length = 0;
    for (let index = 0; index < pairs.length; index += 2)
      length += (pairs[index + 1] ?? 0) - (pairs[index] ?? 0);
    const joined = Buffer.allocUnsafe(length);
    let at = 0;
    for (let index = 0; index < pairs.length; index += 2) {
      const [start = 0, end = 0] = [pairs[index], pairs[index + 1]];
      at += this.#buffer.copy(joined, at, start - this.#start, end - this.#start);
    }
    return joined;
  }

  /** Allows the bytes before a position to be overwritten. */
  dropBefore(position: number): void {
    this.#needed = position;
  }

  #makeRoom(bytes: number): void {
    const kept = this.#buffer.subarray(this.#needed - this.#start, this.#end - this.#start);
    const needed = 2 * (kept.length + bytes);
    const buffer =
      needed <= this.#buffer.length
        ? this.#buffer
        : Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(needed)));
    buffer.set(kept);
    this.#buffer = buffer;
    this.#start = this.#needed;
  }
}

const START_BYTES = 256 * 1024;
