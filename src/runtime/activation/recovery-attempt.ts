import type { TurnError } from "../../protocol/events/outcome-codes.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { ContinuedStart } from "../journal/records.ts";
import type { Progress } from "../journal/progress.ts";
import type { OpenRequest } from "../replay/run-state.ts";
import type { RunLedger } from "./run-ledger.ts";

/** The start of a turn that is continued, for the log. `died` is false if it only waited, or was released properly. */
export function toContinuedStart(
  { recoveries, deaths = 0, among = 0, held = false }: OpenRequest,
  died: boolean,
): ContinuedStart & { readonly deaths: number } {
  // The process has died while this turn was held back, so something else has ended it, now and perhaps also before.
  if (held) return { count: 1, deaths: 1, spared: true };
  const counts = died && among === 1;
  return {
    count: recoveries === 0 ? 1 : recoveries + (counts ? 1 : 0),
    deaths: deaths + (died ? 1 : 0),
    ...(!counts && { spared: true }),
  };
}

/** A turn is ended when the process has died in this many of its trials, one after the other. */
const TRIALS = 3;

/** A turn is also ended after this many deaths without progress, even if something else may have caused them. */
const DEATHS = 50;

/** The end of a turn that repeatedly ends the process; `undefined` if it may be continued once more. */
export function toPoisoned({ count, deaths = 0 }: ContinuedStart): TurnError | undefined {
  if (count > TRIALS) {
    const message = `the process died ${TRIALS} times when this turn was continued, and not while it was held back`;
    return { code: "poisoned", message };
  }
  if (deaths <= DEATHS) return undefined;
  return { code: "poisoned", message: `the process died ${DEATHS} times during this turn without progress` };
}

/** The actions of a continuation in the slot of its turn. */
export interface RecoveryAttemptOptions {
  readonly ledger: RunLedger;
  readonly requestId: RequestId;
  readonly start: ContinuedStart & { readonly deaths: number };
  /** The number of turns, with this one, that ran after its last continuation; 0 = unlimited. */
  readonly among: number;
  /** Runs the handler, after the start is committed. */
  readonly run: () => void;
}

/** The continuation of a turn: it starts when the gate allows it, and is watched until it makes progress. */
export class RecoveryAttempt {
  readonly #options: RecoveryAttemptOptions;
  readonly #sound = Promise.withResolvers<void>();
  /** What the turn has done since it started; `undefined` before. */
  #progress: Progress | undefined;
  #isHeld = false;
  #isOver = false;

  constructor(options: RecoveryAttemptOptions) {
    this.#options = options;
  }

  get deaths(): number {
    return this.#options.start.deaths;
  }

  get count(): number {
    return this.#options.start.count;
  }

  /** The number of turns, with this one, that ran after its last continuation; 0 = unlimited. */
  get among(): number {
    return this.#options.among;
  }

  /** Whether the gate holds the turn back before its trial. */
  get held(): boolean {
    return this.#isHeld && !this.#isOver;
  }

  /** Resolves when the turn has made progress, only waits, or has ended. */
  get sound(): Promise<void> {
    return this.#sound.promise;
  }

  /** Records that the turn is held back: a death of the process before it begins is not its doing. */
  async hold(): Promise<void> {
    if (this.#isOver) return;
    this.#isHeld = true;
    const { ledger, requestId } = this.#options;
    ledger.change({ type: "Held", request_id: requestId });
    await this.#committed();
  }

  /**
   * Records the start and then runs the handler; resolves when both are done. `among` is the number of turns,
   * with this one, that run until it makes progress; 0 = unlimited.
   */
  async begin(among: number): Promise<void> {
    if (this.#isOver) return;
    this.#isHeld = false;
    const { ledger, requestId, start, run } = this.#options;
    ledger.change({
      type: "RecoveryStarted",
      request_id: requestId,
      at: ledger.now,
      ...start,
      ...(among > 0 && { among }),
    });
    run();
    this.#progress = ledger.recorder.watchProgress(requestId);
    await this.#committed();
  }

  /**
   * Records that the turn has survived its trial, and that other turns run beside it from now on. Does nothing once the
   * turn has made progress.
   */
  async accompany(): Promise<void> {
    if (this.#isOver) return;
    this.end();
    const { ledger, requestId } = this.#options;
    ledger.change({ type: "Accompanied", request_id: requestId });
    await this.#committed();
  }

  /** Ends the watch if the batch that is about to be committed contains progress. */
  beforeCommit(): void {
    if (this.#progress?.isMade === true) this.end();
  }

  /** The turn has made progress, or has ended; it is sound once that is committed. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    void this.#committed().then(this.#sound.resolve);
  }

  /** A failed commit is reported to the run. */
  async #committed(): Promise<void> {
    try {
      await this.#options.ledger.recorder.committed();
    } catch {}
  }
}
