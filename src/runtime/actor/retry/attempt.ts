import type { Json } from "../../../protocol/json.ts";
import type { AttemptNumber } from "../../calls/announce.ts";
import { cancel } from "../../calls/call-end.ts";
import { actorSignature, callSignature } from "../../replay/signature.ts";
import type { Signature } from "../../replay/signature.ts";
import { askActor } from "../ask.ts";
import type { NewAsk } from "../ask.ts";
import { callAgent, performEffect, toCallee } from "../call.ts";
import type { AgentCall, EffectCall } from "../call.ts";
import type { Called, Sequence, Step } from "../sequence.ts";

/** One attempt of a call: a step of a sequence, with an outcome of its own. */
export interface Attempt {
  /** `undefined` if the turn has ended, or ends by this. */
  readonly step: Step | undefined;
  readonly result: Promise<Json>;
  /** Cancels the attempt, unless it has ended. */
  cancel(): void;
}

/** The only attempt of a call that is not retried. */
export const ONLY: AttemptNumber = { number: 1, retryOf: undefined };

/** Makes an attempt in a sequence. */
export type MakeAttempt = (sequence: Sequence, which: AttemptNumber) => Attempt;

/** Makes attempts of a call of an agent; `hear` gets the result as text. */
export function agentAttempts(
  call: Omit<AgentCall, "callId" | "logged" | "retryOf">,
  of: Called,
  hear: (text: string) => void = () => {},
): MakeAttempt {
  return (sequence, { retryOf }) => {
    const { actor } = sequence;
    const { remoteActor } = call;
    const plain = callSignature(call.name, call.args);
    const signature = remoteActor ? actorSignature(remoteActor.mode, toCallee(call), plain) : plain;
    const step = sequence.begin(signature);
    if (step === undefined) return over(sequence);
    const result = sequence.outcome(step.callId, { of, hear });
    const open = step.settled ? undefined : callAgent(actor, { ...call, ...step, retryOf });
    return { step, result, cancel: () => open && cancel(actor, open) };
  };
}

/** Makes attempts of an ask or a tell. */
export function askAttempts(
  signature: Signature,
  ask: Omit<NewAsk, "callId" | "logged" | "retryOf">,
  of: Called,
): MakeAttempt {
  return (sequence, { retryOf }) => {
    const step = sequence.begin(signature);
    if (step === undefined) return over(sequence);
    const result = sequence.outcome(step.callId, { of });
    if (!step.settled) askActor(sequence.actor, { ...ask, ...step, retryOf });
    return { step, result, cancel() {} };
  };
}

/** Makes attempts of an effect. */
export function effectAttempts(
  call: Omit<EffectCall, "callId" | "logged" | keyof AttemptNumber>,
): MakeAttempt {
  return (sequence, which) => {
    const step = sequence.begin(callSignature(call.name, call.args));
    if (step === undefined) return over(sequence);
    const result = sequence.outcome(step.callId, { of: { agent: call.name } });
    if (!step.settled) void performEffect(sequence.actor, { ...call, ...step, ...which });
    return { step, result, cancel() {} };
  };
}

function over({ actor }: Sequence): Attempt {
  return { step: undefined, result: actor.turn.over(), cancel() {} };
}
