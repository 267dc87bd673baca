import type { CallId } from "../../protocol/ids.ts";
import { isBranch, scopeOf } from "../journal/call-id.ts";

/**
 * The sequences of a turn under way, and which of them have something to go on with, as far as that can
 * be known from outside: a sequence stirs when it begins, when it is given an outcome and when it says
 * something; it is calm once it waits for a call.
 */
export class Activity {
  /** The sequences by their scope. */
  readonly #sequences = new Map<string, SequenceActivity>();
  /** Those that have stirred since they were last looked at. */
  #stirred: SequenceActivity[] = [];
  /** How many are not calm. */
  #restless = 0;
  #count = 0;
  readonly #tell: () => void;

  /** `tell` is called whenever something stirs or ends. */
  constructor(tell: () => void) {
    this.#tell = tell;
  }

  /** Whether every sequence waits. */
  get none(): boolean {
    return this.#restless === 0;
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
    const above = isBranch(scope) ? this.#sequences.get(scopeOf(scope)) : undefined;
    const sequence: SequenceActivity = { scope, above, branches: undefined, at: 0, isNoted: false };
    if (above) (above.branches ??= new Set()).add(sequence);
    this.#sequences.set(scope, sequence);
    this.stir(scope);
  }

  /** Something comes to a sequence, whose code goes on unless it has ended. */
  stir(scope: string): void {
    this.#count += 1;
    const sequence = this.#sequences.get(scope);
    if (sequence) this.#stir(sequence);
    this.#tell();
  }

  /** What was to come to a sequence does not come any more. */
  spare(): void {
    this.#tell();
  }

  /** The code of a sequence waits. */
  calm(scope: string): void {
    const sequence = this.#sequences.get(scope);
    if (sequence) this.#calm(sequence);
  }

  /** Calms what has not stirred since a count, where `waits` says that it waits, or a branch of it is under way. */
  calmSince(count: number, waits: (scope: string) => boolean): void {
    const stirred = this.#stirred;
    this.#stirred = [];
    for (const sequence of stirred) {
      sequence.isNoted = false;
      if (sequence.at > count) this.#note(sequence);
      // What does not wait now is calm when it says so itself, by making a call.
      else if (waits(sequence.scope) || (sequence.branches?.size ?? 0) > 0) this.#calm(sequence);
    }
  }

  /** A branch has ended, with which the last thing may have come to rest. */
  end(scope: string): void {
    const sequence = this.#sequences.get(scope);
    if (sequence) this.#end(sequence);
    this.#tell();
  }

  /** A call has ended, and with it the handler that worked for it and its branches. */
  endWithin(callId: CallId): void {
    const sequence = this.#sequences.get(callId);
    if (sequence) this.#end(sequence);
  }

  #stir(sequence: SequenceActivity): void {
    if (sequence.at === 0) this.#restless += 1;
    sequence.at = this.#count;
    if (!sequence.isNoted) this.#note(sequence);
  }

  #note(sequence: SequenceActivity): void {
    sequence.isNoted = true;
    this.#stirred.push(sequence);
  }

  #calm(sequence: SequenceActivity): void {
    if (sequence.at === 0) return;
    sequence.at = 0;
    this.#restless -= 1;
  }

  #end(sequence: SequenceActivity): void {
    for (const branch of sequence.branches ?? []) this.#end(branch);
    this.#calm(sequence);
    this.#sequences.delete(sequence.scope);
    sequence.above?.branches?.delete(sequence);
  }
}

/** What is known of one sequence. */
interface SequenceActivity {
  readonly scope: string;
  /** That of which it is a branch. */
  readonly above: SequenceActivity | undefined;
  branches: Set<SequenceActivity> | undefined;
  /** When it last stirred; 0 for a calm one. */
  at: number;
  /** Whether it stands among those that have stirred. */
  isNoted: boolean;
}
