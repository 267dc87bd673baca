import { ownerOf } from "../../ports/principal.ts";
import { AgentError, isInstance } from "../../errors.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { Spent } from "../../ports/spending.ts";
import type { Budget } from "../../protocol/events/event-body.ts";
import type { HeldTurn, WaitingFor } from "../../protocol/answers/status.ts";
import type { HoldReason, TurnError } from "../../protocol/events/outcome-codes.ts";
import type { By } from "../../protocol/actors.ts";
import type { CallId, RequestId } from "../../protocol/ids.ts";
import { canonical } from "../../protocol/json.ts";
import { Actor } from "../actor/actor.ts";
import { isInterruption, isPassedOn, modelCodeOf } from "../actor/call-failure.ts";
import { isNotAccepted } from "../agent/accepted-operations.ts";
import { CHAT } from "../agent/agent.ts";
import type { Agent } from "../agent/agent.ts";
import type { TriedCode } from "../agent/candidate.ts";
import { errorMessage } from "../agent/error-message.ts";
import { RemoteFailure } from "../agent/remote-port.ts";
import { noChat, toAsked, toRemoteInvocation } from "../agent/resolve-operation.ts";
import { rootOf } from "../journal/call-id.ts";
import type { RecordedEvent } from "../journal/recorder.ts";
import type {
  AcceptedRequest,
  ContinuedStart,
  MachineState,
  PromptRecord,
  ReceivedRecord,
} from "../journal/records.ts";
import type { Reply } from "../replay/mail-port.ts";
import type { PassivatedTurn } from "../replay/load-run.ts";
import type { PromptMark } from "../replay/prompts.ts";
import { NEW_TURN, countCleanups, spare, waitsOf } from "../replay/turn-journal.ts";
import { readJournal } from "../replay/load-run.ts";
import type { CancelingTurn, OpenRequest } from "../replay/run-state.ts";
import { runCleanup } from "../actor/cleanup.ts";
import type { AgentMachine } from "../agent/machine-port.ts";
import type { Invocation } from "../agent/resolve-operation.ts";
import type { TurnJournal, LoggedWait } from "../replay/turn-journal.ts";
import type { RunContext } from "../run-context.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import type { Inbox } from "../scheduler/inbox.ts";
import { isLong } from "../scheduler/parked-calls.ts";
import { ActiveTurn } from "../turn/active-turn.ts";
import type { CleanupStep, NextTurn, TurnListener } from "../turn/active-turn.ts";
import type { TurnEnd } from "../turn/turn-end.ts";
import { UnreplayedCalls } from "../turn/unreplayed-calls.ts";
import { consequenceOf } from "./strategy.ts";
import { TurnCheckpoints } from "./turn-checkpoints.ts";
import { endRequest } from "./end-request.ts";
import { logAnswer, logReply } from "./held-input.ts";
import type { HeldLog } from "./held-input.ts";
import type { Mailbox } from "./mailbox.ts";
import { RecoveryAttempt, toContinuedStart, toPoisoned } from "./recovery-attempt.ts";
import { RequestIndexEntry, toSegment } from "./request-index-entry.ts";
import { CANCELED } from "./run-ledger.ts";
import { chooseCode, toMissing } from "./turn-code.ts";
import type { TurnCode } from "./turn-code.ts";
import type { WaitAnswer } from "./turn-input.ts";
import type { RunLedger } from "./run-ledger.ts";

/** The run that has a slot. */
export interface SlotListener {
  /**
   * The code of the turn does not fit its log: the run must be loaded again, and the turn is then tried with the next code, or
   * held.
   */
  unfit(tried: TriedCode): void;
  /** No turn works: all have ended, or the started one only waits. */
  rested(): void;
}

/** The open turn of a run that was loaded, if it has one, and its code. */
interface LoadedTurn {
  readonly passivated: PassivatedTurn | undefined;
  readonly code: TurnCode | undefined;
}

/**
 * The slot of the one started turn of a run. The turn is either active, with a running handler, or
 * passivated: only in the log, as after a restart. The handler of a passivated turn runs again when an
 * answer, a wake-up or a recovery needs it. A turn that no served code can continue is held: it is passivated, and
 * runs again only when it is tried with other code.
 */
export class TurnSlot implements TurnListener {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  readonly #mailbox: Mailbox;
  readonly #inbox: Inbox;
  readonly #listener: SlotListener;
  #turn: ActiveTurn | undefined;
  #stopHandler: (() => void) | undefined;
  #passivated: TurnJournal | undefined;
  /** The code of the passivated turn that was loaded; absent for a turn that starts here. */
  #code: TurnCode | undefined;
  readonly #entry: RequestIndexEntry;
  readonly #checkpoints: TurnCheckpoints;
  /** Set from when the turn is to be continued until it ends. */
  #continuation: RecoveryAttempt | undefined;
  /** Stops the timer of a turn that is done again after a pause. */
  #stopPause: (() => void) | undefined;
  /** The requests whose turns may run before their starts are committed. */
  #following: ReadonlySet<AcceptedRequest> = NONE;
  /** How many turns are each to wait for the commit of their start, because the process may have died of one of them. */
  #suspects = 0;

  constructor(
    context: RunContext,
    ledger: RunLedger,
    mailbox: Mailbox,
    inbox: Inbox,
    { passivated, code }: LoadedTurn,
    listener: SlotListener,
  ) {
    this.#context = context;
    this.#ledger = ledger;
    this.#mailbox = mailbox;
    this.#inbox = inbox;
    this.#listener = listener;
    this.#passivated = passivated?.journal;
    this.#code = code;
    this.#checkpoints = new TurnCheckpoints(context, ledger);
    this.#entry = new RequestIndexEntry(context, ledger, {
      segment: passivated && toSegment(passivated.journal.lastResume, this.waits),
      wakeAt: passivated?.entry.wakeAt,
      waitingFor: passivated?.entry.waitingFor,
      asks: passivated?.entry.parkedOn,
    });
    if (passivated === undefined) return;
    this.#suspects = FOLLOWING;
    ledger.rest(true);
    ledger.enter("start");
    if (this.held) ledger.enter("hold");
    else if (passivated.waiting) ledger.enter("wait");
  }

  /** Why no served code can continue the turn, if it is held. */
  get held(): HeldTurn | undefined {
    return this.#ledger.started?.hold;
  }

  /** Whether the turn is tried: its code has not done all again that the log has, and nothing is committed. */
  get isReplaying(): boolean {
    return this.#turn?.isReplaying === true;
  }

  /** The turn, if it is in memory. */
  get turn(): ActiveTurn | undefined {
    return this.#turn;
  }

  /** The journal of the turn, if it is passivated. */
  get passivated(): TurnJournal | undefined {
    return this.#passivated;
  }

  /** The request of the started turn. */
  get requestId(): RequestId | undefined {
    return this.#ledger.started?.accepted.requestId;
  }

  /** Whether the turn is suspended: it only waits for something from outside. */
  get suspended(): boolean {
    return this.#turn?.quiescence.suspended ?? (this.#entry.parked || this.held !== undefined);
  }

  /** Whether the turn is parked, also in the index. */
  get parked(): boolean {
    // Asked after every commit: most turns are not parked.
    if (!this.#entry.parked) return false;
    return this.#turn === undefined || this.#turn.quiescence.parked === true;
  }

  /**
   * Whether the turn can be passivated: it is parked, and if it is in memory, it is so for long enough. A turn whose
   * wake time has passed may have to wait until it is continued; one whose model is away waits for that.
   */
  get canPassivate(): boolean {
    if (!this.parked && this.held === undefined) return false;
    if (this.#turn === undefined) return this.#continuation === undefined;
    if (this.isReplaying) return false;
    return this.waitingFor?.kind === "model" || isLong(this.wakeAt, this.#context.environment.now());
  }

  /** What a turn at rest waits for if it does not wait for input, as in the index. */
  get waitingFor(): WaitingFor | undefined {
    return this.#entry.waitingFor;
  }

  /** When a parked turn must continue, in milliseconds since 1970, as in the index. */
  get wakeAt(): number | undefined {
    return this.#entry.wakeAt;
  }

  /** Whether a passivated turn may run again at once. Any other is to be continued first, so that a crash counts against it. */
  get mayWake(): boolean {
    return this.#entry.parked && this.#continuation === undefined;
  }

  /** Ends its hold, if it is held back before a trial, because the process closes properly. */
  endHold(): void {
    const { requestId } = this;
    if (requestId !== undefined && this.#continuation?.held === true)
      this.#ledger.change({ type: "Held", request_id: requestId, over: true });
  }

  /** The open calls of the turn, if it is in memory. */
  get calls(): Iterable<OpenCall> {
    return this.#turn?.root.below() ?? [];
  }

  /** The newest state of the machine of the open turn, if it runs one. */
  get machineState(): MachineState | undefined {
    const journal = this.#turn?.journal ?? this.#passivated;
    const number = this.#ledger.started?.turn;
    const logged = number === undefined ? undefined : journal?.scopes.get(rootOf(number))?.machine;
    return this.#turn?.machineState ?? logged;
  }

  /** The open waits, oldest first. */
  get waits(): readonly LoggedWait[] {
    return this.#turn?.parkedCalls.allWaits ?? (this.#passivated ? waitsOf(this.#passivated) : []);
  }

  /** Starts the turn of a request. Returns its encoded RequestStarted. */
  start(accepted: AcceptedRequest, isQueued: boolean = false): string {
    const ledger = this.#ledger;
    const agent = this.#context.agents.find(accepted.agent);
    const speaker = ledger.speakerOf(accepted);
    const started = ledger.start(speaker, accepted, agent && this.#context.agents.versionOf(agent), isQueued);
    ledger.enter("start");
    // A turn of a machine has checkpoints, for which its commits are counted.
    ledger.recorder.watched = agent?.machine !== undefined;
    const turn = this.#open(NEW_TURN, { agent, speaker });
    if (turn === undefined) return started.text;
    const { environment, files, gate } = this.#context;
    const pass = (): void => gate.pass(() => this.#run(turn));
    const { attachments = [] } = accepted.request;
    if (attachments.length === 0 && this.#following.has(accepted)) {
      // Everything else has its turn, too.
      environment.macrotask(pass);
      return started.text;
    }
    this.#following = this.#follows();
    const committed = ledger.recorder.committed();
    const ready =
      attachments.length === 0 ? committed : committed.then(() => files.keep(attachments, ledger.runId));
    ready.then(pass, ignore);
    return started.text;
  }

  /**
   * The requests whose turns may follow one whose code waits for the commit of its start. They are accepted in that commit or
   * before, so their turns can share later ones: a crash starts them again, like a turn that has done nothing. But a turn that
   * the process may have died of is to be in the log when its code runs.
   */
  #follows(): ReadonlySet<AcceptedRequest> {
    if (this.#suspects === 0) return this.#mailbox.size === 0 ? NONE : this.#mailbox.first(FOLLOWING);
    this.#suspects -= 1;
    return NONE;
  }

  /** Starts the turn of the next waiting request, if there is one. */
  startNext(): void {
    const next = this.#mailbox.take();
    if (next) this.start(next, true);
    this.#ledger.save("due");
  }

  /**
   * Continues a passivated turn after a crash, or at its wake time if it is parked; one in memory looks then whether the budgets that
   * it waits for have room. The recovery is recorded first, so
   * that a turn that crashes the process repeatedly is detected and ended. A turn that is held is tried again only if the
   * code that is served may have changed.
   */
  recover({ isDue, isRetry }: { readonly isDue: boolean; readonly isRetry: boolean }): void {
    const ledger = this.#ledger;
    const open = ledger.started;
    const journal = this.#passivated;
    if (isDue) this.#turn?.parkedCalls.look();
    if (open === undefined || journal === undefined || this.#continuation !== undefined) return;
    const { parked, wakeAt } = this.#entry;
    if (open.hold ? !isRetry : parked && !(isDue && wakeAt !== undefined)) return;
    const { requestId } = open.accepted;
    if (this.#code?.agent === undefined) {
      this.hold(this.#misfitOf(open.accepted));
      return;
    }
    const start = toContinuedStart(open, open.released !== true && !parked);
    const error = toPoisoned(start);
    if (error) {
      this.#context.telemetry.fault(`request ${requestId} is poisoned`);
      const hasCleanup = open.canceling === undefined && this.#hasCleanup(journal);
      if (hasCleanup) this.#beginCleanup({ finishReason: "error", error });
      else this.#endPassivated({ finishReason: "error", result: null, output: null, error });
      return;
    }
    const run = (): void => this.#continue(start);
    this.#continuation = new RecoveryAttempt({ ledger, requestId, start, among: open.among ?? 0, run });
    this.#context.gate.continue(this.#continuation);
  }

  /** Chooses the code of a turn that is held anew: it may have changed since the turn was tried with all of it. */
  async chooseAgain(): Promise<void> {
    const open = this.#ledger.started;
    const journal = this.#passivated;
    if (open?.hold === undefined || journal === undefined) return;
    const code = await chooseCode(this.#context.agents, open.accepted.agent, journal);
    if (this.#passivated !== undefined && this.#continuation === undefined) this.#code = code;
  }

  /** The code that the turn was tried with does not fit: tries the next code, or holds the turn if there is none. */
  tryNext(): void {
    const open = this.#ledger.started;
    if (open === undefined || this.#passivated === undefined) return;
    if (this.#code?.agent === undefined) {
      this.hold(this.#misfitOf(open.accepted));
      return;
    }
    // The try before it has come to its end.
    if (open.recoveries > 0) this.#ledger.change({ type: "Released", request_id: open.accepted.requestId });
    this.recover({ isDue: false, isRetry: true });
  }

  /** Holds the passivated turn, because no served code can continue it. Writes nothing if it is held for this reason. */
  hold(reason: HoldReason): void {
    const ledger = this.#ledger;
    const open = ledger.started;
    if (open === undefined) return;
    // What the turn does next is not the doing of a process that dies meanwhile.
    if (open.recoveries > 0) ledger.change({ type: "Released", request_id: open.accepted.requestId });
    if (open.hold && isSameReason(open.hold, reason)) return;
    ledger.hold(reason);
    this.#entry.hold();
    const { agent, requestId, request } = open.accepted;
    this.#context.telemetry.held?.(agent, reason, {
      runId: ledger.runId,
      requestId,
      owner: ownerOf(open.accepted),
      ...(request.trace && { trace: request.trace }),
    });
  }

  /** Ends the turn that is held, with the reason as its error. Returns its encoded RequestCompleted. */
  endHeld(by?: By): string | undefined {
    const { held } = this;
    if (held === undefined) return undefined;
    const { code, message } = held;
    return this.#endPassivated({
      finishReason: "error",
      result: null,
      output: null,
      error: { code, message },
      ...(by && { by }),
    });
  }

  /** Takes an answer to a wait of the turn that is held. `undefined` if the wait is not open. */
  answerHeld(callId: CallId, given: WaitAnswer): RecordedEvent | undefined {
    const log = this.#heldLog;
    const answered = log && logAnswer(log, callId, given);
    if (answered === undefined) return undefined;
    this.#passivated = answered.journal;
    this.#entry.answered(toSegment(answered.recorded.id, this.waits));
    this.#ledger.save();
    return answered.recorded;
  }

  /** Takes the answer of another actor to an ask of the turn that is held. */
  replyHeld(reply: Reply): void {
    const log = this.#heldLog;
    this.#passivated = (log && logReply(log, reply)) ?? this.#passivated;
  }

  get #heldLog(): HeldLog | undefined {
    const { requestId } = this;
    const journal = this.#passivated;
    return requestId && journal && { ledger: this.#ledger, requestId, journal };
  }

  /** Records in the index that the parked turn continues. */
  wake(): void {
    this.#entry.wake();
  }

  /** Runs the handler of the passivated turn again. */
  revive(): ActiveTurn | undefined {
    // The handler runs now, so the planned continuation is not needed.
    this.#continuation?.end();
    const turn = this.#passivated && this.#open(this.#passivated);
    if (turn) this.#context.gate.pass(() => this.#run(turn));
    return turn;
  }

  /** Cancels the turn. Returns its encoded RequestCompleted, or its RequestCanceling if it has cleanup steps. */
  cancel(by?: By): string {
    const ledger = this.#ledger;
    const accepted = ledger.started?.accepted;
    if (accepted === undefined) throw new AgentError("conflict", "no turn is running");
    ledger.recorder.event(ledger.speakerOf(accepted), { type: "CancelRequest", ...(by && { by }) });
    const journal = this.#passivated;
    const text = this.#turn
      ? this.#turn.end(CANCELED)
      : journal && this.#hasCleanup(journal)
        ? this.#beginCleanup({ finishReason: "canceled" })
        : this.#endPassivated(CANCELED);
    if (text === undefined) throw new AgentError("conflict", `request ${accepted.requestId} has ended`);
    return text;
  }

  /** Ends the started turn with an error, unless it is held, or its end is decided. */
  fail(error: TurnError): void {
    const open = this.#ledger.started;
    if (open === undefined || open.canceling || open.hold) return;
    if (this.#turn) {
      this.#turn.fail(error.code, error.message);
      return;
    }
    const journal = this.#passivated;
    if (journal && this.#hasCleanup(journal)) this.#beginCleanup({ finishReason: "error", error });
    else this.#endPassivated({ finishReason: "error", result: null, output: null, error });
  }

  /** Stops the actor: it takes no requests any more, and those that wait end. */
  stop(error: TurnError): void {
    const ledger = this.#ledger;
    const { agents } = this.#context;
    ledger.stop(error);
    const message = `the actor was stopped: ${error.message}`;
    const end = {
      finishReason: "error",
      result: null,
      output: null,
      error: { code: "stopped", message },
    } as const;
    for (let next = this.#mailbox.take(); next; next = this.#mailbox.take()) {
      const agent = agents.find(next.agent);
      ledger.endUnstarted(next, agent && agents.versionOf(agent), end);
    }
    ledger.save();
  }

  /** Ends the turn because its code failed outside any call. */
  crash(reason: string): void {
    this.#turn?.fail("agent_crashed", reason);
  }

  /** Adds the changes of the request's index entry to the batch that is about to be committed. */
  beforeCommit(): void {
    this.#continuation?.beforeCommit();
    const turn = this.#turn;
    if (turn === undefined || turn.ended) return;
    this.#entry.beforeCommit(turn);
    this.#checkpoints.follow(turn);
  }

  /** Updates the request index after a change of what the turn waits for. */
  changed(turn: ActiveTurn): void {
    this.#entry.follow(turn);
    this.#ledger.rest(turn.quiescence.suspended);
    if (turn.quiescence.suspended) this.#listener.rested();
    // A handler that ran again for a refused answer is parked as before: no commit follows that reports the run.
    if (this.canPassivate) this.#ledger.recorder.checkFlushed();
  }

  received(record: Omit<ReceivedRecord, "type">): void {
    this.#ledger.change({ type: "Received", ...record });
  }

  unfit(reason: HoldReason): void {
    const before = this.#code?.tried;
    const agent = this.#turn?.agent;
    const agents = [...(before?.agents ?? []), ...(agent ? [agent] : [])];
    this.#listener.unfit({ agents, reason: before?.reason ?? reason });
  }

  prompted(record: PromptRecord): PromptMark {
    return this.#ledger.prompted(record);
  }

  get spent(): Spent {
    return this.#ledger.spent;
  }

  raised(budget: Budget, amount: number): void {
    this.#ledger.raise(budget, amount);
  }

  continued(turn: ActiveTurn, { operation, input, usage, memory }: NextTurn): void {
    const { requestId, speaker } = turn;
    const { agents, environment, gate } = this.#context;
    this.#endContinuation();
    this.#entry.wake();
    // The next turn begins with the newest code.
    this.#code = undefined;
    const agent = agents.find(turn.agent.name) ?? turn.agent;
    const version = agents.versionOf(agent);
    this.#ledger.continueTurn(
      {
        type: "Continued",
        request_id: requestId,
        operation,
        input,
        ...(version !== undefined && { agent_version: version }),
        ...(usage && { usage }),
      },
      memory,
    );
    const next = this.#open(usage ? { ...NEW_TURN, usage } : NEW_TURN, { agent, speaker });
    if (next === undefined) return;
    // A loop of turns lets everything else have its turn, too.
    const run = (): void => environment.macrotask(() => gate.pass(() => this.#run(next)));
    this.#ledger.recorder.committed().then(run, ignore);
  }

  canceling(_turn: ActiveTurn, end: Omit<CancelingTurn, "id">): string {
    return this.#beginCleanup(end);
  }

  complete({ speaker, accepted }: ActiveTurn, end: TurnEnd): string {
    return this.#end(speaker, accepted, end);
  }

  /** Passivates the turn: it ends in memory only. */
  release(): void {
    this.#stopPause?.();
    this.#continuation?.end();
    this.#turn?.release();
    this.#turn = undefined;
    this.#stopHandler?.();
    this.#listener.rested();
  }

  /** Whether something is to be done before a turn that is only in the log ends without success. */
  #hasCleanup(journal: TurnJournal): boolean {
    const { accepted } = this.#ledger.started ?? {};
    const agent = this.#code?.agent ?? (accepted && this.#context.agents.find(accepted.agent));
    if (agent?.machine) return agent.machine.cleanup !== undefined && this.machineState !== undefined;
    return journal.cleanups.length > 0;
  }

  /**
   * Cancels the calls of the turn, records how it ends, and runs its cleanup steps: its code is read from the log anew, does
   * again what it has done, so that its steps are known, and goes no further. Returns the encoded RequestCanceling.
   */
  #beginCleanup(end: Omit<CancelingTurn, "id">): string {
    const ledger = this.#ledger;
    const { runId, recorder, started } = ledger;
    if (started?.turn === undefined) throw new AgentError("conflict", "no turn is running");
    const { requestId } = started.accepted;
    const root = rootOf(started.turn);
    const context = this.#context;
    const turn = this.#turn;
    const journal = turn?.journal ?? this.#passivated;
    const isOfMachine = this.machineState !== undefined;
    if (turn) turn.calls.cancelAll();
    else if (journal) {
      for (const { waitId } of this.waits) recorder.wait({ waitId, requestId, openedAt: 0, closed: true });
      new UnreplayedCalls({ context, runId, requestId, recorder, journal }).cancel(root);
    }
    const text = ledger.beginCleanup(end);
    if (isOfMachine) recorder.record({ type: "Cleanup", call_id: cleanupOf(root) });
    this.#entry.wake();
    this.#continuation?.end();
    this.#continuation = undefined;
    if (turn) {
      this.#code = { agent: turn.agent };
      turn.release();
      this.#turn = undefined;
    }
    this.#passivated = undefined;
    this.#stopHandler?.();
    this.#stopHandler = undefined;
    recorder.watched = true;
    void this.#loadCleanup(requestId);
    return text;
  }

  /** Reads the turn whose cleanup steps are to run from the log, and runs them. One that is held waits for its code. */
  async #loadCleanup(requestId: RequestId): Promise<void> {
    const { runId, recorder } = this.#ledger;
    const isMeant = (): boolean =>
      this.#turn === undefined && this.#passivated === undefined && this.requestId === requestId;
    try {
      await recorder.committed();
      const { started } = this.#ledger;
      if (started === undefined || !isMeant()) return;
      const { head, records } = recorder.cursor;
      const journal = await readJournal(this.#context.log, runId, started, { after: head, n: records });
      if (journal === undefined || !isMeant()) return;
      this.#passivated = journal;
      if (this.held === undefined) this.revive();
    } catch (error) {
      const { telemetry } = this.#context;
      telemetry.fault(
        `the cleanup steps of request ${requestId} begin with the next start of its run`,
        error,
      );
    }
  }

  /** Creates the turn of the started request; holds it if there is no code for it. */
  #open(
    journal: TurnJournal,
    known?: { readonly agent: Agent | undefined; readonly speaker: Speaker },
  ): ActiveTurn | undefined {
    const context = this.#context;
    const accepted = this.#ledger.started?.accepted;
    if (accepted === undefined) return undefined;
    const { agent, speaker } = known ?? {
      agent: this.#code?.agent,
      speaker: this.#ledger.speakerOf(accepted),
    };
    if (agent === undefined) {
      this.#continuation?.end();
      this.#continuation = undefined;
      this.#passivated = { ...journal, isNew: false };
      this.hold(this.#misfitOf(accepted));
      return undefined;
    }
    const inbox = this.#inbox;
    this.#ledger.rest(false);
    this.#turn = openTurn(context, this.#ledger, { agent, speaker, journal, inbox, listener: this });
    this.#passivated = undefined;
    return this.#turn;
  }

  /** Why there is no code for the turn. */
  #misfitOf({ agent }: AcceptedRequest): HoldReason {
    const code = this.#code;
    return code === undefined || code.agent !== undefined ? toMissing(agent) : code.misfit;
  }

  #run(turn: ActiveTurn): void {
    if (this.#turn !== turn) return;
    turn.startTime();
    if (!turn.journal.isNew) turn.startReplay();
    if (this.held) {
      this.#ledger.continueHeld();
      this.#entry.continueHeld();
    }
    turn.openAsks?.resume();
    const stop = runHandler(turn);
    // The handler may have ended the turn already.
    if (this.#turn === turn) this.#stopHandler = stop;
    else stop();
  }

  /** Runs the handler of a turn again after its start is recorded. */
  #continue({ spared }: ContinuedStart): void {
    this.#entry.wake();
    const journal = this.#passivated;
    if (journal && spared) spare(journal.tried);
    const turn = journal && this.#open(journal);
    if (turn) this.#ledger.recorder.committed().then(() => this.#rerun(turn), ignore);
  }

  /** Runs a continued handler again. A turn that then only waits does not end the process: its next start is its first. */
  #rerun(turn: ActiveTurn): void {
    this.#run(turn);
    const { requestId } = turn;
    turn.quiescence.whenOutside(() => {
      if (this.#turn !== turn || (this.#ledger.started?.recoveries ?? 0) === 0) return;
      this.#ledger.change({ type: "Released", request_id: requestId });
    });
  }

  /** Ends a turn whose handler is not in memory, and with it the calls that the log has open. */
  #endPassivated(end: Omit<TurnEnd, "memory">): string | undefined {
    const { runId, recorder, started } = this.#ledger;
    const { accepted, turn } = started ?? {};
    if (accepted === undefined || turn === undefined) return undefined;
    const context = this.#context;
    const journal = this.#passivated;
    const { requestId } = accepted;
    if (journal) new UnreplayedCalls({ context, runId, requestId, recorder, journal }).cancel(rootOf(turn));
    const { canceling } = started ?? {};
    const left = journal === undefined ? 0 : countCleanups(journal);
    const { finishReason, error = end.error } = canceling ?? end;
    return this.#end(this.#ledger.speakerOf(accepted), accepted, {
      ...end,
      finishReason,
      ...(error && { error }),
      ...(left > 0 && {
        cleanupErrors: [`${left} cleanup steps have not run: ${end.error?.message ?? finishReason}`],
      }),
      memory: new Map(),
    });
  }

  #end(speaker: Speaker, accepted: AcceptedRequest, end: TurnEnd): string {
    const ledger = this.#ledger;
    ledger.recorder.watched = true;
    const consequence = ledger.started && consequenceOf(ledger.started, end, ledger.state, ledger.now);
    if (consequence?.type === "restart" && end.error)
      return this.#restart({ ...end, error: end.error }, consequence.afterMs);
    const text = endRequest(this.#context, ledger, speaker, accepted, end);
    this.#endContinuation();
    this.#turn = undefined;
    this.#passivated = undefined;
    this.#code = undefined;
    this.#entry.clear();
    ledger.enter("end");
    if (consequence?.type === "stop" && end.error) this.stop(end.error);
    this.startNext();
    if (this.#turn === undefined) this.#listener.rested();
    return text;
  }

  /** Does a turn that has failed again: as the next turn of its request, with nothing of it. Returns its RequestRestarted. */
  #restart({ error, usage, memory }: TurnEnd & { readonly error: TurnError }, afterMs: number): string {
    const ledger = this.#ledger;
    const { agents, environment, gate, telemetry } = this.#context;
    const { requestId, request, agent: name } = (ledger.started as OpenRequest).accepted;
    const before = this.#turn?.agent ?? this.#code?.agent;
    for (const { waitId } of this.waits)
      ledger.recorder.wait({ waitId, requestId, openedAt: 0, closed: true });
    this.#endContinuation();
    this.#turn = undefined;
    this.#passivated = undefined;
    this.#entry.wake();
    const agent = agents.find(name) ?? before;
    const version = agent && agents.versionOf(agent);
    const now = ledger.now;
    const until = afterMs === 0 ? undefined : now + afterMs;
    const text = ledger.restart(
      {
        type: "Continued",
        request_id: requestId,
        operation: request.type === "ChatRequest" ? CHAT : request.operation,
        input: request.input,
        ...(version !== undefined && { agent_version: version }),
        ...(usage && { usage }),
        restarted: now,
      },
      { error, until },
      memory,
    );
    telemetry.fault(`request ${requestId} of agent ${name} is restarted: ${error.message}`);
    const journal = usage ? { ...NEW_TURN, usage } : NEW_TURN;
    this.#code = agent && { agent };
    if (until !== undefined) {
      this.#passivated = { ...journal, isNew: false };
      this.#entry.sleep(until);
      // The run may stay in memory.
      this.#stopPause = environment.alarm(until, () => this.recover({ isDue: true, isRetry: false }));
      return text;
    }
    const next = this.#open(journal);
    if (next === undefined) return text;
    const run = (): void => environment.macrotask(() => gate.pass(() => this.#run(next)));
    ledger.recorder.committed().then(run, ignore);
    return text;
  }

  /** The started turn has ended: it is not to be continued, and its handler stops. */
  #endContinuation(): void {
    this.#stopPause?.();
    this.#stopPause = undefined;
    this.#continuation?.end();
    this.#continuation = undefined;
    this.#stopHandler?.();
    this.#stopHandler = undefined;
  }
}

/** How many turns run before their starts are committed, at most. */
const FOLLOWING = 32;

const NONE: ReadonlySet<AcceptedRequest> = new Set();

function isSameReason(held: HeldTurn, reason: HoldReason): boolean {
  return canonical(held) === canonical({ ...reason, since: held.since });
}

/** A failed commit is reported to the run. */
function ignore(): void {}

/** What a turn is opened with besides the ledger of its run. */
interface OpenTurnOptions {
  readonly agent: Agent;
  readonly speaker: Speaker;
  readonly journal: TurnJournal;
  readonly inbox: Inbox;
  readonly listener: TurnListener;
}

/** Creates the turn of the started request of a run; `undefined` if none has started. */
export function openTurn(
  context: RunContext,
  { runId, key, recorder, started, state, actor }: RunLedger,
  { agent, speaker, journal, inbox, listener }: OpenTurnOptions,
): ActiveTurn | undefined {
  if (started?.turn === undefined) return undefined;
  const { memory } = state;
  return new ActiveTurn({
    context,
    runId,
    key,
    request: { ...started, turn: started.turn },
    agent,
    speaker,
    journal,
    memory,
    prompt: state.prompts?.[agent.name],
    recorder,
    inbox,
    run: actor,
    listener,
  });
}

/**
 * Runs the handler for a turn's request from its start; logged steps are replayed. Returns a function that stops the
 * handler.
 */
export function runHandler(turn: ActiveTurn): () => void {
  const { agent, accepted, root } = turn;
  const { request } = accepted;
  const isGone =
    request.type === "OperationRequest" &&
    !agent.remote &&
    !Object.hasOwn(agent.operations, request.operation);
  const asked = isGone ? undefined : askedOf(turn);
  if (asked === undefined) {
    // The operation existed when the request was accepted; the code has changed since.
    if (isGone) turn.hold(toGone(agent.name, request.operation));
    else turn.fail("unsupported_input", noChat(agent));
    return () => {};
  }
  const actor = new Actor(turn, agent, 0, root);
  if (turn.canceling && agent.machine) return cleanMachine(turn, agent.machine, asked);
  const stopCleanup = turn.canceling ? runCleanup(turn, asked) : undefined;
  const stop = actor.start(asked, {
    done({ text, output, truncated }) {
      const changed = actor.memory.changed();
      turn.end({
        finishReason: "success",
        result: text,
        ...(truncated && { truncated }),
        output,
        ...(changed !== undefined && { memory: new Map([[agent.name, changed]]) }),
      });
    },
    continued({ name: operation, input }) {
      const changed = actor.memory.changed();
      const memory = new Map(changed === undefined ? [] : [[agent.name, changed]]);
      turn.continueAs({ operation, input, memory });
    },
    failed(thrown, unfit) {
      // A chat that does not fit the operation fails here; every other input was checked before.
      const isChat = accepted.request.type === "ChatRequest" && asked.name !== CHAT;
      if (unfit && !isChat) turn.hold(toUnfitInput(errorMessage(thrown)));
      else if (unfit) turn.fail("unsupported_input", errorMessage(thrown));
      else if (isNotAccepted(thrown)) turn.fail("not_accepted", errorMessage(thrown));
      else if (isInstance(thrown, RemoteFailure)) turn.fail(thrown.turnCode, errorMessage(thrown));
      else if (isPassedOn(thrown)) turn.fail("agent_error", errorMessage(thrown));
      else
        turn.failWith(
          thrown,
          isInterruption(thrown) ? "interrupted" : (modelCodeOf(thrown) ?? "agent_error"),
        );
    },
  });
  if (stopCleanup === undefined) return stop;
  return () => {
    stop();
    stopCleanup();
  };
}

/** Runs the cleanup step of a machine, which itself does not run any more. */
function cleanMachine(turn: ActiveTurn, machine: AgentMachine, asked: Invocation): () => void {
  const { root, journal, replay } = turn;
  const { cleanup } = machine;
  const state = journal.scopes.get(root.callId)?.machine;
  replay.began();
  // The definition has no such step any more.
  const step: CleanupStep = (own) => (cleanup && state ? cleanup(state, own) : undefined);
  turn.cleanups.set(cleanupOf(root.callId), step);
  return runCleanup(turn, asked);
}

/** The call of the cleanup step of a machine: it is before all steps of the machine. */
function cleanupOf(root: CallId): CallId {
  return `${root}.0` as CallId;
}

function toGone(agent: string, operation: string): HoldReason {
  return {
    code: "nondeterministic",
    message: `agent ${agent} no longer has the operation ${operation}`,
    expected: `operation ${operation}`,
    found: "nothing",
  };
}

/** The input was checked when the request was accepted; the schema has changed since. */
function toUnfitInput(message: string): HoldReason {
  return { code: "nondeterministic", message: `the logged input does not fit: ${message}`, found: message };
}

/** What the request asks of the agent; `undefined` if the agent does not have that. */
function askedOf({ agent, accepted }: ActiveTurn): ReturnType<typeof toAsked> {
  if (agent.remote) return toRemoteInvocation(agent, accepted.request);
  try {
    return toAsked(agent, accepted.request);
  } catch {
    // The operation existed when the request was accepted; the code has changed since.
    return undefined;
  }
}
