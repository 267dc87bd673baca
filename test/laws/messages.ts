import type { LogRecord } from "../../src/ports/log-batch.ts";
import { SCHEDULE } from "../../src/runtime/journal/stored-schedule.ts";
import type { Event } from "../../src/protocol/events/events.ts";
import { toEntries } from "./history.ts";

/** The messages that the agents of all programs accept; the bodies are numbers. */
export const MESSAGES = ["red", "blue"] as const;

/** The ids of the messages of a run that no turn has read, oldest first. */
export function unreadOf(entries: readonly (Event | LogRecord)[]): readonly string[] {
  const unread = new Map<number, string>();
  for (const entry of entries) {
    if (
      !("n" in entry) &&
      entry.type === "MessageReceived" &&
      entry.forked_from === undefined &&
      entry.name !== SCHEDULE
    )
      unread.set(entry.id, entry.message_id);
    if ("n" in entry && entry.type === "Received")
      for (const id of entry["ids"] as readonly number[]) unread.delete(id);
  }
  return [...unread.values()];
}

/** The events and records of a run. */
interface MessageLog {
  readonly events: readonly Event[];
  readonly records: readonly LogRecord[];
}

/** The ids of the messages that an actor took along when it continued in a run: those that it had not read before. */
export function carriedInto(
  { events: [first] }: MessageLog,
  runs: ReadonlyMap<string, MessageLog>,
): Set<string> {
  const source = first?.type === "RunCreated" ? runs.get(first.continues ?? "") : undefined;
  return new Set(source && unreadOf(toEntries(source.events, source.records)));
}

/**
 * What is wrong with the messages of a run: each is received once, and the messages of each name are read in the order of
 * their events, each by one call.
 */
export function checkMessages(entries: readonly (Event | LogRecord)[]): readonly string[] {
  const faults: string[] = [];
  const unread = new Map<string, number[]>();
  const nameOf = new Map<number, string>();
  const received = new Set<string>();
  for (const entry of entries) {
    // A fork copies the messages of another run, which keeps them.
    if (!("n" in entry) && entry.type === "MessageReceived" && entry.forked_from === undefined) {
      if (received.has(entry.message_id)) faults.push(`message ${entry.message_id} was received twice`);
      received.add(entry.message_id);
      nameOf.set(entry.id, entry.name);
      unread.set(entry.name, [...(unread.get(entry.name) ?? []), entry.id]);
    }
    if (!("n" in entry) || entry.type !== "Received") continue;
    for (const id of entry["ids"] as readonly number[]) {
      const oldest = unread.get(nameOf.get(id) ?? "")?.shift();
      if (oldest !== id)
        faults.push(`message event ${id} was read, and the oldest unread one is ${String(oldest)}`);
    }
  }
  return faults;
}
