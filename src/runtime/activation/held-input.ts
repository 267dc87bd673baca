import { createSpeaker } from "../../protocol/events/encode.ts";
import type { CallId, RequestId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";
import type { RecordedEvent } from "../journal/recorder.ts";
import type { Reply } from "../replay/mail-port.ts";
import { waitsOf, withOutcome } from "../replay/turn-journal.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import { cutResult, toToolEnd } from "../scheduler/tool-end.ts";
import { checkRaise } from "../owners/budgets.ts";
import { checkKeys } from "../turn/turn-waits.ts";
import type { RunLedger } from "./run-ledger.ts";
import type { WaitAnswer } from "./turn-input.ts";

/** A turn that is held, with what the log has of it. */
export interface HeldLog {
  readonly ledger: RunLedger;
  readonly requestId: RequestId;
  readonly journal: TurnJournal;
}

/**
 * Logs an answer to a wait of a turn that is held; it counts when the turn continues. Without the code of the turn only the
 * keys are checked. `undefined` if the wait is not open.
 */
export function logAnswer(
  { ledger, requestId, journal }: HeldLog,
  callId: CallId,
  { values, resumeId, by }: WaitAnswer,
): { readonly recorded: RecordedEvent; readonly journal: TurnJournal } | undefined {
  const { recorder, started } = ledger;
  const wait = waitsOf(journal).find((open) => open.callId === callId);
  // The code has not seen the end of a wait whose time has passed, and takes no answer to it.
  if (started === undefined || wait === undefined || (wait.expiresAt ?? Infinity) <= ledger.now)
    return undefined;
  const given = toJson(values, "the answer", INPUT_LIMIT_BYTES) as JsonObject;
  checkKeys(wait, given);
  const { waitId, budget } = wait;
  if (budget !== undefined) ledger.raise(budget, checkRaise(budget, given));
  const recorded = recorder.event(ledger.speakerOf(started.accepted), {
    type: "ResumeWithInput",
    wait_id: waitId,
    request_keys: given,
    ...(resumeId !== undefined && { resume_id: resumeId }),
    ...(by && { by }),
  });
  recorder.wait({ waitId, requestId, openedAt: 0, closed: true });
  const resumeIds = new Set([...journal.resumeIds, ...(resumeId === undefined ? [] : [resumeId])]);
  const answered = withOutcome(journal, callId, { ok: true, value: given });
  return { recorded, journal: { ...answered, lastResume: recorded.id, resumeIds } };
}

/** Logs the answer of another actor to an ask of a turn that is held. `undefined` if the ask is not open. */
export function logReply(
  { ledger, requestId, journal }: HeldLog,
  { callId, requestId: asked, outcome: given }: Reply,
): TurnJournal | undefined {
  const { made } = journal.open.find((call) => call.callId === callId) ?? {};
  if (made?.sent?.mode !== "ask" || made.sent.callee.request_id !== asked) return undefined;
  const { name, agent, depth, parentCallId } = made;
  const speaker = createSpeaker({
    run_id: ledger.runId,
    request_id: requestId,
    agent,
    depth,
    ...(parentCallId !== undefined && { parent_call_id: parentCallId }),
  });
  const outcome = given.ok ? { ...given, text: cutResult(given.text ?? "") } : given;
  ledger.recorder.event(speaker, toToolEnd({ callId, name }, outcome));
  return withOutcome(journal, callId, outcome);
}
