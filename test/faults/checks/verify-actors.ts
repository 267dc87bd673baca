import type { Event } from "../../../src/protocol/events/events.ts";
import { checkActors } from "../../laws/checks/actors.ts";
import type { ActorLog } from "../../laws/checks/actors.ts";
import { findMistimed } from "../../laws/checks/schedules.ts";
import { findWrongMessages } from "./verify-messages.ts";
import type { Evidence, Violation } from "./verify-log.ts";

/** Checks what actors asked, told and scheduled (I8), and the messages of all runs (I9). */
export function verifyActors({ history, heard, finished }: Evidence): readonly Violation[] {
  const runs = new Map<string, ActorLog>();
  for (const [runId, { events, records }] of history.runs) {
    const parsed = events.map((text) => JSON.parse(text) as Event);
    runs.set(runId, { events: parsed, records, removed: false });
  }
  const sent = heard.flatMap((entry) => (entry.kind === "sent" ? [entry.messageId] : []));
  const asked = checkActors(runs, { isAtRest: finished });
  const timed = findMistimed({ runs });
  return [
    ...[...asked, ...timed].map((what) => ({ invariant: "I8", what }) as const),
    ...findWrongMessages(runs, sent).map((what) => ({ invariant: "I9", what }) as const),
  ];
}
