import type { RunSummary } from "../../protocol/answers/status.ts";
import { MOST_OPEN } from "../data/waits.ts";
import type { WaitEvent } from "../data/waits.ts";

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

/** Which items a person looks at: those of an agent, those that a role may answer; an empty text selects all. */
export interface InboxFilter {
  readonly agent: string;
  readonly role: string;
}

/** Whether a filter selects an item. What everybody may answer is for each role too. */
export function isSelected({ agent, approvers }: InboxItem, filter: InboxFilter): boolean {
  const isFor = filter.role === "" || approvers === undefined || approvers.includes(filter.role);
  return isFor && (filter.agent === "" || agent === filter.agent);
}

/** How many wait for a person: with a plus if as many were read as are read at most, because there can be more. */
export function openCount(
  { length: open }: readonly unknown[],
  { length: held }: readonly unknown[],
): string {
  return `${open + held}${open >= MOST_OPEN || held >= MOST_OPEN ? "+" : ""}`;
}

/** The open questions and the turns that are held, oldest first. */
export function inboxItems(waits: readonly WaitEvent[], held: readonly RunSummary[]): readonly InboxItem[] {
  const items = [...waits.map(toQuestion), ...held.flatMap(toHeld)];
  return items.sort((one, other) => (one.since < other.since ? -1 : 1));
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
