import type { CallId } from "../protocol/ids.ts";
import { isUnder } from "./call-id.ts";

/**
 * The sequences of a turn under way, and which of them have something to go on with, as far as that can
 * be known from outside: a sequence stirs when it begins, when it is given an outcome and when it says
 * something; it is calm once it waits for a call.
 */
export class Stirrings {
  /** When each sequence, named by its scope, last stirred; 0 for a calm one. */
  readonly #sequences = new Map<string, number>();
  readonly #stirred: () => void;
  #count = 0;

  /** `stirred` is called whenever something stirs or ends. */
  constructor(stirred: () => void) {
    this.#stirred = stirred;
  }

  /** Whether every sequence waits. */
  get none(): boolean {
    for (const stirred of this.#sequences.values()) if (stirred > 0) return false;
    return true;
  }

  /** Whether a sequence is under way. */
  has(scope: string): boolean {
    return this.#sequences.has(scope);
  }

  /** A number that grows whenever something stirs. */
  get count(): number {
    return this.#count;
  }

  /** A handler or a branch begins. */
  begin(scope: string): void {
    this.#sequences.set(scope, 0);
    this.stir(scope);
  }

  /** Something comes to a sequence, whose code goes on unless it has ended. */
  stir(scope: string): void {
    this.#count += 1;
    if (this.#sequences.has(scope)) this.#sequences.set(scope, this.#count);
    this.#stirred();
  }

  /** The code of a sequence waits. */
  calm(scope: string): void {
    if (this.#sequences.has(scope)) this.#sequences.set(scope, 0);
  }

  /** Calms what has not stirred since a count, where `waits` says that it waits, or a branch of it is under way. */
  calmSince(count: number, waits: (scope: string) => boolean): void {
    for (const [scope, stirred] of this.#sequences) {
      if (stirred <= count && (waits(scope) || this.#branches(scope))) this.calm(scope);
    }
  }

  /** A branch has ended, with which the last thing may have come to rest. */
  end(scope: string): void {
    this.#sequences.delete(scope);
    this.#stirred();
  }

  /** A call has ended, and all that went on below it. */
  endWithin(callId: CallId): void {
    for (const scope of this.#sequences.keys()) if (isUnder(scope, callId)) this.#sequences.delete(scope);
  }

  #branches(scope: string): boolean {
    for (const other of this.#sequences.keys())
      if (other.startsWith(`${scope}.`) && BRANCH.test(other.slice(scope.length))) return true;
    return false;
  }
}

/** What the path of a branch has behind that of the sequence which it belongs to. */
const BRANCH = /^\.\d+:\d+$/;
