import type { Answer } from "./envelope.ts";

/** The most answers that are kept. */
const KEPT = 10_000;

/** The most characters of all kept answers: one contains the event that acknowledges its message, with the input. */
const KEPT_LENGTH = 16 * 1_048_576;

/** The newest messages of other nodes and their answers: a message that arrives twice is handled once. */
export class RecentAnswers {
  /** The messages that are being handled. The transport limits their number. */
  readonly #underWay = new Map<string, Promise<Answer>>();
  // A Map keeps the order of insertion, so the oldest is first.
  readonly #answers = new Map<string, { readonly answer: Answer; readonly length: number }>();
  #length = 0;
  /** The messages that arrived while this node did not know whether they are old. */
  readonly #seen = new Set<string>();

  /** Whether a message arrives for the first time at a node that was away. */
  isFirst(id: string): boolean {
    if (this.#seen.delete(id)) return false;
    const [oldest] = this.#seen;
    if (this.#seen.size >= KEPT && oldest !== undefined) this.#seen.delete(oldest);
    this.#seen.add(id);
    return true;
  }

  /** Handles a message, or returns the answer to an earlier message with its id. */
  async once(id: string, handle: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(id)?.answer ?? this.#underWay.get(id);
    if (known) return known;
    const work = handle();
    this.#underWay.set(id, work);
    try {
      const answer = await work;
      if (isFinal(answer)) this.#keep(id, answer);
      return answer;
    } finally {
      this.#underWay.delete(id);
    }
  }

  #keep(id: string, answer: Answer): void {
    const length = answer.type === "reply" ? JSON.stringify(answer.reply).length : 0;
    this.#answers.set(id, { answer, length });
    this.#length += length;
    for (const [oldest, kept] of this.#answers) {
      if (this.#answers.size <= KEPT && this.#length <= KEPT_LENGTH) return;
      this.#answers.delete(oldest);
      this.#length -= kept.length;
    }
  }
}

/** Whether a message was handled. One that was not may be handled at its next arrival. */
function isFinal(answer: Answer): boolean {
  return answer.type === "reply" || (answer.type === "error" && answer.error.code !== "unavailable");
}
