import type { TurnError } from "../../protocol/events/events.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { Agent } from "../agent/agent.ts";
import type { ContinuedStart } from "../journal/records.ts";
import type { OpenRequest } from "../replay/run-state.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import type { RunLedger } from "./run-ledger.ts";

/** How the previous process ended. */
export interface Death {
  /** False if the process closed properly, or if a long sleep is over. */
  readonly died: boolean;
  /** Whether no other turn ran when the process died. */
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

/** A turn is ended when this many of its starts without progress count against it. */
const RECOVERIES = 3;

/** A turn is also ended after this many deaths without progress, even if other turns may have caused them. */
const DEATHS = 50;

/** The end of a turn that repeatedly ends the process; `undefined` if it may be continued once more. */
export function toPoisoned({ count, deaths = 0 }: ContinuedStart): TurnError | undefined {
  if (count <= RECOVERIES && deaths <= DEATHS) return undefined;
  return { code: "poisoned", message: `the turn was continued ${RECOVERIES} times without progress` };
}

/** The reason why the current agent cannot continue a turn; `undefined` if it can. */
export function versionMismatch(
  name: string,
  agent: Agent | undefined,
  { agentVersion: before }: TurnJournal,
): TurnError | undefined {
  if (agent === undefined) return { code: "interrupted", message: `agent ${name} is no longer served` };
  const { version: now, compatible } = agent;
  if (before === now || (before !== undefined && compatible.includes(before))) return undefined;
  const versions = `from version ${before ?? "(none)"} to ${now ?? "(none)"}`;
  return {
    code: "version_mismatch",
    message: `agent ${name} has changed ${versions} since the turn started`,
  };
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
  /** The recorder's `news` when the turn started. */
  #begun: number | undefined;
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

  /** Resolves when the turn has made progress, waits or sleeps, or has ended. */
  get sound(): Promise<void> {
    return this.#sound.promise;
  }

  /**
   * Records the start and then runs the handler; resolves when both are done. `among` is the number of turns,
   * with this one, that run until it makes progress; 0 = unlimited.
   */
  async begin(among: number): Promise<void> {
    if (this.#isOver) return;
    const { ledger, requestId, start, run } = this.#options;
    ledger.change({
      type: "RecoveryStarted",
      request_id: requestId,
      at: ledger.now,
      ...start,
      ...(among > 0 && { among }),
    });
    run();
    this.#begun = ledger.recorder.news;
    await this.#committed();
  }

  /** Records that other turns may run beside it again; does nothing once it made progress. */
  async accompany(): Promise<void> {
    if (this.#isOver) return;
    this.end();
    const { ledger, requestId } = this.#options;
    ledger.change({ type: "Accompanied", request_id: requestId });
    await this.#committed();
  }

  /** Ends the watch if the batch that is about to be committed contains progress. */
  beforeCommit(): void {
    if (this.#begun === undefined || this.#isOver) return;
    if (this.#options.ledger.recorder.news > this.#begun) this.end();
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
