import { toTimestamp } from "../../protocol/events/encode.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { ActorContext } from "../turn/actor-context.ts";
import type { Schema } from "../agent/agent.ts";
import { handwrittenSchema } from "../agent/definition/handwritten-schema.ts";
import type { RemoteWait, Give } from "../agent/remote-port.ts";
import { OpenCall } from "../scheduler/call-tree.ts";
import type { LoggedWait } from "../replay/turn-journal.ts";
import { addWait, endWait, expireWait, recordWait } from "../turn/turn-waits.ts";

/** The interval at which the other server is asked about a wait that should have expired, in milliseconds. */
const DUE_MS = 1_000;

/** Remote questions as waits of the local turn. */
export class RemoteWaits {
  readonly #actor: ActorContext;
  /** The waits whose answer is not delivered yet. */
  readonly #open = new Set<CallId>();

  constructor(actor: ActorContext) {
    this.#actor = actor;
  }

  /** The waits that are open or whose answer is not delivered, for the record. */
  get kept(): readonly CallId[] {
    return [...this.#open];
  }

  /** Asks the caller of the turn. Resolves when the answer is in the log. */
  ask(speaker: Speaker, wait: RemoteWait): Promise<void> {
    const { callId, questions, schema, approval, tool, approvers, question, expiresAt } = wait;
    const waitId = recordWait(this.#actor.turn, speaker, {
      type: "WaitForInput",
      request_keys: questions,
      ...(schema && { schema }),
      ...(approval && { approval }),
      ...(tool && { tool }),
      ...(approvers && { approvers }),
      ...(question !== undefined && { question }),
      ...(expiresAt !== undefined && { expires_at: toTimestamp(expiresAt) }),
      call_id: callId,
    });
    const end = expiresAt === undefined ? {} : { expiresAt };
    this.#begin({ callId, waitId, questions, ...(approvers && { approvers }), ...end }, wait);
    return this.#answerTo(callId);
  }

  /** Continues a question of an earlier activation. */
  askedBefore(wait: Pick<RemoteWait, "callId" | "give" | "due">): Promise<void> {
    const { callId } = wait;
    const { journal } = this.#actor.turn;
    const { wait: asked, outcome } = journal.calls.get(callId) ?? {};
    if (asked && outcome === undefined) this.#begin(asked, wait);
    return this.#answerTo(callId);
  }

  /** Logs that a wait has expired on the other server. */
  expired(callId: CallId): void {
    const { turn } = this.#actor;
    const wait = turn.parkedCalls.waitOf(callId);
    if (wait) expireWait(turn, wait);
  }

  /** Logs an answer that was given on the other server. */
  answered(callId: CallId, values: JsonObject): void {
    const { turn } = this.#actor;
    const wait = turn.parkedCalls.waitOf(callId);
    if (wait === undefined) return;
    const { waitId: wait_id } = wait;
    endWait(
      turn,
      wait,
      { ok: true, value: values },
      { type: "ResumeWithInput", wait_id, request_keys: values },
    );
  }

  #begin(asked: LoggedWait, { give, due }: Pick<RemoteWait, "give" | "due">): void {
    const { call: parent, speaker, turn } = this.#actor;
    const { environment } = turn.context;
    const { callId, expiresAt } = asked;
    const call = new OpenCall({ callId, kind: "wait", name: "wait", speaker, parent });
    turn.calls.opened(call);
    addWait(turn, { ...asked, call, schema: toSchema(give) });
    if (expiresAt === undefined || due === undefined || turn.ended) return;
    let stop = (): void => {};
    call.whenClosed(() => stop());
    // The clock of the other server decides, and it may be late.
    const look = (): void => {
      due();
      stop = environment.timer(DUE_MS, look);
    };
    stop = environment.alarm(expiresAt, look);
  }

  /** Resolves when the answer is delivered to the turn. */
  #answerTo(callId: CallId): Promise<void> {
    this.#open.add(callId);
    return new Promise((resolve) => {
      this.#actor.turn.deliveries.expect(callId, (outcome) => {
        this.#open.delete(callId);
        if (outcome.ok) resolve();
      });
    });
  }
}

/** An answer is valid when the other server has accepted it. */
function toSchema(give: Give): Schema<unknown> {
  return handwrittenSchema(async (values) => {
    await give(values as JsonObject);
    return { value: values };
  });
}
