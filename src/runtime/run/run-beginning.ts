import type { EventLog } from "../../ports/event-log.ts";
import type { RunEntry } from "../../ports/log-entries.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { readBase, readOne } from "../replay/beginning.ts";
import { foldBeginning } from "../replay/fold-beginning.ts";
import { fromSnapshot } from "../replay/run-state.ts";
import type { RunContext } from "../run-context.ts";

/** The most events that are removed in one commit: a database deletes them in a fraction of a second. */
const AT_ONCE = 2_000;

/**
 * The beginning of a run's log. Retention removes it while the run has an open turn or further requests, as far as nothing that
 * is open needs it, so that a run takes a limited space although its turn never ends.
 */
export class RunBeginning {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  #isUnderWay = false;

  constructor(context: RunContext, ledger: RunLedger) {
    this.#context = context;
    this.#ledger = ledger;
  }

  /** Removes some of what happened up to a time. Nothing if that is not worth a commit. */
  async shorten(upTo: number): Promise<void> {
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    try {
      await this.#shorten(upTo);
    } finally {
      this.#isUnderWay = false;
    }
  }

  async #shorten(upTo: number): Promise<void> {
    const { log, limits } = this.#context;
    const { runId } = this.#ledger;
    await this.#ledger.committed();
    const run = await log.run(runId);
    const end = run && (await findRemovable(log, run, upTo, limits.checkpointEvents));
    if (end === undefined) return;
    const base = await foldBeginning(log, runId, end);
    this.#ledger.checkThere();
    this.#ledger.shorten(base);
  }
}

/**
 * Finds the last event of the beginning of a run that can be removed in one commit: it happened up to a time, and nothing that
 * is open needs it. `undefined` if there are fewer than `least` of them, which are not worth a commit.
 */
export async function findRemovable(
  log: EventLog,
  run: RunEntry,
  upTo: number,
  least: number,
): Promise<number | undefined> {
  const first = (await readBase(log, run.runId))?.head ?? 0;
  const last = Math.min(await findLastUnneeded(log, run), first + AT_ONCE);
  if (last - first < least || (await timeOf(log, run.runId, first + least)) > upTo) return undefined;
  let [low, high] = [first + least, last];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((await timeOf(log, run.runId, middle)) <= upTo) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The last event before the place from which on the open turn is read; without one, the last but one. */
async function findLastUnneeded(log: EventLog, { runId, head, started, owner }: RunEntry): Promise<number> {
  if (started === undefined) return head - 1;
  // The snapshot is written with each such place of a turn.
  const snapshot = await log.snapshot(runId);
  const open = snapshot ? fromSnapshot(snapshot.data).open : [];
  const { base } = open.find(({ accepted }) => accepted.requestId === started) ?? {};
  return base ? base.at.after : ((await log.lookup(started, owner))?.started ?? 1) - 1;
}

/** When an event happened, in milliseconds since 1970; never for one that the log no longer has. */
async function timeOf(log: EventLog, runId: RunId, id: number): Promise<number> {
  const text = await readOne(log, runId, id);
  return text === undefined ? Infinity : Date.parse((JSON.parse(text) as Event).ts);
}
