import type { Event } from "../../protocol/events/events.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { readBase, readOne } from "../replay/beginning.ts";
import { foldBeginning } from "../replay/fold-beginning.ts";
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
    const first = (await readBase(log, runId))?.head ?? 0;
    const last = Math.min(await this.#lastRemovable(), first + AT_ONCE);
    if (last - first < limits.checkpointEvents) return;
    const end = await this.#findLastUpTo(upTo, first, last);
    if (end - first < limits.checkpointEvents) return;
    const base = await foldBeginning(log, runId, end);
    this.#ledger.checkThere();
    this.#ledger.shorten(base);
  }

  /** The last event before the place from which on the open turn is read; without one, the last but one. */
  async #lastRemovable(): Promise<number> {
    const { started, recorder, owner } = this.#ledger;
    if (started === undefined) return recorder.cursor.head - 1;
    if (started.base) return started.base.at.after;
    const entry = await this.#context.log.lookup(started.accepted.requestId, owner);
    return (entry?.started ?? 1) - 1;
  }

  /** The last event behind the first one and up to the last one that happened up to a time. */
  async #findLastUpTo(time: number, first: number, last: number): Promise<number> {
    let [low, high] = [first, last];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const text = await readOne(this.#context.log, this.#ledger.runId, middle);
      if (text !== undefined && Date.parse((JSON.parse(text) as Event).ts) <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
