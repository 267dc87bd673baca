import type { RunSummary } from "../../protocol/answers/status.ts";
import type { Pages, WaitEvent } from "../data/pages.ts";

/** What a person is asked to look at: a question of an agent, or a turn that is held. */
export interface InboxItem {
  readonly kind: "question" | "held";
  /** Its name in the address: the run, and the id of the wait or the word `held`. */
  readonly name: string;
  readonly agent: string;
  readonly text: string;
  readonly since: string;
  /** The roles that may answer; absent if everybody may. */
  readonly approvers?: readonly string[];
  readonly expiresAt?: string;
}

/** The open questions and the turns that are held, oldest first. */
export function inboxItems(waits: readonly WaitEvent[], held: readonly RunSummary[]): readonly InboxItem[] {
  const items = [...waits.map(toQuestion), ...held.flatMap(toHeld)];
  return items.sort((one, other) => (one.since < other.since ? -1 : Number(one.since > other.since)));
}

/** What is read of the queue of a person. */
export interface ReadInbox {
  readonly items: readonly InboxItem[];
  readonly hasMore: boolean;
  more(): void;
}

/** Joins the two lists as far as both are read: what stands behind that could come to stand in between. */
export function readInbox(waits: Pages<WaitEvent>, held: Pages<RunSummary>): ReadInbox | undefined {
  if (waits.rows === undefined || held.rows === undefined) return undefined;
  const items = inboxItems(waits.rows, held.rows);
  const waitsTo = waits.hasMore ? waits.rows.at(-1)?.ts : undefined;
  const heldTo = held.hasMore ? held.rows.at(-1)?.updated_at : undefined;
  const isWaits = heldTo === undefined || (waitsTo !== undefined && waitsTo < heldTo);
  const end = isWaits ? waitsTo : heldTo;
  return {
    items: end === undefined ? items : items.filter(({ since }) => since <= end),
    hasMore: waits.hasMore || held.hasMore,
    more: isWaits && waits.hasMore ? waits.more : held.more,
  };
}

/** The items with the one that is shown, in its place also after it was closed. */
export function withKept(items: readonly InboxItem[], kept: InboxItem | undefined): readonly InboxItem[] {
  if (kept === undefined || items.some(({ name }) => name === kept.name)) return items;
  const at = items.findIndex(({ since }) => since > kept.since);
  return items.toSpliced(at === -1 ? items.length : at, 0, kept);
}

/** The run of an item, and the id of its question; for a turn that is held without one. */
export function readName(name: string): { readonly runId: string; readonly waitId: number | undefined } {
  const dot = name.lastIndexOf(".");
  const waitId = Number(name.slice(dot + 1));
  return { runId: name.slice(0, dot), waitId: Number.isNaN(waitId) ? undefined : waitId };
}

function toQuestion({
  run_id: runId,
  wait_id: waitId,
  agent,
  request_keys: questions,
  question,
  approvers,
  expires_at: expiresAt,
  ts,
}: WaitEvent): InboxItem {
  const texts =
    question === undefined
      ? Object.entries(questions).map(([key, text]) => (text === "" ? key : text))
      : [question];
  return {
    kind: "question",
    name: `${runId}.${waitId}`,
    agent,
    text: texts.join(" · "),
    since: ts,
    ...(approvers !== undefined && { approvers }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

function toHeld({ run_id: runId, agent, last_turn: turn }: RunSummary): readonly InboxItem[] {
  if (turn?.held === undefined) return [];
  const { code, at, since } = turn.held;
  const text = `held: ${code}${at === undefined ? "" : ` at ${at}`}`;
  return [{ kind: "held", name: `${runId}.held`, agent, text, since }];
}
