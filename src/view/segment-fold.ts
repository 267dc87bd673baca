import { EventDecoder } from "../protocol/events/encode.ts";
import type { Usage } from "../protocol/events/outcome-codes.ts";
import { RunFold } from "./fold.ts";
import type { Change, RunView, TurnView, WaitView } from "./run-view.ts";
import { openWaitsOf, segmentsOf, textOf } from "./segments.ts";
import { mergeUsage } from "./turns.ts";

/** What an event changes in the segment that is followed: it begins, something happens in it, it ends. */
export type SegmentChange =
  | {
      readonly type: "begin";
      readonly turn: TurnView;
      readonly runId: string;
      /** The id of the event that begins it. */
      readonly began: number;
      /** When the request was accepted, or the question answered; ISO 8601, UTC. */
      readonly at: string;
    }
  | InnerChange
  | ({ readonly type: "close" } & SegmentEnd);

/** What happens in a segment. */
export type InnerChange = Exclude<Change, { readonly type: "input" | "answer" | "expiry" | "end" }>;

/** How a segment ended. */
export interface SegmentEnd {
  /** The time of its last event. */
  readonly at: string;
  /** The turn, if it has ended; a segment without it ends because its turn waits for an answer, or gets one. */
  readonly turn?: TurnView;
  /** What the agent has returned and not said. */
  readonly unsaid: string;
  /** The open questions, oldest first, also those of earlier segments. */
  readonly waits: readonly WaitView[];
  /** What was used in it. */
  readonly usage: Usage;
}

/**
 * Follows one segment of a request, for a wire that shows each as an answer of its own. It takes all events of the request from
 * its start, and gives the changes of that segment alone. Equal events give equal changes.
 */
export class SegmentFold {
  readonly #wanted: number | undefined;
  readonly #decoder = new EventDecoder();
  readonly #fold = new RunFold();
  /** The event that began the newest segment. */
  #began: number | undefined;
  #turn: TurnView | undefined;
  #at = "";
  #usedBefore: Usage = {};
  #hasEnded = false;

  /** `began` is the id of the event that begins the segment; without it, it is the first one of the request. */
  constructor(began?: number) {
    this.#wanted = began;
  }

  /** Whether the segment has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether the segment has begun. */
  get hasBegun(): boolean {
    return this.#began !== undefined && (this.#wanted ?? this.#began) === this.#began;
  }

  get view(): RunView {
    return this.#fold.view;
  }

  /** Takes the next event of the request. */
  take(text: string): readonly SegmentChange[] {
    if (this.#hasEnded) return [];
    const event = this.#decoder.decode(text);
    // An answer or an expired wait ends a segment before its own time begins.
    if (this.hasBegun && (event.type === "ResumeWithInput" || event.type === "WaitExpired"))
      return [this.#close()];
    this.#at = event.ts;
    const changes = this.#fold.take(event);
    const [first] = changes;
    // Most events change one thing.
    if (changes.length === 1 && first !== undefined) return this.#changesOf(first);
    return changes.flatMap((change) => this.#changesOf(change));
  }

  /** Ends the segment because its request waits for an answer; empty if it has ended, or has not begun. */
  closeAtWait(): readonly SegmentChange[] {
    return this.#hasEnded || !this.hasBegun ? [] : [this.#close()];
  }

  #changesOf(change: Change): readonly SegmentChange[] {
    switch (change.type) {
      case "input":
        return this.#begin(change.turn, change.turn.acceptedAt ?? this.#at);
      case "answer":
      case "expiry":
        return this.#turn === undefined ? [] : this.#begin(this.#turn, this.#at);
      case "end":
        return this.hasBegun ? [this.#close(change.turn)] : [];
      default:
        return this.hasBegun ? [change] : [];
    }
  }

  #begin(turn: TurnView, at: string): readonly SegmentChange[] {
    const { runId, head } = this.#fold.view;
    this.#turn = turn;
    this.#began = head;
    this.#usedBefore = turn.usage;
    return this.hasBegun ? [{ type: "begin", turn, runId, began: head, at }] : [];
  }

  #close(turn?: TurnView): SegmentChange {
    this.#hasEnded = true;
    const { view } = this.#fold;
    const requestId = this.#turn?.requestId;
    const used = turn?.usage ?? view.turns.find((one) => one.requestId === requestId)?.usage ?? {};
    return {
      type: "close",
      at: this.#at,
      ...(turn && { turn }),
      unsaid: turn === undefined ? "" : unsaidOf(view, turn),
      waits: openWaitsOf(view, requestId),
      usage: mergeUsage(used, {}, this.#usedBefore),
    };
  }
}

/** The result of a turn that has ended in its newest segment, unless it says what the agent has said before. */
export function unsaidOf(
  view: RunView,
  { requestId, outcome, result = null, isResultCut = false }: TurnView,
): string {
  if (outcome !== "success" || result === null || isResultCut) return "";
  const said = segmentsOf(view).filter(({ turn }) => turn.requestId === requestId);
  const own = said.pop();
  if (textOf(own?.parts ?? []) !== "") return "";
  return said.map(({ parts }) => textOf(parts)).join("") === result ? "" : result;
}
