import type { Event } from "../../../src/protocol/events/events.ts";
import { toEntries } from "../../laws/history.ts";
import { GUIDE, HINT } from "../agents/guide.ts";
import type { LoggedRun, Observer } from "./observer.ts";

/** A turn of the guide, as far as its log was read. */
interface GuideTurn {
  readonly requestId: string;
  /** Its input and the hints that it has read, in order. */
  readonly told: string[];
  /** The answer of its newest completion. */
  answer?: string | undefined;
  /** The hints that were there before that completion ended, and are not read. */
  missed: readonly number[];
}

/**
 * The laws of steering: a turn that ends has read every hint that came before the end of its last completion, and its
 * answer contains all that it has read, in order.
 */
export function findUnsteered({ runs }: Observer): readonly string[] {
  return [...runs].flatMap(([runId, run]) =>
    run.events.some(({ agent }) => agent === GUIDE) ? unsteeredIn(runId, run) : [],
  );
}

function unsteeredIn(runId: string, { events, records }: LoggedRun): readonly string[] {
  const faults: string[] = [];
  const unread = new Map<number, string>();
  let turn: GuideTurn | undefined;
  for (const entry of toEntries(events, records)) {
    if ("n" in entry) {
      if (entry.type !== "Received") continue;
      for (const id of entry["ids"] as readonly number[]) {
        turn?.told.push(unread.get(id) ?? `event ${id}`);
        unread.delete(id);
      }
      continue;
    }
    if (entry.type === "MessageReceived" && entry.name === HINT) unread.set(entry.id, entry.body as string);
    if (entry.type === "RequestStarted" && entry.depth === 0)
      turn = { requestId: entry.request_id, told: [inputOf(entry)], missed: [] };
    if (turn === undefined || entry.request_id !== turn.requestId) continue;
    if (entry.type === "CompletionResult" && entry.error === undefined) {
      turn.answer = (entry.result as { readonly text?: string } | null)?.text;
      turn.missed = [...unread.keys()];
    }
    if (entry.type !== "RequestCompleted" || entry.depth > 0 || entry.finish_reason !== "success") continue;
    const { requestId, told, answer, missed } = turn;
    const what = `${requestId} of ${runId} has ended`;
    if (answer !== JSON.stringify(told))
      faults.push(`${what} with ${String(answer)} and was told ${told.join()}`);
    for (const id of missed)
      if (unread.has(id)) faults.push(`${what}, and the hint of event ${id} is unread`);
  }
  return faults;
}

function inputOf({ input }: Event & { readonly type: "RequestStarted" }): string {
  return typeof input === "string" ? input : (input as { readonly input: string }).input;
}
