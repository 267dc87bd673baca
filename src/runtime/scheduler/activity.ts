import type { CallId } from "../../protocol/ids.ts";
import type { TurnCounts } from "./turn-counts.ts";

/** Called when a sequence may have started or stopped working. */
export interface ActivityListener {
  activityChanged(): void;
}

/**
 * Tracks which sequences of a turn can still make progress, as far as that is visible from outside. A
 * sequence is active from its start, or from receiving an outcome or sending a text, until it waits for a
 * call.
 */
export class Activity {
  /** Set while the turn may become quiescent. */
  listener: ActivityListener | undefined;
  readonly #counts: TurnCounts;
  /** The sequences by their scope. */
  readonly #sequences = new Map<string, SequenceActivity>();
  /** The sequences activated since the last look. */
  readonly #noted = new Set<SequenceActivity>();
  #count = 0;

  constructor(counts: TurnCounts) {
    this.#counts = counts;
  }

  /** Whether a scope has a sequence that has not ended. */
  has(scope: string): boolean {
    return this.#sequences.has(scope);
  }

  /** A number that grows with every activation. */
  get count(): number {
    return this.#count;
  }

  /** A handler starts, or a branch of the sequence of a scope, which waits for it unless the branch is aside. */
  begin(scope: string, branch?: { readonly above: string; readonly isAside?: boolean }): void {
    const above = branch && this.#sequences.get(branch.above);
    const sequence: SequenceActivity = {
      scope,
      above,
      isAside: branch?.isAside ?? false,
      branches: undefined,
      awaited: 0,
      activatedAt: 0,
    };
    if (above) (above.branches ??= new Set()).add(sequence);
    this.#sequences.set(scope, sequence);
    this.activate(scope);
  }

  /** A sequence receives or sends something: its code runs, unless it has ended. */
  activate(scope: string): void {
    this.#count += 1;
    const sequence = this.#sequences.get(scope);
    if (sequence) this.#activate(sequence);
    this.listener?.activityChanged();
  }

  /** A delivery was skipped, so that the code may now wait for another one. */
  deliverySkipped(): void {
    this.listener?.activityChanged();
  }

  /** The code of a sequence waits for its branches. */
  deactivate(scope: string): void {
    const sequence = this.#sequences.get(scope);
    if (sequence) this.#deactivate(sequence);
  }

  /** The code of a sequence waits for one more call. */
  awaits(scope: string): void {
    const sequence = this.#sequences.get(scope);
    if (sequence === undefined) return;
    sequence.awaited += 1;
    this.#deactivate(sequence);
  }

  /** The code of a sequence waits for one call less. */
  awaitsNoMore(scope: string): void {
    const sequence = this.#sequences.get(scope);
    if (sequence) sequence.awaited -= 1;
  }

  /** Deactivates the sequences without an activation after a count that wait for a call, or for their branches. */
  deactivateSince(count: number): void {
    for (const sequence of this.#noted) {
      if (sequence.activatedAt > count) continue;
      this.#noted.delete(sequence);
      // Other code is deactivated when it makes its next call.
      if (sequence.awaited > 0 || waitsForBranches(sequence)) this.#deactivate(sequence);
    }
  }

  /** A sequence ends. */
  end(scope: string): void {
    const sequence = this.#sequences.get(scope);
    if (sequence) this.#end(sequence);
    this.listener?.activityChanged();
  }

  /** A call ends, and with it its handler and the branches of the handler. */
  endWithin(callId: CallId): void {
    const sequence = this.#sequences.get(callId);
    if (sequence) this.#end(sequence);
  }

  #activate(sequence: SequenceActivity): void {
    if (sequence.activatedAt === 0) this.#counts.active += 1;
    sequence.activatedAt = this.#count;
    this.#noted.add(sequence);
  }

  #deactivate(sequence: SequenceActivity): void {
    if (sequence.activatedAt === 0) return;
    sequence.activatedAt = 0;
    this.#counts.active -= 1;
  }

  #end(sequence: SequenceActivity): void {
    for (const branch of sequence.branches ?? []) this.#end(branch);
    this.#deactivate(sequence);
    this.#noted.delete(sequence);
    this.#sequences.delete(sequence.scope);
    sequence.above?.branches?.delete(sequence);
  }
}

/** The state of one sequence. */
interface SequenceActivity {
  readonly scope: string;
  /** The sequence of which it is a branch. */
  readonly above: SequenceActivity | undefined;
  /** Whether the sequence above continues beside it. */
  readonly isAside: boolean;
  branches: Set<SequenceActivity> | undefined;
  /** The number of calls that it waits for. */
  awaited: number;
  /** The count of its last activation; 0 for an inactive one. */
  activatedAt: number;
}

function waitsForBranches({ branches }: SequenceActivity): boolean {
  for (const { isAside } of branches ?? []) if (!isAside) return true;
  return false;
}
