import { AgentError } from "../../errors.ts";
import type { RequestId } from "../../protocol/ids.ts";
import { admit, Mailbox } from "./mailbox.ts";
import { findAnswer, pickWait } from "./resume.ts";
import type { GivenAnswer, TurnSlotOptions } from "../activation/turn-slot.ts";
import type { LoadedRun } from "../replay/load-run.ts";
import { toReply } from "./messages.ts";
import type { Reply } from "./messages.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { TurnSlot } from "../activation/turn-slot.ts";

/** What a run's requests are answered with. */
export interface RequestQueueOptions extends Omit<TurnSlotOptions, "ended"> {
  /** Writes the run's row as it is now, with a snapshot where that is asked for. */
  save(snapshot?: boolean): void;
}

/** The requests of one run: each has its turn, one after the other, and answers and cancels overtake them. */
export class RequestQueue {
  /** The place of the turn that is under way. */
  readonly slot: TurnSlot;
  readonly #options: RequestQueueOptions;
  readonly #mailbox: Mailbox<AcceptedRequest>;

  constructor(options: RequestQueueOptions, { state, passivated }: LoadedRun) {
    this.#options = options;
    this.#mailbox = new Mailbox(options.context.limits.queuedRequests);
    for (const { accepted, turn } of state.open) if (turn === undefined) this.#mailbox.post(accepted);
    this.slot = new TurnSlot({ ...options, ended: () => this.#startNext() }, passivated);
  }

  /** Takes a request, whose turn starts at once or when those before it have ended. */
  accept(accepted: AcceptedRequest): Reply {
    const { requestId, request, agent } = accepted;
    const { context, ledger, lifecycle, save } = this.#options;
    const { agents, limits, telemetry } = context;
    const { runId } = ledger;
    const { state } = lifecycle;
    const after = ledger.recorder.head;
    const place = { runId, head: after, limit: limits.runEvents, state };
    admit({ ...place, slot: this.slot, mailbox: this.#mailbox }, request);
    if (!ledger.begun)
      ledger.begin(agent, request.input, request.request_metadata ?? {}, agents.configOf(agent));
    ledger.accept(accepted);
    telemetry.accepted(agent);
    let event: string | undefined;
    if (state === "idle") {
      event = this.slot.start(accepted);
    } else if (request.on_busy === "interrupt") {
      this.#mailbox.postFirst(accepted);
      this.slot.cancel();
    } else {
      this.#mailbox.post(accepted);
    }
    save();
    return toReply(runId, after, { requestId, event });
  }

  /** Answers what a request waits for; without its id, the one that is under way. */
  async resume(requestId: RequestId | undefined, given: GivenAnswer): Promise<Reply> {
    const { context, ledger } = this.#options;
    const { runId } = ledger;
    const { slot } = this;
    const asked = requestId ?? slot.requestId;
    if (asked === undefined) throw new AgentError("conflict", `no request of run ${runId} waits for input`);
    const isRepeated = given.resumeId !== undefined && slot.knowsAnswer(given.resumeId);
    const open = asked === slot.requestId && !isRepeated ? pickWait(slot.waits, given) : undefined;
    const answered = open && (await slot.answer(open.callId, given));
    if (answered) return toReply(runId, answered.id - 1, { requestId: asked, event: answered.text });
    // The answer before this one may still be on its way into the log.
    await ledger.committed();
    const earlier = await findAnswer(context.log, runId, asked, given);
    return {
      ...toReply(runId, earlier.id - 1, { requestId: asked, event: earlier.text }),
      replayed: true,
    };
  }

  /** Ends a request, under way or queued. */
  async cancel(requestId: RequestId): Promise<Reply> {
    const { context, ledger, save } = this.#options;
    const { runId } = ledger;
    const after = ledger.recorder.head;
    const queued = this.#mailbox.remove((accepted) => accepted.requestId === requestId);
    if (queued) {
      const event = ledger.cancelQueued(queued, context.agents.find(queued.agent)?.version);
      save();
      return toReply(runId, after, { requestId, event });
    }
    if (this.slot.requestId === requestId)
      return toReply(runId, after, { requestId, event: this.slot.cancel() });
    // It may just have ended: whoever looks into the log for its end has to find it there.
    await ledger.committed();
    throw new AgentError("conflict", `request ${requestId} is not open`);
  }

  /** Goes on with what the log has open, after a crash. */
  recover(): Reply {
    const { ledger, lifecycle } = this.#options;
    if (this.slot.requestId === undefined) this.#startNext();
    else if (lifecycle.state === "working") this.slot.recover();
    return toReply(ledger.runId, ledger.recorder.head);
  }

  /** Starts the next request, if one is queued. */
  #startNext(): void {
    const next = this.#mailbox.take();
    if (next) this.slot.start(next);
    this.#options.save(true);
  }
}
