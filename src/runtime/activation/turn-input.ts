import { AgentError } from "../../errors.ts";
import type { By } from "../../protocol/actors.ts";
import type { CallId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { acceptedBy } from "../agent/accepted-operations.ts";
import type { AgentMachine, OpenMachine } from "../agent/machine-port.ts";
import { isUnder } from "../../protocol/ids.ts";
import { rootOf } from "../journal/call-id.ts";
import type { RecordedEvent } from "../journal/recorder.ts";
import type { Reply } from "../replay/mail-port.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { TurnSlot } from "./turn-slot.ts";
import type { ActiveTurn } from "../turn/active-turn.ts";
import { deliverMessage } from "../turn/turn-messages.ts";
import { answerWait } from "../turn/turn-waits.ts";

/** The wait that an answer is for, and its values. */
export interface WaitAnswer {
  readonly waitId?: number;
  readonly resumeId?: string;
  readonly values: JsonObject;
  readonly by?: By;
  /** The roles of who answers. */
  readonly roles?: readonly string[];
}

/** What the started turn of a run is given from outside. The handler of a passivated turn runs again when it needs to. */
export class TurnInput {
  readonly #ledger: RunLedger;
  readonly #slot: TurnSlot;

  constructor(ledger: RunLedger, slot: TurnSlot) {
    this.#ledger = ledger;
    this.#slot = slot;
  }

  /** Whether an answer with this resume id was given before. */
  knowsAnswer(resumeId: string): boolean {
    const { turn, passivated } = this.#slot;
    return (turn ? turn.parkedCalls.knowsAnswer(resumeId) : passivated?.resumeIds.has(resumeId)) ?? false;
  }

  /**
   * Answers an open wait. The handler must reach the wait first. `undefined` if the wait was closed in the
   * meantime.
   */
  async answer(callId: CallId, { values, resumeId, by }: WaitAnswer): Promise<RecordedEvent | undefined> {
    const turn = this.#slot.held ? undefined : (this.#slot.turn ?? this.#slot.revive());
    // It may be held by this: its agent is not served.
    if (this.#slot.held && turn === undefined)
      return this.#slot.answerHeld(callId, {
        values,
        ...(resumeId !== undefined && { resumeId }),
        ...(by && { by }),
      });
    const wait = await turn?.parkedCalls.whenLive(callId);
    return wait && turn && answerWait(turn, wait, values, { resumeId, by });
  }

  /** Whether the turn takes a message at once: a call of it waits for one with this name, or its machine takes it. */
  awaits(name: string, body: Json): boolean {
    const { turn, passivated } = this.#slot;
    if (turn?.agent.machine) return openMachineOf(turn)?.takes(name, body) ?? false;
    if (turn) return turn.parkedCalls.receiver(name) !== undefined;
    return passivated?.open.some(({ messages }) => messages?.includes(name)) ?? false;
  }

  /** Loads the machine of a passivated turn that may take a message: its state has a transition for it. */
  async wakeFor(name: string, { statechart }: AgentMachine): Promise<void> {
    const { turn, machineState: state, mayWake, held } = this.#slot;
    if (turn || held || !mayWake || !isObject(state?.snapshot)) return;
    if (acceptedBy(statechart, state.snapshot["value"] ?? null, [name]).length > 0) await this.machine();
  }

  /** Gives a new message to the turn, if it waits for it. */
  messageArrived(name: string, body: Json): void {
    const slot = this.#slot;
    const { turn } = slot;
    // A passivated turn takes the message when its handler makes the call again.
    if (turn?.agent.machine) openMachineOf(turn)?.takeMessages();
    else if (turn) deliverMessage(turn, name);
    else if (slot.mayWake && this.awaits(name, body)) {
      slot.wake();
      slot.revive();
    }
  }

  /** The machine that the turn runs; `undefined` if the turn has ended, or runs none. */
  async machine(): Promise<OpenMachine | undefined> {
    const slot = this.#slot;
    if (this.#ledger.started?.canceling) return undefined;
    if (slot.turn === undefined && slot.requestId !== undefined) {
      this.#checkWakeable();
      if (this.#ledger.phase === "running") slot.wake();
      slot.revive();
    }
    return slot.turn?.machine.promise;
  }

  /** Gives an answer of another actor to the turn that asked; does nothing if that turn has ended. */
  async reply(reply: Reply): Promise<void> {
    const slot = this.#slot;
    const number = this.#ledger.started?.turn;
    if (number === undefined || !isUnder(reply.callId, rootOf(number))) return;
    if (slot.held && slot.turn === undefined) {
      slot.replyHeld(reply);
      return;
    }
    if (slot.turn === undefined) {
      this.#checkWakeable();
      slot.wake();
      await this.#ledger.committed();
    }
    await (slot.turn ?? slot.revive())?.asks.reply(reply);
  }

  /** Throws `unavailable` if the passivated turn is to be continued first, so that a crash counts against it. */
  #checkWakeable(): void {
    if (this.#slot.mayWake) return;
    const { held } = this.#slot;
    if (held)
      throw new AgentError("unavailable", `the turn is held: ${held.message}`, {
        hint: "serve code that can continue it, or end it",
        retryAfterS: HELD_RETRY_S,
      });
    throw new AgentError("unavailable", "the turn is not continued yet; retry", { retryAfterS: 1 });
  }
}

/** The machine of a turn in memory, if it runs. */
function openMachineOf(turn: ActiveTurn): OpenMachine | undefined {
  const machine = turn.machine.value;
  return machine?.ended === false ? machine : undefined;
}

/** When it makes sense to give something to a turn that is held again, in seconds. */
const HELD_RETRY_S = 10;
