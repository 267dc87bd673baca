import { AgentError, toAgentError } from "../../errors.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { By } from "../../protocol/actors.ts";
import type { TurnError } from "../../protocol/events/outcome-codes.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { strategyOf } from "../activation/strategy.ts";
import { Mailbox, isFromActor } from "../activation/mailbox.ts";
import type { Removed } from "../activation/mailbox.ts";
import { CANCELED } from "../activation/run-ledger.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import type { TurnCode } from "../activation/turn-code.ts";
import { TurnInput } from "../activation/turn-input.ts";
import type { WaitAnswer } from "../activation/turn-input.ts";
import { TurnSlot } from "../activation/turn-slot.ts";
import type { SlotListener } from "../activation/turn-slot.ts";
import type { Agent } from "../agent/agent.ts";
import { isTakenLater } from "../agent/overloaded.ts";
import { isLoggedRead, isMessageName } from "../agent/resolve-operation.ts";
import { TOPIC_AGENT } from "../agent/topic.ts";
import { SCHEDULE, inputOfSchedule } from "../journal/stored-schedule.ts";
import type { ScheduleBody } from "../journal/stored-schedule.ts";
import { WATCH } from "../agent/watchers.ts";
import type { LoadedActor, LoadedCall } from "../api.ts";
import { byteLength } from "../journal/json-limits.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { isNoticed } from "../replay/heading.ts";
import { checkKept, readEvent, readSender } from "../replay/accepted.ts";
import type { LoadedRun } from "../replay/load-run.ts";
import type { RunContext } from "../run-context.ts";
import { Inbox } from "../scheduler/inbox.ts";
import type { InboxMessage } from "../scheduler/inbox.ts";
import { checkApprover } from "../agent/approvers.ts";
import { findAnswer, pickWait } from "./answers.ts";
import { joinTurn, mayJoinTurn, toMachineRequest } from "./join-turn.ts";
import type { AskedMachine } from "./join-turn.ts";
import { Reads, writeRead } from "./reads.ts";
import { toRunReceipt } from "./messages.ts";
import type {
  IncomingMessage,
  PostMessage,
  PostsMessage,
  RecoverMessage,
  PostRefusal,
  RunReceipt,
  ScheduleMessage,
} from "./messages.ts";
import type { Outbox } from "./outbox.ts";
import type { Renewal } from "./renewal.ts";
import { Schedules } from "./schedules.ts";

/** What the requests of a run need from the run. */
export interface QueueParts {
  readonly outbox: Outbox;
  readonly renewal: Renewal;
  readonly listener: SlotListener;
  /** Called when a schedule is in the log that is due at a time. */
  due(at: number): void;
}

/** The requests of one run. Their turns run one after the other; answers and cancels are processed at once. */
export class RequestQueue {
  /** The slot of the started turn. */
  readonly slot: TurnSlot;
  readonly input: TurnInput;
  readonly reads: Reads;
  readonly schedules: Schedules;
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  readonly #mailbox: Mailbox;
  readonly #inbox: Inbox;
  readonly #outbox: Outbox;
  readonly #renewal: Renewal;
  /** The requests of other actors that are being accepted; created with the first. */
  #arriving: Map<RequestId, Promise<unknown>> | undefined;

  constructor(
    context: RunContext,
    ledger: RunLedger,
    { state, bodies, passivated }: LoadedRun,
    code: TurnCode | undefined,
    { outbox, renewal, listener, due }: QueueParts,
  ) {
    this.#context = context;
    this.#ledger = ledger;
    this.#outbox = outbox;
    this.#renewal = renewal;
    this.#mailbox = new Mailbox(context.limits, (name) => context.agents.find(name));
    for (const { accepted, turn } of state.open) if (turn === undefined) this.#mailbox.post(accepted);
    const unread = state.unread?.map((message, index) => ({ ...message, body: bodies[index] ?? null }));
    this.#inbox = new Inbox(context.limits, unread);
    this.slot = new TurnSlot(context, ledger, this.#mailbox, this.#inbox, { passivated, code }, listener);
    this.input = new TurnInput(ledger, this.slot);
    this.reads = new Reads(context, ledger, this.slot);
    this.schedules = new Schedules(context, ledger, { due, post: (message) => this.post(message) });
  }

  /**
   * Accepts a request. An operation that only reads is performed beside the turns; one of a state machine joins the open turn;
   * the turn of any other request starts at once, or when the turns before it have ended.
   */
  accept(accepted: AcceptedRequest): RunReceipt | Promise<RunReceipt> {
    const limits = this.#limitsOf(accepted);
    return limits === undefined ? this.#accept(accepted) : limits.then(() => this.#accept(accepted));
  }

  /** Has the limits of the owner at hand for a request of a client; `undefined` if they are, or if there are none. */
  #limitsOf({ sender, owner }: AcceptedRequest): Promise<unknown> | undefined {
    const { owners } = this.#context;
    if (owners === undefined || sender !== undefined) return undefined;
    const name = ownerOf({ owner });
    return owners.isFresh(owners.of(name)) ? undefined : owners.ready(name);
  }

  #accept(accepted: AcceptedRequest): RunReceipt | Promise<RunReceipt> {
    const agent = this.#context.agents.find(accepted.agent);
    if (agent !== undefined && isLoggedRead(agent, accepted.request)) return this.#acceptRead(accepted);
    const byKey = isByKey(accepted);
    const waits = byKey && this.#mayWait(accepted);
    return this.#renewal.concerns(byKey, waits)
      ? this.#renewal.check(byKey, waits ? this.#works : undefined).then(() => this.#acceptHere(accepted))
      : this.#acceptHere(accepted);
  }

  /** Whether a turn works, and neither waits nor sleeps. */
  readonly #works = (): boolean => this.slot.turn !== undefined && !this.slot.suspended;

  /** Whether a request only gets in line behind the turns before it. */
  #mayWait(accepted: AcceptedRequest): boolean {
    const { agent, request } = accepted;
    const { type, on_busy: onBusy } = request;
    if (onBusy === "reject" || onBusy === "interrupt") return false;
    // The turn that sent it ends only after it is accepted.
    if (this.#isOwn(accepted)) return false;
    // An operation of a machine can be for the turn that is open.
    return type === "ChatRequest" || this.#context.agents.find(agent)?.machine === undefined;
  }

  /** Whether the actor sent a request to itself. */
  #isOwn({ sender }: AcceptedRequest): boolean {
    return sender !== undefined && sender.server === undefined && sender.run_id === this.#ledger.runId;
  }

  /** Takes the unread messages of the run in which the actor was before. */
  carry(messages: readonly InboxMessage[]): void {
    for (const message of messages) this.#inbox.add(message);
  }

  #acceptHere(accepted: AcceptedRequest): RunReceipt | Promise<RunReceipt> {
    const asked = toMachineRequest(this.#context, this.#ledger, accepted);
    return asked === undefined ? this.#start(accepted) : this.#acceptForMachine(accepted, asked);
  }

  async #acceptForMachine(accepted: AcceptedRequest, asked: AskedMachine): Promise<RunReceipt> {
    const ledger = this.#ledger;
    if (ledger.phase !== "idle" && mayJoinTurn(accepted)) {
      const { head: after } = ledger.recorder;
      this.#checkLength();
      this.#outbox.checkRoom();
      const event = await joinTurn(this.#context, ledger, this.input, accepted, asked);
      if (event !== undefined)
        return toRunReceipt(ledger.runId, after, { requestId: accepted.requestId, event });
      // The turn has ended, and the run may have been removed or renewed after it.
      await this.#renewal.check(isByKey(accepted));
    }
    // A queued request is checked at its start.
    if (ledger.phase === "idle") asked.agent.machine?.check(asked, ledger.state.memory[accepted.agent]);
    return this.#start(accepted);
  }

  /** Performs an operation that only reads, and then writes it in one commit. */
  async #acceptRead(accepted: AcceptedRequest): Promise<RunReceipt> {
    const ledger = this.#ledger;
    const byKey = isByKey(accepted);
    if (this.#renewal.concerns(byKey)) await this.#renewal.check(byKey);
    const end = await this.reads.perform(accepted);
    // The run may have been removed or renewed meanwhile.
    if (this.#renewal.concerns()) await this.#renewal.check();
    ledger.checkThere();
    this.#checkLength();
    this.#outbox.checkRoom();
    const { requestId, request } = accepted;
    const { head: after } = ledger.recorder;
    this.#begin(accepted, request.key, request.input, request.request_metadata ?? {});
    const event = writeRead(this.#context, ledger, accepted, end);
    return toRunReceipt(ledger.runId, after, { requestId, event });
  }

  #start(accepted: AcceptedRequest): RunReceipt {
    const { requestId, request, agent } = accepted;
    const ledger = this.#ledger;
    const { telemetry } = this.#context;
    const { runId, phase } = ledger;
    const after = ledger.recorder.head;
    const removed = this.#admit(accepted);
    this.#begin(accepted, request.key, request.input, request.request_metadata ?? {});
    ledger.accept(accepted);
    for (const each of removed) this.#endRemoved(each, requestId);
    // The log refuses one that it has accepted before.
    ledger.recorder.committed().then(() => telemetry.accepted(agent), ignore);
    let event: string | undefined;
    if (phase === "idle") {
      event = this.slot.start(accepted);
    } else if (request.on_busy === "interrupt") {
      this.#mailbox.postFirst(accepted);
      this.slot.cancel();
    } else {
      this.#mailbox.post(accepted);
    }
    ledger.save();
    return toRunReceipt(runId, after, { requestId, event });
  }

  /** Takes a message. It starts no turn; the running turn or a later one reads it. */
  async receive(message: Omit<IncomingMessage, "kind">): Promise<RunReceipt> {
    const body = message.body as unknown as ScheduleBody;
    const then =
      message.name === SCHEDULE ? await this.schedules.planTold(body, ownerOf(message), message) : undefined;
    const { machine } = this.#context.agents.find(message.agent) ?? {};
    if (machine) await this.input.wakeFor(message.name, machine);
    const hasKey = message.key !== undefined;
    if (this.#renewal.concerns(hasKey)) await this.#renewal.check(hasKey);
    this.#ledger.checkThere();
    return this.#take(message, then);
  }

  #take(
    { messageId, agent, name, body, key, sender, hops, owner, by }: Omit<IncomingMessage, "kind">,
    then?: () => void,
  ): RunReceipt {
    const ledger = this.#ledger;
    const { runId, recorder } = ledger;
    const after = recorder.head;
    this.#checkLength();
    const served = this.#context.agents.find(agent);
    const isForRun = isNoticed({ agent, name });
    if (!isForRun) ledger.checkNotStopped();
    if (isForRun) this.#outbox.checkRoom();
    const bytes = byteLength(JSON.stringify(body));
    const hasReader = isForRun || this.input.awaits(name, body);
    const dropped = hasReader ? [] : this.#inbox.makeRoom({ name, body, bytes }, served);
    this.#begin({ agent, owner }, key, name === SCHEDULE ? inputOfSchedule(body) : null, {});
    if (dropped.length > 0) ledger.change({ type: "Dropped", ids: dropped });
    const speaker = ledger.speakerOf({ requestId: this.slot.requestId ?? null, agent });
    const { text: event, ...message } = ledger.receive(speaker, messageId, {
      name,
      body,
      ...(sender && { sender }),
      ...(hops && agent === TOPIC_AGENT && { hops }),
      ...(by && { by }),
    });
    then?.();
    if (!isForRun) {
      this.#inbox.add(message);
      this.input.messageArrived(name, body);
    }
    ledger.save();
    return toRunReceipt(runId, after, { requestId: messageId, event });
  }

  /** Changes the schedules of the run, which begins with that. */
  async changeSchedules({ agent, key, owner, by, change }: ScheduleMessage): Promise<RunReceipt> {
    const ledger = this.#ledger;
    const isLook = change.type === "look";
    const make = isLook ? undefined : await this.schedules.plan(change, ownerOf({ owner }), by);
    if (this.#renewal.concerns()) await this.#renewal.check();
    ledger.checkThere();
    if (isLook) await this.schedules.look(change);
    else if (make) {
      this.#begin({ agent, owner }, key, this.schedules.inputOf(agent, change), {});
      make();
    }
    ledger.save();
    return toRunReceipt(ledger.runId, ledger.recorder.head);
  }

  /** Accepts a request of another actor, or cancels it, unless that was done before. */
  async post(message: PostMessage): Promise<RunReceipt> {
    const { requestId } = message.accepted;
    // Of two deliveries at once, the second one finds what the first one has done.
    this.#arriving ??= new Map();
    for (let other = this.#arriving.get(requestId); other; other = this.#arriving.get(requestId))
      await other.catch(() => {});
    const work = this.#arrive(message);
    this.#arriving.set(requestId, work);
    try {
      return await work;
    } finally {
      this.#arriving.delete(requestId);
    }
  }

  /** Accepts several requests of one actor in their order; the first that may be accepted later ends that. */
  async postAll({ items }: PostsMessage): Promise<RunReceipt> {
    const ledger = this.#ledger;
    await ledger.committed();
    const entries = await Promise.all(
      items.map((accepted) => this.#context.log.lookup(accepted.requestId, ownerOf(accepted))),
    );
    const results: (PostRefusal | null)[] = [];
    for (const [index, accepted] of items.entries()) {
      try {
        // One that may be in the log, or is being accepted, is treated as if it came alone.
        const isNew = entries[index] === undefined && this.#arriving?.has(accepted.requestId) !== true;
        // oxlint-disable-next-line no-await-in-loop -- the order counts
        await (isNew ? this.#arriveNew({ kind: "post", accepted }) : this.post({ kind: "post", accepted }));
        results.push(null);
      } catch (thrown) {
        const { code, message, details } = toAgentError(thrown);
        results.push({ code, message, details });
        if (isTakenLater({ code, details })) break;
      }
    }
    return { ...toRunReceipt(ledger.runId, ledger.recorder.head), results };
  }

  async #arrive(post: PostMessage): Promise<RunReceipt> {
    return this.#arriveAs(post, await this.#find(post.accepted));
  }

  /** Accepts a request that is known to be new to the log. */
  #arriveNew(post: PostMessage): Promise<RunReceipt> {
    const { accepted } = post;
    const isOpen = this.#ledger.state.open.some((open) => open.accepted.requestId === accepted.requestId);
    return isOpen ? this.post(post) : this.#arriveAs(post, undefined);
  }

  async #arriveAs(
    { accepted, isCanceled = false, skipsIfBusy = false }: PostMessage,
    known: { readonly completed?: number | undefined } | undefined,
  ): Promise<RunReceipt> {
    const { requestId } = accepted;
    const ledger = this.#ledger;
    ledger.checkThere();
    if (known === undefined && accepted.escalated !== undefined)
      return this.#escalate(accepted, accepted.escalated);
    const message = toToldMessage(this.#context.agents.find(accepted.agent), accepted);
    if (message) {
      if (known === undefined && !isCanceled) return this.receive(message);
      return { ...toRunReceipt(ledger.runId, ledger.recorder.head, { requestId }), replayed: true };
    }
    if (known === undefined) {
      const isUnwanted = isCanceled || (skipsIfBusy && ledger.phase !== "idle");
      return isUnwanted ? this.#acceptCanceled(accepted) : this.accept(accepted);
    }
    if (known.completed !== undefined) {
      // The sender sends the request again because the reply has not arrived. A sender that cancels does not want the
      // reply.
      if (!isCanceled && accepted.callId !== undefined)
        ledger.recorder.outbox({ requestId, kind: "reply", event: known.completed });
    } else if (isCanceled) return this.cancel(requestId);
    return { ...toRunReceipt(ledger.runId, ledger.recorder.head, { requestId }), replayed: true };
  }

  /** An actor has failed whose failures are those of this one: what says so fails with its error, and so does the open turn. */
  async #escalate(accepted: AcceptedRequest, error: TurnError): Promise<RunReceipt> {
    const { requestId, agent, request } = accepted;
    const ledger = this.#ledger;
    if (this.#renewal.concerns(isByKey(accepted))) await this.#renewal.check(isByKey(accepted));
    ledger.checkNotStopped();
    this.#outbox.checkRoom();
    const after = ledger.recorder.head;
    this.#begin(accepted, request.key, request.input, {});
    const isIdle = ledger.phase === "idle";
    ledger.accept(accepted);
    const end = { finishReason: "error", result: null, output: null, error } as const;
    const event = ledger.endUnstarted(accepted, this.#versionOf(agent), end, { isQueued: !isIdle });
    // The actors that watch this one see to its failure.
    if (!isIdle) this.slot.fail(error);
    else if (strategyOf(accepted, ledger.state)?.then === "stop") this.slot.stop(error);
    ledger.save();
    return toRunReceipt(ledger.runId, after, { requestId, event });
  }

  /** Has the actor take requests again that its supervisor has stopped. */
  async unstop(by?: By): Promise<RunReceipt> {
    const ledger = this.#ledger;
    if (this.#renewal.concerns()) await this.#renewal.check();
    const { runId, state } = ledger;
    if (state.stopped === undefined)
      throw new AgentError("conflict", `run ${runId} is not stopped`, {
        hint: "only an actor that its supervisor has stopped is resumed; a question is answered with ResumeWithInput",
      });
    ledger.resume(by);
    return toRunReceipt(runId, ledger.recorder.head - 1);
  }

  /** The request with this id, if it was accepted before; throws `conflict` if another sender had sent it. */
  async #find({
    requestId,
    sender,
    owner,
  }: AcceptedRequest): Promise<{ readonly completed?: number | undefined } | undefined> {
    const { log } = this.#context;
    const open = this.#ledger.state.open.find(({ accepted }) => accepted.requestId === requestId);
    // A request that has just ended is found in the log once its end is committed.
    if (open === undefined) await this.#ledger.committed();
    // A new run has no owner yet.
    const entry = open ? undefined : await log.lookup(requestId, ownerOf({ owner }));
    if (entry === undefined && open === undefined) return undefined;
    if (entry) checkKept(entry);
    const first = open ? open.accepted.sender : entry && (await readSender(log, entry));
    if (first?.run_id !== sender?.run_id)
      throw new AgentError("conflict", `request_id ${requestId} was used before for a different request`);
    return { completed: entry?.completed };
  }

  /** Writes a request and its cancellation in one commit, so that a late copy of it starts nothing. */
  async #acceptCanceled(accepted: AcceptedRequest): Promise<RunReceipt> {
    const { requestId, agent } = accepted;
    const ledger = this.#ledger;
    if (this.#renewal.concerns()) await this.#renewal.check();
    const { callId: _, ...unwanted } = accepted;
    const after = ledger.recorder.head;
    const { input, key } = accepted.request;
    this.#begin(accepted, key, input, {});
    ledger.accept(unwanted);
    const event = ledger.cancelUnstarted(unwanted, this.#versionOf(agent), { isQueued: false });
    ledger.save();
    return toRunReceipt(ledger.runId, after, { requestId, event });
  }

  /** What the run has open, as operators see it; `undefined` for a run without an agent. */
  get open(): LoadedActor | undefined {
    const { agent, phase, updatedAt } = this.#ledger;
    const { expireMs } = (agent !== undefined && this.#context.agents.find(agent)) || {};
    const expires = phase === "idle" && expireMs !== undefined && updatedAt !== undefined;
    const expiresAt = expires ? updatedAt + expireMs : undefined;
    return toLoadedActor(this.#ledger, this.slot, this.#mailbox.size, expiresAt);
  }

  /** The number of requests that wait for their turn. */
  get queued(): number {
    return this.#mailbox.size;
  }

  /** Answers a wait of a request; without an id, of the started request. */
  async resume(requestId: RequestId | undefined, given: WaitAnswer): Promise<RunReceipt> {
    const ledger = this.#ledger;
    const { runId } = ledger;
    const { slot } = this;
    const asked = requestId ?? slot.requestId;
    if (asked === undefined) throw new AgentError("conflict", toNoWait(ledger));
    const isRepeated = given.resumeId !== undefined && this.input.knowsAnswer(given.resumeId);
    const open = asked === slot.requestId && !isRepeated ? pickWait(slot.waits, given) : undefined;
    if (open) checkApprover(open, given);
    const answered = open && (await this.input.answer(open.callId, given));
    if (answered) return toRunReceipt(runId, answered.id - 1, { requestId: asked, event: answered.text });
    // The commit of an earlier answer may still be pending.
    await ledger.committed();
    const earlier = await findAnswer(
      this.#context.log,
      { runId, requestId: asked, owner: ledger.owner },
      given,
    );
    return {
      ...toRunReceipt(runId, earlier.id - 1, { requestId: asked, event: earlier.text }),
      replayed: true,
    };
  }

  /** Cancels a started or queued request. */
  async cancel(requestId: RequestId, by?: By): Promise<RunReceipt> {
    const ledger = this.#ledger;
    const { runId } = ledger;
    const after = ledger.recorder.head;
    const queued = this.#mailbox.remove((accepted) => accepted.requestId === requestId);
    if (queued) {
      const event = ledger.cancelUnstarted(queued, this.#versionOf(queued.agent), { isQueued: true, by });
      ledger.save();
      return toRunReceipt(runId, after, { requestId, event });
    }
    if (this.slot.requestId === requestId) {
      const { canceling } = ledger.started ?? {};
      if (canceling === undefined)
        return toRunReceipt(runId, after, { requestId, event: this.slot.cancel(by) });
      // Its cleanup steps run already, and a second cancel does not stop them.
      await ledger.committed();
      const event = await readEvent(this.#context.log, { runId, requestId }, canceling.id);
      return toRunReceipt(runId, canceling.id - 1, { requestId, event });
    }
    // The request may have just ended. Its end must be committed before the caller looks for it.
    await ledger.committed();
    throw new AgentError("conflict", `request ${requestId} is not open`);
  }

  /** Ends the turn that is held, with the reason as its error. */
  async end(requestId: RequestId | undefined, by?: By): Promise<RunReceipt> {
    const ledger = this.#ledger;
    const { runId } = ledger;
    const after = ledger.recorder.head;
    const open = this.slot.requestId;
    const isMeant = open !== undefined && (requestId === undefined || requestId === open);
    const event = isMeant ? this.slot.endHeld(by) : undefined;
    if (event !== undefined && isMeant) return toRunReceipt(runId, after, { requestId: open, event });
    // Its end, or its continuation, may not be committed yet.
    await ledger.committed();
    throw new AgentError("conflict", `run ${runId} has no turn that is held`, {
      hint: "a turn that is not held ends with a CancelRequest",
    });
  }

  /** Continues the open request after a crash, or at its wake time. */
  recover({ isDue = false, isRetry = false }: RecoverMessage): RunReceipt {
    const ledger = this.#ledger;
    if (this.slot.requestId !== undefined) {
      this.slot.recover({ isDue, isRetry });
    } else if (this.#mailbox.size > 0) this.slot.startNext();
    return toRunReceipt(ledger.runId, ledger.recorder.head);
  }

  /** The version of the code that takes new requests of an agent. */
  #versionOf(name: string): string | undefined {
    const { agents } = this.#context;
    const agent = agents.find(name);
    return agent && agents.versionOf(agent);
  }

  /** Creates the row of a new run. */
  #begin(
    { agent, owner }: { readonly agent: string; readonly owner?: string | undefined },
    key: string | undefined,
    input: Json,
    metadata: JsonObject,
  ): void {
    const ledger = this.#ledger;
    if (ledger.begun) return;
    ledger.begin(agent, input, metadata, { config: this.#context.agents.configOf(agent), owner });
    if (key !== undefined) ledger.name(agent, key);
  }

  /** Throws `run_full` when the run has too many events. Those before the open turn are not read for it. */
  #checkLength(): void {
    const { runId, recorder, started } = this.#ledger;
    const { runEvents: limit } = this.#context.limits;
    if (recorder.head - (started?.base?.at.after ?? 0) < limit) return;
    throw new AgentError(
      "run_full",
      `run ${runId} has reached its limit of ${limit} events; start a new run`,
    );
  }

  /** Ends a waiting request that a new one has removed from the mailbox. */
  #endRemoved({ accepted, why }: Removed, by: RequestId): void {
    this.#ledger.endUnstarted(
      accepted,
      this.#versionOf(accepted.agent),
      why === "replaced"
        ? { ...CANCELED, error: { code: "canceled", message: `request ${by} has replaced it` } }
        : {
            finishReason: "error",
            result: null,
            output: null,
            error: { code: "overloaded", message: `the mailbox was full, and request ${by} took its place` },
          },
    );
  }

  /**
   * Throws unless the run accepts a request: `run_full`, `conflict` when it is busy, or `overloaded`. Returns the waiting
   * requests that it removes from the mailbox.
   */
  #admit(accepted: AcceptedRequest): readonly Removed[] {
    const { on_busy: onBusy } = accepted.request;
    const { runId, phase } = this.#ledger;
    this.#ledger.checkNotStopped();
    const { owners } = this.#context;
    // What actors ask each other for belongs to a turn that was admitted.
    if (accepted.sender === undefined) owners?.of(ownerOf(accepted)).checkOpenTurns();
    // An actor that goes on by itself has no moment in which it could be renewed.
    if (!this.#isOwn(accepted)) this.#checkLength();
    this.#outbox.checkRoom();
    if (phase === "idle" || onBusy === "interrupt") return [];
    if (onBusy === "reject") throw new AgentError("conflict", `run ${runId} is busy`);
    if (onBusy === undefined && phase === "waiting" && !isFromActor(accepted)) {
      const [wait] = this.slot.waits;
      throw new AgentError("conflict", `run ${runId} waits for input`, {
        hint: "answer it with ResumeWithInput, or set on_busy",
        facts: { wait_id: wait?.waitId ?? null, request_keys: wait?.questions ?? {} },
      });
    }
    return this.#mailbox.makeRoom(accepted);
  }
}

function ignore(): void {}

/** Why an answer that names no request is refused. */
function toNoWait({ runId, lastTurn }: RunLedger): string {
  const none = `no request of run ${runId} waits for input`;
  if (lastTurn?.finish_reason === undefined) return none;
  const { request_id: requestId, finish_reason: reason, error_code: code = reason } = lastTurn;
  return `${none}: its newest one, ${requestId}, has ended with ${code}`;
}

/** Whether a request names its actor and not its run. */
function isByKey({ request: { key, run_id: runId } }: AcceptedRequest): boolean {
  return key !== undefined && runId === undefined;
}

/** A tell as a message, if it names one; `undefined` for a request that starts a turn. */
function toToldMessage(
  agent: Agent | undefined,
  { requestId: messageId, request, callId, sender, owner, by }: AcceptedRequest,
): Omit<IncomingMessage, "kind"> | undefined {
  // Only a tell can be a message: an ask waits for the output of a turn.
  if (agent === undefined || callId !== undefined || request.type !== "OperationRequest") return undefined;
  const { operation: name, input: body, key, hops } = request;
  if (name !== WATCH && name !== SCHEDULE && !isMessageName(agent, name)) return undefined;
  return {
    messageId,
    agent: agent.name,
    name,
    body,
    ...(sender && { sender }),
    ...(key !== undefined && { key }),
    ...(hops && { hops }),
    ...(owner !== undefined && { owner }),
    ...(by && { by }),
  };
}

/** The number of calls of a turn that operators see. */
const SHOWN_CALLS = 1_000;

/** What a run has open, as operators see it; `undefined` for a run without an agent. */
function toLoadedActor(
  { runId, agent, key, phase, state, started }: RunLedger,
  slot: TurnSlot,
  queued: number,
  expiresAt: number | undefined,
): LoadedActor | undefined {
  if (agent === undefined) return undefined;
  const calls: LoadedCall[] = [];
  for (const { callId, kind, name } of slot.calls) {
    if (calls.length === SHOWN_CALLS) break;
    calls.push({ callId, kind, name });
  }
  return {
    runId,
    agent,
    ...(key !== undefined && { key }),
    status: phase,
    queued,
    unread: state.unread?.length ?? 0,
    ...(started && { requestId: started.accepted.requestId }),
    ...(expiresAt !== undefined && { expiresAt }),
    calls,
  };
}
