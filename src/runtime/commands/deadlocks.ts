import type { RequestEntry } from "../../ports/log-entries.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { backoffMs } from "../../shared/backoff.ts";
import { Pauses } from "../journal/pauses.ts";
import { readAccepted } from "../replay/accepted.ts";
import type { Reply } from "../replay/mail-port.ts";
import type { HostContext } from "../run-context.ts";

/** The most turns that are read from the index to find a cycle; a longer one is not found. */
const TURNS_LIMIT = 1_000;

/** The pause between two readings, in milliseconds. A pending cancel or answer changes the second one. */
const AGAIN_MS = 1_000;

/** The longest pause before a failed examination is repeated, in milliseconds. */
const RETRY_LIMIT_MS = 60_000;

/** The most failed examinations that are repeated while others begin. Above it, the caller of one waits for its end. */
const REPEATED_LIMIT = 100;

/** The started turn of a run. It is parked on asks alone, each of which waits for the started turn of the run that it is for. */
interface ParkedTurn {
  readonly requestId: RequestId;
  readonly runId: RunId;
  readonly head: number;
  readonly asks: readonly RequestEntry[];
}

/**
 * Finds actors that wait for each other through their queues: A asks B while the turn of B asks A. When a turn is parked on
 * asks alone, the turns that it waits for are read from the index. If none of them can continue, now and a second later,
 * the youngest ask of a cycle fails with `would_deadlock`.
 */
export class Deadlocks {
  readonly #context: Omit<HostContext, "mail">;
  readonly #reply: (to: RunId, reply: Reply) => Promise<void>;
  readonly #pauses: Pauses;
  /** The runs whose turns are being examined, and whether these were parked again since then. */
  readonly #examined = new Map<RunId, boolean>();
  /** The number of examinations that have failed and are repeated. */
  #repeated = 0;

  constructor(context: Omit<HostContext, "mail">, reply: (to: RunId, reply: Reply) => Promise<void>) {
    this.#context = context;
    this.#reply = reply;
    this.#pauses = new Pauses(context.environment);
  }

  stop(): void {
    this.#pauses.stop();
  }

  /**
   * Examines the started turn of a run, which waits only for asks. Resolves when that is done, or has failed and is repeated.
   * Never rejects.
   */
  examine(runId: RunId): Promise<void> {
    if (this.#examined.has(runId)) {
      this.#examined.set(runId, true);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      void this.#examineAll(runId, resolve).then(resolve);
    });
  }

  async #examineAll(runId: RunId, failed: () => void): Promise<void> {
    for (let isAgain = true; isAgain; isAgain = this.#examined.get(runId) === true) {
      this.#examined.set(runId, false);
      if (await this.#isExamined(runId, 0)) continue;
      this.#repeated += 1;
      if (this.#repeated <= REPEATED_LIMIT) failed();
      await this.#repeat(runId);
      this.#repeated -= 1;
    }
    this.#examined.delete(runId);
  }

  /** Repeats a failed examination, for example until the log can be written again: nothing else would break a cycle. */
  async #repeat(runId: RunId): Promise<void> {
    let failures = 0;
    do await this.#pauses.wait(backoffMs({ firstMs: AGAIN_MS, mostMs: RETRY_LIMIT_MS }, failures++));
    while (!(await this.#isExamined(runId, failures)));
  }

  /** Examines a turn once. Returns false if that has failed. */
  async #isExamined(runId: RunId, failures: number): Promise<boolean> {
    try {
      await this.#examine(runId, failures);
      return true;
    } catch (error) {
      this.#context.telemetry.fault("actors could not be examined", error);
      return false;
    }
  }

  async #examine(runId: RunId, failures: number): Promise<void> {
    for (let before: string | undefined; ;) {
      const turns = await this.#read(runId);
      if (turns === undefined) return;
      const now = JSON.stringify(turns);
      if (now === before) {
        await this.#break(turns, failures);
        return;
      }
      before = now;
      await this.#pauses.wait(AGAIN_MS);
    }
  }

  /** The started turn of a run, and all turns that it waits for; `undefined` if one of them can continue. */
  async #read(start: RunId): Promise<readonly ParkedTurn[] | undefined> {
    const turns = new Map<RunId, ParkedTurn>();
    const left = [start];
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      if (turns.has(next)) continue;
      if (turns.size === TURNS_LIMIT) return undefined;
      const turn = await this.#readTurn(next);
      if (turn === undefined) return undefined;
      turns.set(next, turn);
      left.push(...turn.asks.map(({ runId }) => runId));
    }
    return [...turns.values()];
  }

  async #readTurn(runId: RunId): Promise<ParkedTurn | undefined> {
    const { log } = this.#context;
    const run = await log.run(runId);
    // A request that is about to start waits for no other turn, so the turn that asked can continue.
    if (run?.started === undefined) return undefined;
    const { started: requestId, head } = run;
    // Clients choose ids of requests, and those of two owners can be equal.
    const entry = await log.lookup(requestId, ownerOf(run));
    if (entry?.parkedOn === undefined) return undefined;
    const asks: RequestEntry[] = [];
    for (const id of entry.parkedOn) {
      // The runtime has made the id of an ask.
      const ask = await log.lookup(id);
      if (ask === undefined || ask.phase === "completed") return undefined;
      asks.push(ask);
    }
    return { requestId, runId, head, asks };
  }

  /**
   * Ends the youngest ask of a cycle; after each failure the next older one instead, because the run of the youngest
   * one may be damaged.
   */
  async #break(turns: readonly ParkedTurn[], failures: number): Promise<void> {
    const all = turns.flatMap((turn) => turn.asks.map((ask) => ({ turn, ask })));
    const inCycles = all
      .sort((a, b) => compare(b.ask, a.ask))
      .flatMap(({ turn, ask }) => {
        const cycle = pathBetween(turns, ask.runId, turn.runId);
        return cycle === undefined ? [] : [{ ask, runs: [turn, ...cycle] }];
      });
    const broken = inCycles[failures % inCycles.length];
    if (broken === undefined) return;
    const { requestId } = broken.ask;
    const { callId, sender } = await readAccepted(this.#context.log, broken.ask);
    if (callId === undefined || sender === undefined) return;
    const names = broken.runs.map(({ runId }) => runId).join(" → ");
    const message = `the actors wait for each other: ${names}`;
    const outcome = { ok: false, code: "would_deadlock", message } as const;
    await this.#reply(sender.run_id, { requestId, callId, outcome, isRecalled: true });
  }
}

/** The turns from one run to another, both included, in the order in which they wait; `undefined` if there is no way. */
function pathBetween(
  turns: readonly ParkedTurn[],
  from: RunId,
  to: RunId,
): readonly ParkedTurn[] | undefined {
  const byRun = new Map(turns.map((turn) => [turn.runId, turn]));
  const before = new Map<RunId, RunId | undefined>([[from, undefined]]);
  const left = [from];
  for (let at = left.shift(); at !== undefined; at = left.shift()) {
    if (at === to) {
      const path: ParkedTurn[] = [];
      for (let step: RunId | undefined = at; step !== undefined; step = before.get(step)) {
        const turn = byRun.get(step);
        if (turn) path.unshift(turn);
      }
      return path;
    }
    for (const { runId } of byRun.get(at)?.asks ?? []) {
      if (before.has(runId)) continue;
      before.set(runId, at);
      left.push(runId);
    }
  }
  return undefined;
}

function compare(a: RequestEntry, b: RequestEntry): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  return a.requestId < b.requestId ? -1 : a.requestId > b.requestId ? 1 : 0;
}
