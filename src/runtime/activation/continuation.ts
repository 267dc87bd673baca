import type { RequestId } from "../../protocol/ids.ts";
import type { ContinuedStart } from "../journal/records.ts";
import type { OpenRequest } from "../replay/run-state.ts";
import type { RunLedger } from "./run-ledger.ts";

/** What ended the process before a turn is continued. */
export interface Death {
  /** False where a long sleep is over, or the process closed in good order. */
  readonly died: boolean;
  /** Whether no other turn was under way when the process died. */
  readonly alone: boolean;
}

/** The start of a turn that is continued, for the log. */
export function toContinuedStart(
  { recoveries, deaths = 0, among = 0 }: OpenRequest,
  { died, alone }: Death,
): ContinuedStart & { readonly deaths: number } {
  const counts = died && (alone || among === 1);
  return {
    count: recoveries === 0 ? 1 : recoveries + (counts ? 1 : 0),
    deaths: deaths + (died ? 1 : 0),
    ...(!counts && { spared: true }),
  };
}

/** What a continuation does in the slot of its turn. */
export interface ContinuationOptions {
  readonly ledger: RunLedger;
  readonly requestId: RequestId;
  readonly start: ContinuedStart & { readonly deaths: number };
  /** How many turns its last start ran beside, itself included; 0 where any number did. */
  readonly among: number;
  /** Runs the handler, once the start is written down. */
  readonly run: () => void;
}

/** A turn that is to be continued: it begins when the gate says so, and is watched until it makes progress. */
export class Continuation {
  readonly #options: ContinuationOptions;
  readonly #sound = Promise.withResolvers<void>();
  /** How much of the log was new when the turn began. */
  #begun: number | undefined;
  #isOver = false;

  constructor(options: ContinuationOptions) {
    this.#options = options;
  }

  get deaths(): number {
    return this.#options.start.deaths;
  }

  get count(): number {
    return this.#options.start.count;
  }

  /** How many turns its last start ran beside, itself included; 0 where any number did. */
  get among(): number {
    return this.#options.among;
  }

  /** Resolves when the turn has made progress, waits or sleeps, or has ended. */
  get sound(): Promise<void> {
    return this.#sound.promise;
  }

  /**
   * Writes the start down, then runs the handler; resolves when that is so. `among` is how many turns run
   * until this one makes progress; 0 for any number.
   */
  async begin(among: number): Promise<void> {
    if (this.#isOver) return;
    const { ledger, requestId, start, run } = this.#options;
    ledger.change({
      type: "RecoveryStarted",
      request_id: requestId,
      ...start,
      ...(among > 0 && { among }),
    });
    run();
    this.#begun = ledger.recorder.news;
    await this.#committed();
  }

  /** Writes down that any number of turns run from now on, unless the turn has made progress. */
  async accompany(): Promise<void> {
    if (this.#isOver) return;
    this.end();
    const { ledger, requestId } = this.#options;
    ledger.change({ type: "Accompanied", request_id: requestId });
    await this.#committed();
  }

  /** Takes note of what is about to be committed. */
  beforeCommit(): void {
    if (this.#begun === undefined || this.#isOver) return;
    if (this.#options.ledger.recorder.news > this.#begun) this.end();
  }

  /** The turn has made progress, or is over; it is sound once that is committed. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    void this.#committed().then(this.#sound.resolve);
  }

  /** The run hears of a failed commit by itself. */
  async #committed(): Promise<void> {
    try {
      await this.#options.ledger.recorder.committed();
    } catch {}
  }
}
