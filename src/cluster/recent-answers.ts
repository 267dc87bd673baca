import type { Answer } from "./envelope.ts";

/** The number of messages whose answers are kept. */
const KEPT = 10_000;

/** The newest messages of other nodes and their answers: a message that arrives twice is handled once. */
export class RecentAnswers {
  // A Map keeps the order of insertion, so the oldest is first.
  readonly #answers = new Map<string, Promise<Answer>>();
  /** The messages that have arrived while this node did not know if they are old. */
  readonly #seen = new Set<string>();

  /** Whether a message arrives for the first time at a node that was away. */
  isFirst(id: string): boolean {
    if (this.#seen.delete(id)) return false;
    const [oldest] = this.#seen;
    if (this.#seen.size >= KEPT && oldest !== undefined) this.#seen.delete(oldest);
    this.#seen.add(id);
    return true;
  }

  /** Handles a message, or returns the answer of the one that had its id. */
  async once(id: string, handle: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(id);
    if (known) return known;
    const work = handle();
    const [oldest] = this.#answers.keys();
    if (this.#answers.size >= KEPT && oldest !== undefined) this.#answers.delete(oldest);
    this.#answers.set(id, work);
    const answer = await work;
    // It was not handled, so the next try may be.
    const isHandled =
      answer.type === "reply" || (answer.type === "error" && answer.error.code !== "unavailable");
    if (!isHandled) this.#answers.delete(id);
    return answer;
  }
}
