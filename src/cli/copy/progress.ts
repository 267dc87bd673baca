import { fit } from "../print/text.ts";
import type { Output } from "../print/text.ts";
import type { Summary } from "./summary.ts";

/** One line on a terminal that says how much was copied so far; elsewhere nothing. */
export class CopyProgress {
  readonly #output: Output;
  #shownAt = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  show({ copied, present }: Summary): void {
    const now = performance.now();
    if (!this.#output.isTTY || now - this.#shownAt < EVERY_MS) return;
    this.#shownAt = now;
    const [runs, files] = [copied.runs + present.runs, copied.artifacts + present.artifacts];
    const megabytes = ((copied.bytes + present.bytes) / 1_000_000).toFixed(1);
    const line = `${runs} runs, ${files} artifacts, ${megabytes} MB`;
    this.#output.write(`\r${CLEAR}${fit(this.#output, line)}`);
  }

  /** Removes the line. */
  end(): void {
    if (this.#shownAt > 0) this.#output.write(`\r${CLEAR}`);
  }
}

const EVERY_MS = 100;

/** Clears the line of the cursor. */
const CLEAR = "\u001b[K";
