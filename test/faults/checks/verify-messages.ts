import type { LogRecord } from "../../../src/ports/log-batch.ts";
import type { Event } from "../../../src/protocol/events/events.ts";
import type { ActorLog } from "../../laws/checks/actors.ts";
import { toEntries } from "../../laws/history.ts";
import { checkMessages } from "../../laws/messages.ts";

/**
 * What is wrong with messages, and with operations that join the turn of a state machine: each that was taken is in one
 * log, once, is read at most once, in order, and the turn that has read it shows it once.
 */
export function findWrongMessages(
  runs: ReadonlyMap<string, ActorLog>,
  sent: readonly string[],
): readonly string[] {
  const faults: string[] = [];
  const counts = new Map<string, number>();
  for (const [runId, run] of runs) {
    const entries = toEntries(run.events, run.records);
    const wrong = [...checkMessages(entries), ...findWrongTurns(entries)];
    faults.push(...wrong.map((fault) => `run ${runId}: ${fault}`));
    for (const event of run.events) {
      if (event.type === "MessageReceived")
        counts.set(event.message_id, (counts.get(event.message_id) ?? 0) + 1);
    }
  }
  for (const messageId of new Set(sent)) {
    const count = counts.get(messageId) ?? 0;
    if (count !== 1) faults.push(`message ${messageId} was taken and is in the log ${count} times`);
  }
  return faults;
}

/** What a turn has read and said so far. */
interface ReadingTurn {
  readonly requestId: string;
  readonly read: unknown[];
  said: string;
}

/** A listener says each line that it has read, and a collector outputs each item. */
function findWrongTurns(entries: readonly (Event | LogRecord)[]): readonly string[] {
  const faults: string[] = [];
  const bodies = new Map<number, unknown>();
  let turn: ReadingTurn | undefined;
  for (const entry of entries) {
    if ("n" in entry) {
      if (entry.type !== "Received") continue;
      turn?.read.push(...(entry["ids"] as readonly number[]).map((id) => bodies.get(id)));
    } else if (entry.type === "MessageReceived") {
      bodies.set(entry.id, entry.body);
    } else if (entry.type === "RequestStarted" && entry.depth === 0) {
      // A request that joins the turn starts and ends inside it.
      turn ??= { requestId: entry.request_id, read: [], said: "" };
    } else if (entry.type === "TextOutput" && entry.depth === 0 && turn) {
      turn.said += entry.content;
    } else if (entry.type === "RequestCompleted" && entry.request_id === turn?.requestId) {
      const { requestId, read } = turn;
      const [shown, wanted] = shownBy(entry, turn);
      if (shown !== wanted) faults.push(`${requestId} shows ${shown} and has read ${JSON.stringify(read)}`);
      turn = undefined;
    }
  }
  return faults;
}

/** What the end of a turn shows, and what it must show after what the turn has read. */
function shownBy(
  { agent, finish_reason: reason, output }: Event & { readonly type: "RequestCompleted" },
  { read, said }: ReadingTurn,
): readonly [shown: string, wanted: string] {
  if (reason === "success" && agent === "listener")
    return [said, read.map((line) => `${String(line)}\n`).join("")];
  if (reason === "success" && agent === "collector") {
    const items = read.map((body) => (body as { readonly item: string }).item);
    return [JSON.stringify(output), JSON.stringify({ items })];
  }
  return ["", ""];
}
