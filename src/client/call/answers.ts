import type { FollowOptions, OpenWait } from "../call-api.ts";
import { hasCode } from "../wire/problem.ts";

/** The answers to the waits of one request. */
export class Answers {
  readonly #answer: FollowOptions["answer"];
  /** The waits that `answer` was asked about. */
  readonly #asked: Set<number> = new Set();
  /** The waits whose answers are in the log, although the events of that may not have been read. */
  readonly #given: Set<number> = new Set();
  /** The answers that are being made or sent; these promises never reject. */
  readonly #coming: Set<Promise<void>> = new Set();
  #failure: { readonly reason: unknown } | undefined;

  constructor(answer: FollowOptions["answer"]) {
    this.#answer = answer;
  }

  /** Whether a wait is answered. */
  has(waitId: number): boolean {
    return this.#given.has(waitId);
  }

  /** Resolves when one of the coming answers was given or withheld; `undefined` if none is coming. */
  get next(): Promise<void> | undefined {
    return this.#coming.size > 0 ? Promise.race(this.#coming) : undefined;
  }

  /** Throws what `answer` threw. */
  check(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure) throw failure.reason;
  }

  /** Asks for answers to the waits that are new. */
  ask(waits: readonly OpenWait[]): void {
    const answer = this.#answer;
    if (answer === undefined) return;
    for (const wait of waits) {
      if (this.#asked.has(wait.waitId)) continue;
      this.#asked.add(wait.waitId);
      this.#keep(
        make(answer, wait).catch((reason: unknown) => {
          this.#failure ??= { reason };
        }),
      );
    }
  }

  /** Keeps that a wait is answered as soon as its answer was sent. */
  async give(waitId: number, sent: Promise<void>): Promise<void> {
    const given = sent.then(() => void this.#given.add(waitId));
    // A refusal is for the one who answers; the turn still waits.
    this.#keep(given.catch(() => {}));
    await given;
  }

  #keep(coming: Promise<void>): void {
    this.#coming.add(coming);
    void coming.then(() => this.#coming.delete(coming));
  }
}

async function make(answer: NonNullable<FollowOptions["answer"]>, wait: OpenWait): Promise<void> {
  const values = await answer(wait);
  if (values === undefined) return;
  try {
    await wait.answer(values);
  } catch (thrown) {
    // Another client has answered first, or the turn has ended.
    if (!hasCode(thrown, "conflict", "gone")) throw thrown;
  }
}
