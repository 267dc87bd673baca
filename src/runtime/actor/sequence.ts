import { AgentError } from "../../errors.ts";
import type { FailedCall } from "../../errors.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { Artifact } from "../agent/turn-api.ts";
import { toCallFailure } from "./call-failure.ts";
import { unsettled } from "../../shared/deferred.ts";
import type { Actor } from "./actor.ts";
import type { Outcome } from "../replay/turn-journal.ts";
import type { ReplayScope } from "../replay/scope.ts";
import { NOW, RANDOM, patchSignature } from "../replay/signature.ts";
import type { Signature } from "../replay/signature.ts";

/** The agent and operation that a call is for, which its error names. */
export type CallTarget = Omit<FailedCall, "callId">;

/** What is done with the outcome of a call before the code gets it. */
interface OutcomeOptions {
  readonly of?: CallTarget | undefined;
  readonly hear?: (told: ToldResult) => void;
  /** Whether the caller checks it, and then gives a rehearsed code nothing. */
  readonly isChecked?: boolean;
}

/** A taken position: whether the log has the step, and whether it has its outcome. */
export interface Step {
  readonly callId: CallId;
  readonly logged: boolean;
  readonly settled: boolean;
  readonly value?: Json;
}

/** What a result of a call is besides its value: a text for a model, and the files that the callee has published. */
export interface ToldResult {
  readonly text: string;
  readonly files: readonly Artifact[];
}

/**
 * One sequence of an actor's steps: each step takes a position, is logged or compared with the log, and ends.
 */
export class Sequence {
  readonly actor: Actor;
  readonly scope: ReplayScope;

  constructor(actor: Actor, scope: ReplayScope) {
    this.actor = actor;
    this.scope = scope;
  }

  /** Sends a text; resolves when another one may follow. */
  say(content: string): Promise<void> {
    const { actor, scope } = this;
    const { turn } = actor;
    if (!actor.call.open) return turn.over();
    this.#checkFree();
    scope.skipPatches();
    const logged = scope.replaying;
    if (!logged && actor.isStopped) return turn.over();
    const divergence = logged ? scope.replayText(content) : scope.advance();
    if (divergence === undefined && !logged) return actor.say(content, scope);
    if (divergence === undefined) return turn.isRehearsed ? unsettled() : SAID;
    turn.diverge(divergence);
    return turn.over();
  }

  /**
   * Makes a call: takes its position, starts it unless the log has its outcome, and resolves with the
   * outcome.
   */
  async issue(
    signature: Signature,
    start: (step: Step) => unknown,
    options: Omit<OutcomeOptions, "hear"> = {},
  ): Promise<Json> {
    const step = this.begin(signature);
    if (step === undefined) return this.actor.turn.over();
    const outcome = this.outcome(step.callId, options);
    if (!step.settled) start(step);
    return outcome;
  }

  /** The time in milliseconds since 1970. */
  now(): number {
    return this.#sample(NOW, "Now", () => this.actor.turn.context.environment.now());
  }

  /** A random number from 0 to 1. */
  random(): number {
    return this.#sample(RANDOM, "Random", () => this.actor.turn.context.environment.random());
  }

  /** Whether the turn takes the new path of a change of its code. */
  patched(id: string): boolean {
    const { actor, scope } = this;
    const { turn } = actor;
    const known = turn.patches.get(id);
    if (known !== undefined || !actor.call.open) return known ?? true;
    this.#checkFree();
    if (!scope.replaying && actor.isStopped) return true;
    const isPatched = scope.replaying ? scope.replayPatch(patchSignature(id)) : this.#patch(id);
    turn.patches.set(id, isPatched);
    return isPatched;
  }

  #patch(id: string): boolean {
    const { actor, scope } = this;
    const divergence = scope.advance();
    if (divergence) actor.turn.diverge(divergence);
    else actor.turn.recorder.record({ type: "Patched", scope: scope.path, id });
    return true;
  }

  /** The bodies of messages; on replay, those of the logged ones. */
  take(signature: Signature, take: (callId: CallId) => readonly Json[]): readonly Json[] {
    const step = this.begin(signature);
    if (step === undefined) return [];
    return step.logged ? (step.value as readonly Json[]) : take(step.callId);
  }

  /**
   * Takes the next position; `undefined` if the actor has ended, or this step ends it because the log has another one
   * here.
   */
  begin(signature: Signature): Step | undefined {
    const { actor, scope } = this;
    const { turn } = actor;
    if (!actor.call.open) return undefined;
    this.#checkFree();
    const { journal, recorder } = turn;
    const { limits } = turn.context;
    scope.skipPatches();
    const logged = scope.replaying;
    if (!logged && actor.isStopped) return undefined;
    if (!logged && recorder.uncommitted >= limits.uncommittedEntries) {
      turn.fail("overloaded", `agent ${actor.agent.name} made too many calls at once; await some of them`);
      return undefined;
    }
    const place = logged ? scope.replay(signature) : scope.advance();
    if (place !== undefined && "expected" in place) {
      turn.diverge(place);
      return undefined;
    }
    const { callId } = scope;
    // What was open when the code was stopped does not begin again, and has no outcome.
    const settled = logged && (actor.isStopped || journal.calls.get(callId)?.outcome !== undefined);
    return { callId, logged, settled, ...(place?.value !== undefined && { value: place.value }) };
  }

  /**
   * Resolves when a call has ended. `hear` gets its result as text and files before that. `of` is the target that the error of a
   * failed call names. What a rehearsal has last is only for a caller that still checks it.
   */
  outcome(callId: CallId, { of, hear, isChecked = false }: OutcomeOptions = {}): Promise<Json> {
    const { actor } = this;
    return new Promise((resolve, reject) => {
      actor.turn.deliveries.expect(callId, (outcome: Outcome) => {
        if (actor.turn.isRehearsed && !isChecked) return;
        if (!outcome.ok) {
          reject(toCallFailure(outcome, { ...(of ?? { agent: actor.agent.name }), callId }));
          return;
        }
        hear?.({ text: outcome.text ?? "", files: outcome.files ?? [] });
        resolve(outcome.value);
      });
    });
  }

  /** A number from outside; on replay, the logged number. */
  #sample(signature: Signature, type: "Now" | "Random", take: () => number): number {
    const step = this.begin(signature);
    if (step === undefined) return take();
    if (step.logged) return step.value as number;
    const value = take();
    this.actor.turn.recorder.record({ type, scope: this.scope.path, value });
    return value;
  }

  #checkFree(): void {
    if (this.scope.ended) throw new AgentError("conflict", "the branch of this turn has ended");
    if (!this.scope.branching) return;
    throw new AgentError(
      "conflict",
      "this turn has running branches: use the turn that turn.all gives to each branch",
    );
  }
}

/** The result of each replayed text. */
const SAID = Promise.resolve();
