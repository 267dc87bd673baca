import type { LogRecord } from "../../../src/ports/log-batch.ts";
import { depthOf, idOf, requestIdOf, runIdOf, typeOf } from "../../../src/protocol/events/encode.ts";
import type { Event } from "../../../src/protocol/events/events.ts";
import type { Heard } from "../journal.ts";
import type { OutsideEffect } from "../server/outside.ts";
import type { History, RunHistory } from "./read-history.ts";
import { verifyActors } from "./verify-actors.ts";
import { verifyEffects } from "./verify-effects.ts";
import { verifyClientJournal } from "./verify-client-journal.ts";

/** All recorded data. */
export interface Evidence {
  readonly history: History;
  /** The content of the log at the previous check. */
  readonly earlier?: History;
  /** What the clients received. */
  readonly heard: readonly Heard[];
  /** The outside effects. */
  readonly effects: readonly OutsideEffect[];
  /** The outside effects at the previous check. */
  readonly earlierEffects?: readonly OutsideEffect[];
  /** Whether all requests must have ended. */
  readonly finished: boolean;
}

/** A violated invariant, and its place. */
export interface Violation {
  readonly invariant: Invariant;
  readonly what: string;
}

/** The invariants of every log. */
export const invariants = {
  I1: "the events of a run are numbered without a gap, and none ever changes",
  I2: "every request that was taken has exactly one end",
  I3: "nothing follows the end of a request",
  I4: "what a client was told is in the log, byte for byte, and each reader got every event once",
  I5: "every answer belongs to one wait, and every wait to one answer",
  I6: "what is unsafe was done at most once, what is idempotent shows each attempt, what has a result is not done again",
  I7: "the chain of hashes and the head file are whole",
  I8: "what an actor asked or told another one is one turn at most, its outcome is the end of that turn, and what it scheduled is sent once",
  I9: "a message that was taken is in the log once, and is read at most once, in order",
  ends: "no turn ended otherwise than its agent or its client wanted",
} as const;

/** The short name of an invariant. */
export type Invariant = keyof typeof invariants;

/** Checks the invariants. Returns the violations. */
export function verifyLog(evidence: Evidence): Violation[] {
  const { history, earlier, finished } = evidence;
  const violations: Violation[] = history.chain.map((what) => ({ invariant: "I7", what }));
  const accepted = new Map<string, string>();
  for (const [runId, run] of history.runs) {
    violations.push(...verifyNumbers(runId, run, earlier?.runs.get(runId)));
    for (const { type, ...record } of run.records) {
      if (type !== "Accepted") continue;
      const { requestId } = record["accepted"] as unknown as { readonly requestId: string };
      if (accepted.has(requestId))
        violations.push({ invariant: "I2", what: `${requestId} was accepted twice` });
      accepted.set(requestId, runId);
    }
  }
  for (const runId of earlier?.runs.keys() ?? []) {
    if (!history.runs.has(runId)) violations.push({ invariant: "I1", what: `run ${runId} has disappeared` });
  }
  for (const [requestId, runId] of accepted) {
    const run = history.runs.get(runId) ?? { events: [], records: [] };
    violations.push(...verifyTurn(requestId, run, { open: history.open.has(requestId), finished }));
  }
  violations.push(...verifyActors(evidence));
  return [...violations, ...verifyClientJournal(evidence, accepted), ...verifyEffects(evidence)];
}

function verifyNumbers(
  runId: string,
  { events, records }: RunHistory,
  earlier: RunHistory | undefined,
): Violation[] {
  const wrong = (what: string): Violation => ({ invariant: "I1", what: `run ${runId}: ${what}` });
  const violations: Violation[] = [];
  for (const [index, text] of events.entries()) {
    if (idOf(text) !== index + 1) violations.push(wrong(`event ${index + 1} has the id ${idOf(text)}`));
    if (runIdOf(text) !== runId) violations.push(wrong(`event ${index + 1} is of run ${runIdOf(text)}`));
  }
  for (const [index, { n }] of records.entries()) {
    if (n !== index + 1) violations.push(wrong(`record ${index + 1} has the number ${n}`));
  }
  const changed = earlier?.events.findIndex((text, index) => text !== events[index]) ?? -1;
  if (changed >= 0) violations.push(wrong(`event ${changed + 1} is not what it was`));
  return violations;
}

function verifyTurn(
  requestId: string,
  run: RunHistory,
  { open, finished }: { readonly open: boolean; readonly finished: boolean },
): Violation[] {
  const violations: Violation[] = [];
  const say = (invariant: Invariant, what: string): void => {
    violations.push({ invariant, what: `request ${requestId}: ${what}` });
  };
  const events = run.events.filter((text) => requestIdOf(text) === requestId);
  const starts = events.filter((text) => typeOf(text) === "RequestStarted");
  const ends = events.filter((text) => typeOf(text) === "RequestCompleted" && depthOf(text) === 0);
  if (starts.length > 1) say("I2", `it was started ${starts.length} times`);
  if (ends.length > 1) say("I2", `it has ${ends.length} ends`);
  if (ends.length === 0 && finished) say("I2", "it has no end");
  if (open !== (ends.length === 0)) say("I2", `the index shows it as ${open ? "open" : "completed"}`);
  const [end] = ends;
  if (end !== undefined && events.at(-1) !== end) say("I3", "something follows its end");
  const waits = new Set<number>();
  const answered = new Set<number>();
  for (const text of events) {
    const event = JSON.parse(text) as Event;
    if (event.type === "WaitForInput") waits.add(event.id);
    if (event.type !== "ResumeWithInput" && event.type !== "WaitExpired") continue;
    if (!waits.has(event.wait_id)) say("I5", `event ${event.id} answers ${event.wait_id}, which is no wait`);
    if (answered.has(event.wait_id)) say("I5", `wait ${event.wait_id} has two answers`);
    answered.add(event.wait_id);
  }
  if (end !== undefined) verifyEnd(end, run.records, say);
  const succeeded = end?.includes('"finish_reason":"success"') === true;
  if (succeeded && waits.size !== answered.size) say("I5", "it succeeded without all its answers");
  return violations;
}

/** A turn succeeds, or its client cancels it, or it is ended after three recoveries without progress. */
function verifyEnd(
  text: string,
  records: readonly LogRecord[],
  say: (invariant: Invariant, what: string) => void,
): void {
  const end = JSON.parse(text) as Event & { readonly type: "RequestCompleted" };
  if (end.finish_reason !== "error") return;
  const recoveries = records.filter(
    (record) => record.type === "RecoveryStarted" && record["request_id"] === end.request_id,
  );
  if (end.error?.code === "poisoned" && recoveries.at(-1)?.["count"] === 3) return;
  say("ends", `it ended with ${JSON.stringify(end.error)}`);
}
