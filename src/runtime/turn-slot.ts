import { AgentError } from "../errors.ts";
import type { ArtifactStore } from "../ports/artifact-store.ts";
import type { Environment } from "../ports/environment.ts";
import type { SecretStore } from "../ports/secret-store.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { createSpeaker } from "../protocol/encode.ts";
import type { Speaker } from "../protocol/encode.ts";
import type { CallId, RequestId, RunId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Agent, Collaborators } from "./agent.ts";
import { whyNot } from "./agent-version.ts";
import type { GivenAnswer } from "./answers.ts";
import { cancelLogged, deepestFirst } from "./calls-ahead.ts";
import type { Foreign } from "./foreign.ts";
import { newJournal } from "./journal.ts";
import type { Journal } from "./journal.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { AskedWait } from "./open-call.ts";
import type { Limits } from "./options.ts";
import type { Accepted } from "./records.ts";
import type { Recorded } from "./recorder.ts";
import { runHandler } from "./run-handler.ts";
import type { RunningHandler } from "./run-handler.ts";
import type { RunFiles } from "./run-files.ts";
import { CANCELED } from "./run-ledger.ts";
import type { RunLedger } from "./run-ledger.ts";
import { withSecrets } from "./secrets.ts";
import { ActiveTurn } from "./turn.ts";
import { toSegment, TurnMark } from "./turn-mark.ts";
import type { TurnEnd } from "./turn-options.ts";

/** What a turn needs of the outside, and whom it tells of its end. */
export interface TurnSlotOptions {
  readonly runId: RunId;
  readonly ledger: RunLedger;
  readonly lifecycle: Lifecycle;
  readonly environment: Environment;
  readonly telemetry: Telemetry;
  readonly artifacts: ArtifactStore;
  readonly files: RunFiles;
  readonly secrets: SecretStore;
  readonly limits: Limits;
  /** How an agent is configured, without the values of secrets; `undefined` when it is not. */
  configOf(agent: string): JsonObject | undefined;
  agentOf(name: string): Agent | undefined;
  /** An agent elsewhere that an agent here may call. */
  foreignOf(name: string): Foreign | undefined;
  /** Whom an agent works with, by its own names for them. */
  usesOf(agent: Agent): Collaborators;
  /** Called when the end of the turn is written, before it is committed. */
  ended(): void;
}

/** A turn that is only in the log. */
export interface DormantTurn {
  readonly journal: Journal;
  /** Whether it waits for its caller, so that nothing goes on in it until an answer comes. */
  readonly waiting: boolean;
  /** Until when it sleeps, in milliseconds since 1970, if it does and was let go of meanwhile. */
  readonly wakeAt?: number;
}

/** A recovery without progress in between is tried so often. */
const RECOVERIES = 3;

/**
 * The place for the one turn that a run has under way. The turn may be at work here, or dormant: only
 * in the log, as it is after a restart or when it waits for long; its handler then runs again when
 * there is something for it to do.
 */
export class TurnSlot {
  readonly #options: TurnSlotOptions;
  #turn: ActiveTurn | undefined;
  #handler: RunningHandler | undefined;
  #dormant: Journal | undefined;
  readonly #mark: TurnMark;

  constructor(options: TurnSlotOptions, dormant: DormantTurn | undefined) {
    this.#options = options;
    this.#dormant = dormant?.journal;
    this.#mark = new TurnMark(options, {
      segment: dormant && toSegment(dormant.journal.lastResume, this.waits),
      wakeAt: dormant?.wakeAt,
    });
    if (dormant === undefined) return;
    options.lifecycle.send("start");
    if (dormant.waiting) options.lifecycle.send("park");
  }

  /** The request whose turn it is. */
  get requestId(): RequestId | undefined {
    return this.#options.ledger.started?.accepted.requestId;
  }

  /** Whether the turn is at work here. */
  get active(): boolean {
    return this.#turn !== undefined;
  }

  /** Whether the turn only waits or sleeps. */
  get resting(): boolean {
    return this.#turn?.resting ?? this.#mark.wakeAt !== undefined;
  }

  /** Until when the turn sleeps, so that it can be let go of until then; `undefined` when it does not, or not for long. */
  get wakeAt(): number | undefined {
    const { wakeAt } = this.#mark;
    return this.#turn === undefined || this.#turn.wakeAt === wakeAt ? wakeAt : undefined;
  }

  /** The open waits, oldest first. */
  get waits(): readonly AskedWait[] {
    return this.#turn?.waits.all ?? [...(this.#dormant?.waits.values() ?? [])];
  }

  /** Starts the turn of a request; the answer is its encoded RequestStarted. */
  start(accepted: Accepted): string {
    const { ledger, lifecycle, agentOf } = this.#options;
    this.#mark.clear();
    const started = ledger.start(this.#speakerOf(accepted), accepted, agentOf(accepted.agent)?.version);
    lifecycle.send("start");
    const turn = this.#open(newJournal(agentOf(accepted.agent)?.version));
    // What the log does not hold has not happened: no agent code runs before its start is committed.
    if (turn) ledger.recorder.committed().then(() => this.#run(turn), ignore);
    return started.text;
  }

  /**
   * Continues a dormant turn that does not wait, after a crash or a long sleep. It is written down first,
   * so that a turn that crashes the process is found out and ended.
   */
  recover(): void {
    const { ledger, telemetry } = this.#options;
    const open = ledger.started;
    if (open === undefined || this.#dormant === undefined) return;
    const count = open.recoveries + 1;
    if (count > RECOVERIES) {
      const message = `the turn was continued ${RECOVERIES} times and got nowhere`;
      telemetry.fault(`request ${open.accepted.requestId} is poisoned`);
      this.#endDormant({
        finishReason: "error",
        result: null,
        output: null,
        error: { code: "poisoned", message },
      });
      return;
    }
    ledger.change({ type: "RecoveryStarted", request_id: open.accepted.requestId, count });
    const turn = this.#open(this.#dormant);
    if (turn) ledger.recorder.committed().then(() => this.#run(turn), ignore);
  }

  /** Whether an answer with this name was given before. */
  knowsAnswer(resumeId: string): boolean {
    return (this.#turn?.waits ?? this.#dormant)?.resumeIds.has(resumeId) ?? false;
  }

  /**
   * Answers an open wait, for which the handler first has to be where it was when it asked; `undefined`
   * when the wait has been closed meanwhile.
   */
  async answer(callId: CallId, { values, resumeId }: GivenAnswer): Promise<Recorded | undefined> {
    const turn = this.#turn ?? this.#revive();
    const wait = await turn?.waits.when(callId);
    return wait && turn?.answer(wait, values, resumeId);
  }

  /** Cancels the turn; the answer is its encoded RequestCompleted. */
  cancel(): string {
    const { ledger } = this.#options;
    const accepted = ledger.started?.accepted;
    if (accepted === undefined) throw new AgentError("conflict", "no turn is under way");
    ledger.recorder.event(this.#speakerOf(accepted), { type: "CancelRequest" });
    const text = this.#turn ? this.#turn.end(CANCELED) : this.#endDormant(CANCELED);
    if (text === undefined) throw new AgentError("conflict", `request ${accepted.requestId} has ended`);
    return text;
  }

  /** Ends the turn because its code failed where nobody could catch it. */
  crash(reason: string): void {
    this.#turn?.fail("agent_crashed", reason);
  }

  /** Tells the turn's code of an event that it follows. */
  recorded(speaker: Speaker, text: string): void {
    this.#turn?.recorded(speaker, text);
  }

  /** Brings the request's entry in the index up to date with what is about to be committed. */
  beforeCommit(): void {
    if (this.#turn && !this.#turn.ended) this.#mark.beforeCommit(this.#turn);
  }

  /** Lets go of the turn without an end. */
  release(): void {
    this.#turn?.release();
    this.#handler?.stop();
  }

  /** Follows what the turn waits for: its time stands still meanwhile, and its request waits or sleeps too. */
  #follow(turn: ActiveTurn): void {
    this.#handler?.clock.rest(turn.resting);
    this.#mark.follow(turn);
  }

  #speakerOf({ requestId, agent }: Accepted): Speaker {
    return createSpeaker({ run_id: this.#options.runId, request_id: requestId, agent, depth: 0 });
  }

  /** Makes the turn of the started request; ends the request if its agent is not there any more. */
  #open(journal: Journal): ActiveTurn | undefined {
    const {
      runId,
      ledger,
      environment,
      telemetry,
      artifacts,
      files,
      secrets,
      limits,
      configOf,
      agentOf,
      usesOf,
    } = this.#options;
    const open = ledger.started;
    if (open?.turn === undefined) return undefined;
    const { accepted, turn: number, config } = open;
    const agent = agentOf(accepted.agent);
    const error = whyNot(accepted.agent, agent, journal);
    if (agent === undefined || error !== undefined) {
      this.#endDormant({ finishReason: "error", result: null, output: null, ...(error && { error }) });
      return undefined;
    }
    const reveal = (config: JsonObject): JsonObject => withSecrets(config, secrets);
    const turn: ActiveTurn = new ActiveTurn({
      runId,
      accepted,
      number,
      agent,
      journal,
      memory: ledger.state.memory,
      config: reveal(config?.args ?? {}),
      // Another agent of the same name is not the one that was configured.
      configOf: (called) => (agentOf(called.name) === called ? configOf(called.name) : undefined),
      reveal,
      recorder: ledger.recorder,
      environment,
      telemetry,
      artifacts,
      files,
      limits,
      usesOf,
      changed: () => this.#follow(turn),
      complete: (end) => this.#end(turn.speaker, accepted, end),
    });
    this.#turn = turn;
    this.#dormant = undefined;
    return turn;
  }

  #run(turn: ActiveTurn): void {
    if (turn.ended) return;
    const handler = runHandler(turn);
    if (turn.ended) handler.stop();
    else this.#handler = handler;
  }

  /** Runs the handler of the dormant turn again. */
  #revive(): ActiveTurn | undefined {
    const turn = this.#dormant && this.#open(this.#dormant);
    if (turn) this.#run(turn);
    return turn;
  }

  /** Ends a turn whose handler is not in memory, and with it the calls that the log has open. */
  #endDormant(end: Omit<TurnEnd, "memory">): string | undefined {
    const { runId, ledger } = this.#options;
    const accepted = ledger.started?.accepted;
    if (accepted === undefined) return undefined;
    const calls = deepestFirst(this.#dormant?.openCalls.values() ?? []);
    cancelLogged(ledger.recorder, { runId, requestId: accepted.requestId }, calls);
    this.#abandon(this.#dormant);
    return this.#end(this.#speakerOf(accepted), accepted, { ...end, memory: new Map() });
  }

  /** Tells those elsewhere who still work for a turn that is not in memory. */
  #abandon(journal: Journal | undefined): void {
    const { environment, foreignOf, ledger } = this.#options;
    for (const [scope, { agent, state }] of journal?.foreign ?? []) {
      if (journal?.outcomes.has(scope as CallId)) continue;
      const abandon = (): void => foreignOf(agent)?.abandon(state.kept, environment);
      ledger.recorder.committed().then(abandon, ignore);
    }
  }

  #end(speaker: Speaker, accepted: Accepted, end: TurnEnd): string {
    const { ledger, telemetry, environment, lifecycle, ended } = this.#options;
    const text = ledger.end(speaker, accepted, end);
    telemetry.completed(accepted.agent, end.finishReason, environment.now() - accepted.acceptedAt);
    this.#handler?.stop();
    this.#handler = undefined;
    this.#turn = undefined;
    this.#dormant = undefined;
    this.#mark.clear();
    lifecycle.send("end");
    ended();
    return text;
  }
}

/** The run hears of a failed commit by itself. */
function ignore(): void {}
