import { AgentError } from "../../errors.ts";
import { Owned } from "../../ports/event-log.ts";
import type { Claim, Cursor, EventLog, RemoveOptions } from "../../ports/event-log.ts";
import type { OutboxMark } from "../../ports/log-batch.ts";
import type { ClaimOptions } from "../../ports/log-queries.ts";
import type { WaitingFor } from "../../protocol/answers/status.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { KeyedMutex } from "../../shared/keyed-mutex.ts";
import { RunLedger, notWritten } from "../activation/run-ledger.ts";
import { chooseCode } from "../activation/turn-code.ts";
import type { TurnCode } from "../activation/turn-code.ts";
import type { AgentDirectory } from "../agent/agent-directory.ts";
import type { TriedCode } from "../agent/candidate.ts";
import type { LoadedActor } from "../api.ts";
import { Recorder } from "../journal/recorder.ts";
import type { RecorderListener } from "../journal/recorder.ts";
import { NO_AGENT } from "../journal/system-runs.ts";
import { loadRun } from "../replay/load-run.ts";
import type { LoadedRun } from "../replay/load-run.ts";
import { startedOf } from "../replay/run-state.ts";
import type { RunContext } from "../run-context.ts";
import { secretNamesIn } from "../secrets/config-secrets.ts";
import type { RunActor } from "../system/run-actor.ts";
import { dismissDeadLetter, sendDeadLetter } from "./dead-letters.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { findEffect } from "./find-effect.ts";
import { toRunReceipt, unknownMessage } from "./messages.ts";
import type { RunMessage, RunReceipt, UploadMessage } from "./messages.ts";
import { Outbox } from "./outbox.ts";
import { Renewal, takeOver } from "./renewal.ts";
import { RequestQueue } from "./request-queue.ts";
import { RunBeginning } from "./run-beginning.ts";
import type { Schedules } from "./schedules.ts";
import { recordNote } from "./run-updates.ts";
import type { Note } from "./run-updates.ts";

/** The host of a run. */
export interface RunListener {
  /**
   * Called after a commit that leaves nothing to commit, and when the run can be passivated without a further commit.
   */
  flushed(run: Run): void;
  /** A commit or a removal failed, or another process owns the run: it must be dropped and loaded again. */
  failed(run: Run, error: unknown): void;
  /** A schedule of the run is due at a time, in milliseconds since 1970. */
  due(at: number): void;
  /** It was removed with its schedules, of which the definition of its agent may have some. */
  removed(): void;
  /** The code of its turn does not fit the log: it must be dropped, and loaded again to try the next code. */
  unfit(run: Run, tried: TriedCode): void;
}

/** The owner of one run: processes its messages, runs its turns one after the other, and writes its log. */
export class Run implements RecorderListener {
  readonly runId: RunId;
  readonly #context: RunContext;
  readonly #listener: RunListener;
  readonly #ledger: RunLedger;
  readonly #requests: RequestQueue;
  readonly #outbox: Outbox;
  readonly #renewal: Renewal;
  readonly #beginning: RunBeginning;
  #messages = 0;
  /** The messages whose ids their clients chose; created with the first. */
  #arriving: KeyedMutex | undefined;
  /** Whether the history of another run is being copied into it. */
  #copying = false;
  #isRemoved = false;
  #hasCopiedTurn = false;
  #isUnfit = false;

  private constructor(
    context: RunContext,
    listener: RunListener,
    claim: Claim,
    loaded: LoadedRun & { readonly code: TurnCode | undefined },
  ) {
    this.runId = claim.cursor.runId;
    this.#context = context;
    this.#listener = listener;
    const recorder = new Recorder(context, claim.cursor, this);
    this.#ledger = new RunLedger(context, recorder, loaded.state, claim);
    this.#outbox = new Outbox(context, this.#ledger);
    this.#renewal = new Renewal(context, this.#ledger, this.#outbox);
    this.#beginning = new RunBeginning(context, this.#ledger);
    const rested = (): void => this.#renewal.rested();
    const unfit = (tried: TriedCode): void => {
      this.#isUnfit = true;
      this.#listener.unfit(this, tried);
    };
    const due = (at: number): void => this.#listener.due(at);
    const parts = { outbox: this.#outbox, renewal: this.#renewal, listener: { unfit, rested }, due };
    this.#requests = new RequestQueue(context, this.#ledger, loaded, loaded.code, parts);
  }

  /** Claims a run and rebuilds it from its log, without running anything yet. */
  static async load(
    context: RunContext,
    listener: RunListener,
    runId: RunId,
    { tried, ...options }: ClaimOptions & { readonly tried?: TriedCode | undefined } = {},
  ): Promise<Run> {
    const { log } = context;
    const claim = await claimRun(log, runId, options);
    try {
      const loaded = await loadRun(log, claim);
      const secrets = secretsOf(loaded);
      const { open } = loaded.state;
      const named = open.flatMap(({ accepted }) => accepted.request.attachments ?? []);
      if (named.length > 0) await context.files.keep(named, runId);
      if (secrets.length > 0) await context.secrets.hold(secrets);
      const code = await codeOf(context.agents, loaded, tried);
      const run = new Run(context, listener, claim, { ...loaded, code });
      run.#ledger.recorder.held(secrets);
      return run;
    } catch (error) {
      log.release(claim.cursor);
      throw error;
    }
  }

  /**
   * Whether the run can be passivated: it is idle or its turn is parked, and everything is committed.
   */
  get canPassivate(): boolean {
    const { recorder } = this.#ledger;
    if (this.#messages > 0 || !recorder.watched || !this.#outbox.isEmpty) return false;
    return (this.#ledger.phase === "idle" || this.#requests.slot.canPassivate) && recorder.isFlushed;
  }

  /** The order of its commits. */
  get commits(): Pick<Recorder, "commits" | "cursor" | "provesOwner"> {
    return this.#ledger.recorder;
  }

  /** When its turn must continue if it is passivated while parked, in milliseconds since 1970. */
  get wakeAt(): number | undefined {
    return this.#requests.slot.wakeAt;
  }

  /** What its turn at rest waits for if it does not wait for input. */
  get waitingFor(): WaitingFor | undefined {
    return this.#requests.slot.waitingFor;
  }

  /** Whether a turn has started and the run does not wait for input. */
  get working(): boolean {
    return this.#ledger.phase === "running";
  }

  /** Whether its turn works. One that waits to be continued does not. */
  get busy(): boolean {
    const { turn, suspended } = this.#requests.slot;
    return this.working && turn !== undefined && !suspended;
  }

  /** Whether a removal was tried. The run in memory may then differ from the log and must be dropped. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /** Whether it must be dropped, and loaded again to run the turn that it has copied. */
  get hasCopiedTurn(): boolean {
    return this.#hasCopiedTurn;
  }

  /** Whether it was dropped because the code of its turn did not fit: a message to it had no effect. */
  get isUnfit(): boolean {
    return this.#isUnfit;
  }

  /** Tries its turn with the next code, or holds it, because the code that has run does not fit the log. */
  async tryNext(): Promise<void> {
    this.#requests.slot.tryNext();
    await this.#ledger.committed();
  }

  /** The run as an actor of XState. */
  get actor(): RunActor {
    return this.#ledger.actor;
  }

  /** The number of requests in its mailbox. */
  get queued(): number {
    return this.#requests.queued;
  }

  /** What the run has open, as operators see it. */
  get open(): LoadedActor | undefined {
    return this.#requests.open;
  }

  beforeCommit(): void {
    this.#requests.slot.beforeCommit();
  }

  flushed(): void {
    this.#listener.flushed(this);
  }

  posted(marks: readonly OutboxMark[]): void {
    this.#outbox.add(marks);
  }

  failed(error: unknown): void {
    this.#listener.failed(this, error);
  }

  /** Puts a message into the mailbox of the run's actor, and answers it when the result is committed. */
  deliver(message: RunMessage, isRepeated = false): Promise<RunReceipt> {
    return this.#ledger.actor.deliver(message.kind, () => this.#process(message, isRepeated));
  }

  async #process(message: RunMessage, isRepeated: boolean): Promise<RunReceipt> {
    this.#messages += 1;
    try {
      const reply = await this.#answer(message, isRepeated);
      // A removed run has nothing to commit, and an operation that reads waits for the commits that it needs.
      if (!this.isRemoved && message.kind !== "read") await this.#ledger.committed();
      return reply;
    } finally {
      this.#messages -= 1;
    }
  }

  /** Ends the turn of a request because its code threw outside its handler. */
  crash(requestId: RequestId, reason: string): void {
    if (this.#requests.slot.requestId === requestId) this.#requests.slot.crash(reason);
  }

  /**
   * Records a proper end of the process, so that the continuation of the turn does not count as a recovery.
   */
  async flush({ isFailure }: { readonly isFailure: boolean }): Promise<void> {
    const { turn, parked, requestId, isReplaying } = this.#requests.slot;
    // What it does has no effect yet, so it has nothing to leave.
    if (isReplaying) return;
    // A turn that waits to be continued has not run: what the process before has left in the log stays as it is.
    const isReleased = !isFailure && turn !== undefined && this.working && !parked;
    if (requestId !== undefined && isReleased)
      this.#ledger.change({ type: "Released", request_id: requestId, at: this.#ledger.now });
    if (!isFailure) this.#requests.slot.endHold();
    this.#outbox.flush();
    await this.#ledger.committed();
  }

  /** Passivates the run. An open turn continues from the log, in this process or another one. */
  release(): void {
    const { recorder } = this.#ledger;
    this.#ledger.enter("close");
    this.#outbox.stop();
    this.#requests.slot.release();
    recorder.stop(() => leftMemory(this.runId));
    this.#context.secrets.release(recorder.secrets);
    this.#context.log.release(recorder.cursor);
  }

  /**
   * Continues what an owner that is gone has left in a run that was just loaded: its open request, and its outbox.
   */
  continue(): void {
    if (!this.#ledger.begun) return;
    this.#requests.recover({ kind: "recover" });
    this.#outbox.recover().catch((error: unknown) => {
      this.#context.telemetry.fault(`the outbox of run ${this.runId} could not be read`, error);
    });
  }

  /** A message that may have had its effect before is answered as the first time, if it had. */
  #answer(message: RunMessage, isRepeated: boolean): Promise<RunReceipt> {
    const id = this.#context.log.node === undefined ? undefined : namedId(message);
    if (id === undefined) return isRepeated ? this.#answerOnce(message) : this.#perform(message);
    // Other nodes may send the same one at the same time.
    this.#arriving ??= new KeyedMutex();
    return this.#arriving.run(id, () => this.#answerOnce(message));
  }

  async #answerOnce(message: RunMessage): Promise<RunReceipt> {
    this.#ledger.checkThere();
    const known = await findEffect(this.#context.log, this.#ledger, message);
    if (known) return known;
    const reply = await this.#perform(message);
    await this.#ledger.committed();
    return reply;
  }

  async #perform(message: RunMessage): Promise<RunReceipt> {
    this.#ledger.checkThere();
    switch (message.kind) {
      case "turn":
        return this.#requests.accept(message.accepted);
      case "post":
        return this.#requests.post(message);
      case "letter":
        return this.#handleLetter(message);
      case "posts":
        return this.#requests.postAll(message);
      case "read":
        if (this.#renewal.concerns()) await this.#renewal.check();
        return this.#requests.reads.answer(message.accepted);
      case "reply":
        await this.#requests.input.reply(message);
        return toRunReceipt(this.runId, this.#ledger.recorder.head);
      case "redeliver":
        await this.#outbox.recover();
        return toRunReceipt(this.runId, this.#ledger.recorder.head);
      case "resume":
        if (message.requestId === undefined && this.#renewal.concerns()) await this.#renewal.check();
        return this.#requests.resume(message.requestId, message);
      case "cancel":
        return this.#requests.cancel(message.requestId, message.by);
      case "end":
        return this.#requests.end(message.requestId, message.by);
      case "unstop":
        return this.#requests.unstop(message.by);
      case "message":
        return this.#requests.receive(message);
      case "schedules":
        return this.#requests.changeSchedules(message);
      case "uploaded":
        return this.#takeUpload(message);
      case "configure":
        return this.#recordUnlessRenewed(message);
      case "continue":
        this.#requests.carry(await takeOver(this.#context, this.#ledger, message));
        return toRunReceipt(this.runId, this.#ledger.recorder.head);
      case "create":
        return toRunReceipt(this.runId, await recordNote(this.#context, this.#ledger, message));
      case "fork":
        return this.#copy(message);
      case "unnamed":
        this.#ledger.unname();
        this.#requests.schedules.forget();
        return toRunReceipt(this.runId, this.#ledger.recorder.head);
      case "recover":
        this.#ledger.recorder.audit("retry", message.by);
        if (message.isRetry === true) await this.#requests.slot.chooseAgain();
        return this.#requests.recover(message);
      case "shorten":
        await this.#beginning.shorten(message.upTo);
        return toRunReceipt(this.runId, this.#ledger.recorder.head);
      case "remove":
        return this.#remove(message);
      default: {
        const never: never = message;
        throw unknownMessage(this.runId, never);
      }
    }
  }

  async #handleLetter({ requestId, isDismissed, by }: LetterMessage): Promise<RunReceipt> {
    const { log } = this.#context;
    const { head } = this.#ledger.recorder;
    this.#ledger.recorder.audit(isDismissed ? "dismiss" : "resend", by, { requestId });
    if (isDismissed) {
      await dismissDeadLetter(log, this.#ledger, requestId);
      return toRunReceipt(this.runId, head, { requestId });
    }
    const accept = (accepted: AcceptedRequest): Promise<RunReceipt> =>
      this.#requests.post({ kind: "post", accepted });
    const id = await sendDeadLetter(this.#context, this.#ledger, requestId, accept);
    return toRunReceipt(this.runId, head, { requestId: id });
  }

  /** Records a note, unless the run has been renewed. */
  async #recordUnlessRenewed(note: Note): Promise<RunReceipt> {
    if (this.#renewal.concerns()) await this.#renewal.check();
    return toRunReceipt(this.runId, await recordNote(this.#context, this.#ledger, note));
  }

  /** Has the run refer to a file of a client. The run may be removed or renewed while the file is attached. */
  async #takeUpload(message: UploadMessage): Promise<RunReceipt> {
    if (this.#renewal.concerns()) await this.#renewal.check();
    this.#ledger.checkThere();
    await this.#context.files.attach([message.artifact.artifactId], this.runId);
    this.#ledger.checkThere();
    return this.#recordUnlessRenewed(message);
  }

  async #copy(message: RunMessage & { readonly kind: "fork" }): Promise<RunReceipt> {
    this.#copying = true;
    try {
      const receipt = toRunReceipt(this.runId, await recordNote(this.#context, this.#ledger, message));
      this.#hasCopiedTurn = message.turn !== undefined;
      return receipt;
    } finally {
      this.#copying = false;
    }
  }

  /** Removes an idle run with its log. The run must be dropped afterwards. */
  async #remove({ reason, by }: RemoveMessage): Promise<RunReceipt> {
    const { recorder } = this.#ledger;
    do {
      if (reason === "remains" && this.#ledger.agent !== undefined && this.#ledger.agent !== NO_AGENT)
        throw new AgentError("conflict", `the copy of run ${this.runId} has ended`);
      if (reason === "expired") await checkRemovable(this.#ledger, this.#requests.schedules);
      if (reason === "retention") await this.#leaveHistory();
      if (this.#copying) throw new AgentError("conflict", `run ${this.runId} is being copied`);
      if (this.#ledger.phase !== "idle") {
        const open = this.#ledger.started?.accepted.requestId;
        throw new AgentError("conflict", `run ${this.runId} has an open request`, {
          hint: open === undefined ? "try again later" : `cancel ${open}, or wait for its end`,
        });
      }
      if (!(await this.#outbox.hasArrived()))
        throw new AgentError("conflict", `run ${this.runId} has a reply that has not arrived`, {
          hint: "try again later",
        });
      await this.#ledger.committed();
      // A request may have been accepted during the commit.
    } while (!recorder.isFlushed || this.#ledger.phase !== "idle");
    this.#ledger.checkThere();
    const { areDefined } = this.#requests.schedules;
    try {
      const erases = reason === "erasure" || this.#ledger.isErasing;
      this.#ledger.leave();
      // Before its files the run is hidden, in a commit: from then on the removal is final, and an interrupted one is finished when the log can
      // be written again. What retention removes without files is there as before, or removed as a whole.
      const isByTime = (reason === "retention" || reason === "expired") && !erases;
      const isHidden = !isByTime || (await this.#context.files.has(this.runId));
      if (isHidden) this.#ledger.hide({ by, erases });
      await this.#ledger.committed();
      await this.#removeContent(recorder.cursor, { erases, isHidden });
      if (areDefined) this.#listener.removed();
    } finally {
      this.#isRemoved = true;
    }
    return toRunReceipt(this.runId, recorder.head);
  }

  /** Has the actor of the run continue in a new one: retention removes what has happened, and keeps the actor. */
  async #leaveHistory(): Promise<void> {
    const { key, phase, state } = this.#ledger;
    if (phase !== "idle") return;
    if (key === undefined && state.renewedTo === undefined)
      await checkRemovable(this.#ledger, this.#requests.schedules);
    else if (!(await this.#renewal.leaveHistory()) && this.#ledger.key !== undefined)
      throw new AgentError("conflict", `run ${this.runId} has nothing but its actor, or is stopped`);
  }

  async #removeContent(
    cursor: Cursor,
    { isHidden, ...options }: RemoveOptions & { readonly isHidden: boolean },
  ): Promise<void> {
    const { files, log, secrets } = this.#context;
    try {
      if (isHidden) await files.remove(this.runId);
      await secrets.collect(await log.remove(cursor, options));
      // Those that were still being stored. Before, they could be those of another owner of the run.
      if (!isHidden) await files.remove(this.runId);
    } catch (cause) {
      this.failed(cause);
      throw notWritten(cause);
    }
  }
}

/** The code for the open turn of a loaded run, if it has one. */
async function codeOf(
  agents: AgentDirectory,
  { state, passivated }: LoadedRun,
  tried: TriedCode | undefined,
): Promise<TurnCode | undefined> {
  const started = startedOf(state);
  if (started === undefined || passivated === undefined) return undefined;
  return chooseCode(agents, started.accepted.agent, passivated.journal, tried);
}

/** The id that the client of a message chose. */
function namedId(message: RunMessage): RequestId | undefined {
  if (message.kind === "turn" && message.hasOwnId === true) return message.accepted.requestId;
  return message.kind === "message" && message.hasOwnId === true ? message.messageId : undefined;
}

const NO_SECRETS: readonly string[] = [];

/** The secrets that the configurations of a run refer to: its own, and those that its turn has called agents with. */
export function secretsOf({ state, passivated }: LoadedRun): readonly string[] {
  if (state.config === undefined && state.open.length === 0 && passivated === undefined) return NO_SECRETS;
  const configs = [state.config?.args, ...state.open.map(({ config }) => config?.args)];
  const called = [...(passivated?.journal.calls.values() ?? [])].map(({ config }) => config);
  return [...configs, ...called].flatMap((args) => (args === undefined ? [] : secretNamesIn(args)));
}

/** Claims a run and converts errors of the log. */
async function claimRun(log: EventLog, runId: RunId, options: ClaimOptions | undefined): Promise<Claim> {
  try {
    return await log.claim(runId, options);
  } catch (cause) {
    throw cause instanceof Owned ? cause : notWritten(cause);
  }
}

/** Created only for waiting callers, because an error costs more than a passivation. */
function leftMemory(runId: RunId): AgentError {
  return new AgentError("unavailable", `run ${runId} left memory; retry`, { retryAfterS: 1 });
}

type LetterMessage = RunMessage & { readonly kind: "letter" };

type RemoveMessage = RunMessage & { readonly kind: "remove" };

/** Throws `conflict` for an idle run that retention keeps, because its agent still needs what only this run has. */
async function checkRemovable({ runId, state }: RunLedger, schedules: Schedules): Promise<void> {
  if ((state.unread ?? []).length > 0) throw new AgentError("conflict", `run ${runId} has unread messages`);
  await schedules.checkNone();
}
