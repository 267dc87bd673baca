import { AgentError } from "../../errors.ts";
import { createSpeaker } from "../../protocol/events/encode.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { CallId, RequestId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { isUnder, rootOf } from "../journal/call-id.ts";
import type { Reply } from "../replay/mail-port.ts";
import type { PassivatedTurn } from "../replay/load-run.ts";
import { newJournal, withSpared } from "../replay/turn-journal.ts";
import type { TurnJournal, Wait } from "../replay/turn-journal.ts";
import type { Agent } from "../agent/agent.ts";
import type { OpenMachine } from "../agent/machine-port.ts";
import type { AcceptedRequest, ContinuedStart } from "../journal/records.ts";
import type { Recorded } from "../journal/recorder.ts";
import type { Mailbox } from "./mailbox.ts";
import { RecoveryAttempt, toContinuedStart, toPoisoned, versionMismatch } from "./recovery-attempt.ts";
import { runHandler } from "./run-handler.ts";
import { CANCELED } from "./run-ledger.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { RunContext } from "../run-context.ts";
import type { Inbox } from "../scheduler/inbox.ts";
import { isLong } from "../scheduler/open-rests.ts";
import { ActiveTurn } from "../turn/active-turn.ts";
import type { TurnListener } from "../turn/active-turn.ts";
import { toSegment, RequestIndexEntry } from "./request-index-entry.ts";
import type { TurnEnd } from "../turn/turn-end.ts";
import { Unreplayed } from "../turn/unreplayed.ts";

/** The wait that an answer is for, and its values. */
export interface GivenAnswer {
  readonly waitId?: number;
  readonly resumeId?: string;
  readonly values: JsonObject;
}

/**
 * The slot of the one started turn of a run. The turn is either active, with a running handler, or
 * passivated: only in the log, as after a restart. The handler of a passivated turn runs again when an
 * answer, a wake-up or a recovery needs it.
 */
export class TurnSlot implements TurnListener {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  readonly #mailbox: Mailbox;
  readonly #inbox: Inbox;
  #turn: ActiveTurn | undefined;
  #stopHandler: (() => void) | undefined;
  #passivated: TurnJournal | undefined;
  readonly #entry: RequestIndexEntry;
  /** Set from when the turn is to be continued until it ends. */
  #continuation: RecoveryAttempt | undefined;

  constructor(
    context: RunContext,
    ledger: RunLedger,
    mailbox: Mailbox,
    inbox: Inbox,
    passivated: PassivatedTurn | undefined,
  ) {
    this.#context = context;
    this.#ledger = ledger;
    this.#mailbox = mailbox;
    this.#inbox = inbox;
    this.#passivated = passivated?.journal;
    this.#entry = new RequestIndexEntry(context, ledger, {
      segment: passivated && toSegment(passivated.journal.lastResume, this.waits),
      wakeAt: passivated?.rest.wakeAt,
      waitingFor: passivated?.rest.waitingFor,
      asks: passivated?.rest.rests,
    });
    if (passivated === undefined) return;
    ledger.enter("start");
    if (passivated.waiting) ledger.enter("park");
  }

  /** The request of the started turn. */
  get requestId(): RequestId | undefined {
    return this.#ledger.started?.accepted.requestId;
  }

  /** Whether the turn is in memory, or about to be continued. */
  get active(): boolean {
    return this.#turn !== undefined || this.#continuation !== undefined;
  }

  /** Whether the turn is suspended: it only waits for something from outside. */
  get suspended(): boolean {
    return this.#turn?.quiescence.suspended ?? this.#entry.atRest;
  }

  /** Whether the turn is at rest, also in the index. */
  get atRest(): boolean {
    // Asked after every commit: most turns are not at rest.
    if (!this.#entry.atRest) return false;
    return this.#turn === undefined || this.#turn.quiescence.atRest === true;
  }

  /** Whether the turn can be passivated: it is at rest, and if it is in memory, it is so for long enough. */
  get quiet(): boolean {
    if (!this.atRest) return false;
    return this.#turn === undefined || isLong(this.wakeAt, this.#context.environment.now());
  }

  /** When a turn at rest must continue, in milliseconds since 1970, as in the index. */
  get wakeAt(): number | undefined {
    return this.#entry.wakeAt;
  }

  /** The open calls of the turn, if it is in memory. */
  get calls(): Iterable<OpenCall> {
    return this.#turn?.root.below() ?? [];
  }

  /** The open waits, oldest first. */
  get waits(): readonly Wait[] {
    return this.#turn?.waits.all ?? [...(this.#passivated?.waits.values() ?? [])];
  }

  /** Starts the turn of a request. Returns its encoded RequestStarted. */
  start(accepted: AcceptedRequest): string {
    const ledger = this.#ledger;
    const agent = this.#context.agents.find(accepted.agent);
    const speaker = this.#speakerOf(accepted);
    const started = ledger.start(speaker, accepted, agent?.version);
    ledger.enter("start");
    ledger.recorder.watched = false;
    const turn = this.#open(newJournal(agent?.version), { agent, speaker });
    if (turn === undefined) return started.text;
    // No agent code runs before the start of its turn is committed.
    const pass = (): void => this.#context.gate.pass(() => this.#run(turn));
    const { attachments = [] } = accepted.request;
    const committed = ledger.recorder.committed();
    const ready =
      attachments.length === 0
        ? committed
        : committed.then(() => this.#context.files.keep(attachments, ledger.runId));
    ready.then(pass, ignore);
    return started.text;
  }

  /** Starts the turn of the next waiting request, if there is one. */
  startNext(): void {
    const next = this.#mailbox.take();
    if (next) this.start(next);
    this.#ledger.save("due");
  }

  /**
   * Continues a passivated turn after a crash, or at its wake time if it is at rest. The recovery is recorded first, so
   * that a turn that crashes the process repeatedly is detected and ended. `alone` means that no other turn ran when the
   * process died.
   */
  recover({ alone, isDue }: { readonly alone: boolean; readonly isDue: boolean }): void {
    const ledger = this.#ledger;
    const open = ledger.started;
    if (open === undefined || this.#passivated === undefined || this.#continuation !== undefined) return;
    const { atRest, wakeAt } = this.#entry;
    if (atRest && !(isDue && wakeAt !== undefined)) return;
    const died = open.released !== true && !atRest;
    const start = toContinuedStart(open, { died, alone });
    const { requestId } = open.accepted;
    const error = toPoisoned(start);
    if (error) {
      this.#context.telemetry.fault(`request ${requestId} is poisoned`);
      this.#endPassivated({ finishReason: "error", result: null, output: null, error });
      return;
    }
    const run = (): void => this.#continue(start);
    this.#continuation = new RecoveryAttempt({ ledger, requestId, start, among: open.among ?? 0, run });
    this.#context.gate.continue(this.#continuation);
  }

  /** Whether an answer with this resume id was given before. */
  knowsAnswer(resumeId: string): boolean {
    return (this.#turn?.waits ?? this.#passivated)?.resumeIds.has(resumeId) ?? false;
  }

  /**
   * Answers an open wait. The handler must reach the wait first. `undefined` if the wait was closed in the
   * meantime.
   */
  async answer(callId: CallId, { values, resumeId }: GivenAnswer): Promise<Recorded | undefined> {
    const turn = this.#turn ?? this.#revive();
    const wait = await turn?.waits.when(callId);
    return wait && turn?.answer(wait, values, resumeId);
  }

  /** Whether a call of the turn waits for a message with a name. */
  awaits(name: string): boolean {
    if (this.#turn) return this.#turn.quiescence.receives.first(name) !== undefined;
    return [...(this.#passivated?.receives.values() ?? [])].includes(name);
  }

  /** Gives a new message to the turn, if it waits for one with this name. */
  messageArrived(name: string): void {
    const mayWake = this.#entry.atRest && this.#continuation === undefined;
    // A passivated turn takes the message when its handler makes the call again.
    if (this.#turn) this.#turn.messageArrived(name);
    else if (mayWake && this.awaits(name)) {
      this.#entry.wake();
      this.#revive();
    }
  }

  /** The machine that the turn runs; `undefined` if the turn has ended, or runs none. */
  async machine(): Promise<OpenMachine | undefined> {
    if (this.#turn === undefined && this.requestId !== undefined) {
      // It is continued first, so that a crash counts against it.
      if (this.#continuation !== undefined || !this.#entry.atRest)
        throw new AgentError("unavailable", "the turn is not continued yet; retry", { retryAfterS: 1 });
      if (this.#ledger.phase === "running") this.#entry.wake();
      this.#revive();
    }
    return this.#turn?.entrance.when();
  }

  /** Gives an answer of another actor to the turn that asked; does nothing if that turn has ended. */
  async reply(reply: Reply): Promise<void> {
    const number = this.#ledger.started?.turn;
    if (number === undefined || !isUnder(reply.callId, rootOf(number))) return;
    if (this.#turn === undefined) {
      // A turn that is to be continued is so first, so that a crash counts against it.
      if (!this.#entry.atRest || this.#continuation !== undefined)
        throw new AgentError("unavailable", "the turn is not continued yet; retry", { retryAfterS: 1 });
      this.#entry.wake();
      await this.#ledger.committed();
    }
    await (this.#turn ?? this.#revive())?.asks.reply(reply);
  }

  /** Cancels the turn. Returns its encoded RequestCompleted. */
  cancel(): string {
    const ledger = this.#ledger;
    const accepted = ledger.started?.accepted;
    if (accepted === undefined) throw new AgentError("conflict", "no turn is running");
    ledger.recorder.event(this.#speakerOf(accepted), { type: "CancelRequest" });
    const text = this.#turn ? this.#turn.end(CANCELED) : this.#endPassivated(CANCELED);
    if (text === undefined) throw new AgentError("conflict", `request ${accepted.requestId} has ended`);
    return text;
  }

  /** Ends the turn because its code failed outside any call. */
  crash(reason: string): void {
    this.#turn?.fail("agent_crashed", reason);
  }

  /** Adds the changes of the request's index entry to the batch that is about to be committed. */
  beforeCommit(): void {
    this.#continuation?.beforeCommit();
    if (this.#turn && !this.#turn.ended) this.#entry.beforeCommit(this.#turn);
  }

  /** Updates the request index after a change of what the turn waits for. */
  changed(turn: ActiveTurn): void {
    this.#entry.follow(turn);
  }

  received(callId: CallId, ids: readonly number[], name?: string): void {
    this.#ledger.change({ type: "Received", call_id: callId, ids, ...(name !== undefined && { name }) });
  }

  complete({ speaker, accepted }: ActiveTurn, end: TurnEnd): string {
    return this.#end(speaker, accepted, end);
  }

  /** Passivates the turn: it ends in memory only. */
  release(): void {
    this.#continuation?.end();
    this.#turn?.release();
    this.#turn = undefined;
    this.#stopHandler?.();
  }

  #speakerOf({ requestId, agent }: AcceptedRequest): Speaker {
    return createSpeaker({ run_id: this.#ledger.runId, request_id: requestId, agent, depth: 0 });
  }

  /** Creates the turn of the started request; ends the request if its agent cannot continue it. */
  #open(
    journal: TurnJournal,
    known: { readonly agent?: Agent | undefined; readonly speaker?: Speaker } = {},
  ): ActiveTurn | undefined {
    const context = this.#context;
    const { runId, recorder, started, state } = this.#ledger;
    if (started?.turn === undefined) return undefined;
    const { accepted, turn: number } = started;
    const { agent = context.agents.find(accepted.agent), speaker = this.#speakerOf(accepted) } = known;
    const error = journal.isNew && agent ? undefined : versionMismatch(accepted.agent, agent, journal);
    if (agent === undefined || error !== undefined) {
      this.#endPassivated({ finishReason: "error", result: null, output: null, ...(error && { error }) });
      return undefined;
    }
    const request = { ...started, turn: number };
    const { memory } = state;
    const inbox = this.#inbox;
    const { key, system } = this.#ledger;
    const options = {
      context,
      runId,
      key,
      request,
      agent,
      speaker,
      journal,
      memory,
      recorder,
      inbox,
      system,
      listener: this,
    };
    this.#turn = new ActiveTurn(options);
    this.#passivated = undefined;
    return this.#turn;
  }

  #run(turn: ActiveTurn): void {
    if (this.#turn !== turn) return;
    turn.startTime();
    turn.asks.resume();
    const stop = runHandler(turn);
    // The handler may have ended the turn already.
    if (this.#turn === turn) this.#stopHandler = stop;
    else stop();
  }

  /** Runs the handler of the passivated turn again. */
  #revive(): ActiveTurn | undefined {
    // The answer runs the handler instead of the planned continuation.
    this.#continuation?.end();
    const turn = this.#passivated && this.#open(this.#passivated);
    if (turn) this.#context.gate.pass(() => this.#run(turn));
    return turn;
  }

  /** Runs the handler of a turn again after its start is recorded. */
  #continue({ spared }: ContinuedStart): void {
    this.#entry.wake();
    const journal = this.#passivated;
    const turn = journal && this.#open(spared ? withSpared(journal) : journal);
    if (turn) this.#ledger.recorder.committed().then(() => this.#run(turn), ignore);
  }

  /** Ends a turn whose handler is not in memory, and with it the calls that the log has open. */
  #endPassivated(end: Omit<TurnEnd, "memory">): string | undefined {
    const { runId, recorder, started } = this.#ledger;
    const { accepted, turn } = started ?? {};
    if (accepted === undefined || turn === undefined) return undefined;
    const context = this.#context;
    const journal = this.#passivated;
    const address = { runId, requestId: accepted.requestId };
    if (journal) new Unreplayed({ context, address, recorder, journal }).cancel(rootOf(turn));
    return this.#end(this.#speakerOf(accepted), accepted, { ...end, memory: new Map() });
  }

  #end(speaker: Speaker, accepted: AcceptedRequest, end: TurnEnd): string {
    const { environment, telemetry } = this.#context;
    this.#ledger.recorder.watched = true;
    const text = this.#ledger.end(speaker, accepted, end);
    telemetry.completed(accepted.agent, end.finishReason, environment.now() - accepted.acceptedAt, {
      runId: this.#ledger.runId,
      requestId: accepted.requestId,
      ...(end.error && { error: end.error }),
    });
    this.#continuation?.end();
    this.#continuation = undefined;
    this.#stopHandler?.();
    this.#stopHandler = undefined;
    this.#turn = undefined;
    this.#passivated = undefined;
    this.#entry.clear();
    this.#ledger.enter("end");
    this.startNext();
    return text;
  }
}

/** A failed commit is reported to the run. */
function ignore(): void {}
