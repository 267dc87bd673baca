import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { errorMessage } from "../agent/error-message.ts";
import type { Invocation } from "../agent/resolve-operation.ts";
import { ReplayScope } from "../replay/scope.ts";
import type { CallRecord, Outcome } from "../replay/turn-journal.ts";
import type { ActiveTurn } from "../turn/active-turn.ts";
import { Actor } from "./actor.ts";
import { Sequence } from "./sequence.ts";
import { TurnHandle } from "./turn-handle.ts";

/** Maximum length of the message of a failed step in the log. */
const MESSAGE_LENGTH = 1_000;

/**
 * Runs the cleanup steps of a turn, the newest first, once its code has registered all of them again; then the turn ends.
 * Returns a function that stops them.
 */
export function runCleanup(turn: ActiveTurn, asked: Invocation): () => void {
  const abort = new AbortController();
  let stopTimer = (): void => {};
  const { cleanups: logged } = turn.journal;
  const start = (): void => {
    if (abort.signal.aborted || logged.some(({ callId }) => !turn.cleanups.has(callId))) return;
    turn.cleanupRegistered = undefined;
    const { environment, limits } = turn.context;
    stopTimer = environment.timer(limits.cleanupMs, () => {
      turn.endCleanup([`the cleanup steps did not end within ${limits.cleanupMs} ms`]);
    });
    void new Cleanup(turn, asked, abort.signal).perform(logged.toReversed()).finally(stopTimer);
  };
  turn.cleanupRegistered = start;
  start();
  return () => {
    stopTimer();
    turn.cleanupRegistered = undefined;
    const { runId, requestId, context } = turn;
    context.environment.attribute({ runId, requestId }, () => abort.abort());
  };
}

/** The cleanup steps of a turn, while they run. */
class Cleanup {
  readonly #turn: ActiveTurn;
  readonly #asked: Invocation;
  readonly #signal: AbortSignal;
  readonly #actor: Actor;

  constructor(turn: ActiveTurn, asked: Invocation, signal: AbortSignal) {
    this.#turn = turn;
    this.#asked = asked;
    this.#signal = signal;
    this.#actor = new Actor(turn, turn.agent, 0, turn.root, { isCleanup: true });
    this.#actor.signal = signal;
  }

  async perform(steps: readonly CallRecord[]): Promise<void> {
    const { memory } = this.#actor;
    const errors: string[] = [];
    for (const { callId, outcome } of steps) {
      if (outcome === undefined) {
        const done = await this.#step(callId);
        if (done === undefined) return;
        this.#turn.recorder.record({ type: "CleanedUp", call_id: callId, ...done });
        if (done.error !== undefined) errors.push(done.error);
        continue;
      }
      const { error, memory: kept } = endOf(outcome);
      if (kept !== undefined) memory.set(kept);
      if (error !== undefined) errors.push(error);
    }
    const changed = memory.changed();
    this.#turn.endCleanup(
      errors,
      changed === undefined ? undefined : new Map([[this.#actor.agent.name, changed]]),
    );
  }

  /** Runs one step. Returns its end; `undefined` if it was stopped. */
  async #step(callId: CallId): Promise<CleanupEnd | undefined> {
    const turn = this.#turn;
    const actor = this.#actor;
    const { runId, requestId, context, cleanups } = turn;
    const path = `${callId}:0`;
    // What the log has nothing of is not done by a rehearsal.
    if (context.isRehearsal && !turn.journal.scopes.has(path)) return undefined;
    const scope = new ReplayScope(path, turn.replay);
    const handle = new TurnHandle(new Sequence(actor, scope), this.#asked);
    turn.activity.begin(path);
    let thrown: unknown;
    let error: string | undefined;
    try {
      await context.environment.attribute({ runId, requestId }, async () => cleanups.get(callId)?.(handle));
      await Promise.allSettled(actor.tells.splice(0));
    } catch (caught) {
      thrown = caught;
      error = errorMessage(caught).slice(0, MESSAGE_LENGTH);
    }
    if (this.#signal.aborted || turn.ended || turn.isRehearsed) return undefined;
    turn.activity.end(path);
    const divergence = scope.end();
    if (divergence) {
      turn.diverge(divergence, thrown);
      return undefined;
    }
    if (error !== undefined)
      context.telemetry.fault(`a cleanup step of agent ${actor.agent.name} failed`, thrown, turn.place());
    const memory = actor.memory.changed();
    return { ...(error !== undefined && { error }), ...(memory !== undefined && { memory }) };
  }
}

/** How a step has ended, with the memory that the steps so far have set. */
interface CleanupEnd {
  readonly error?: string;
  readonly memory?: Json;
}

function endOf(outcome: Outcome): CleanupEnd {
  return outcome.ok ? (outcome.value as CleanupEnd) : {};
}
