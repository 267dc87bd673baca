import type { CallView } from "../../view/run-view.ts";
import type { Event } from "../../protocol/events/events.ts";
import { isOfActor } from "../run/narrow.ts";

/** Which events are shown. */
export interface RowFilter {
  readonly type: string;
  readonly agent: string;
  readonly text: string;
  /** The actor that is shown alone. */
  readonly actor?: CallView | undefined;
}

/** What one line of the list says of an event besides its address. */
export function gistOf(event: Event): string {
  const fields = event as unknown as Readonly<Record<string, unknown>>;
  // A server may send types that this page does not know, also one with the name of a property of every object.
  const text = Object.hasOwn(GISTS, event.type) ? (GISTS[event.type]?.(fields) ?? "") : "";
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** The positions of the events that fit, among the first `count`. */
export function findRows(events: readonly Event[], count: number, filter: RowFilter): readonly number[] {
  const { type, agent, actor } = filter;
  const text = filter.text.toLowerCase();
  const found: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const event = events[at];
    if (event === undefined) break;
    if (type !== "" && event.type !== type) continue;
    if (agent !== "" && event.agent !== agent) continue;
    if (actor !== undefined && !isOfActor(event, actor)) continue;
    if (text !== "" && !JSON.stringify(event).toLowerCase().includes(text)) continue;
    found.push(at);
  }
  return found;
}

/** How many events have an id up to N. The ids of a run have no gap, so this needs no search. */
export function countUpTo(events: readonly Event[], eventId: number): number {
  const first = events[0]?.id ?? 1;
  return Math.max(0, Math.min(events.length, eventId - first + 1));
}

const LONGEST = 200;

type Fields = Readonly<Record<string, unknown>>;

const GISTS: Readonly<Partial<Record<string, (fields: Fields) => string>>> = {
  RequestStarted: ({ operation, input }) => `${say(operation)} ${say(input)}`,
  RequestCompleted: ({ finish_reason: reason, result, error }) =>
    `${say(reason)} ${say((error as Fields | undefined)?.["message"] ?? result)}`,
  TextOutput: ({ content }) => say(content),
  ReasoningOutput: ({ content }) => say(content),
  ToolCall: ({ function_name: name, args }) => `${say(name)} ${say(args)}`,
  ToolResult: ({ function_name: name, result, text_result: text }) => `${say(name)} → ${say(result ?? text)}`,
  ToolError: ({ function_name: name, code, content }) => `${say(name)} ${say(code)}: ${say(content)}`,
  ToolTextOutput: ({ content }) => say(content),
  CompletionCall: ({ model }) => say(model),
  CompletionRetry: ({ error }) => say(error),
  CompletionResult: ({ model, error, result }) => `${say(model)} ${say(error ?? result)}`,
  WaitForInput: ({ request_keys: keys }) => say(Object.values((keys ?? {}) as Fields).join(" · ")),
  ResumeWithInput: ({ request_keys: keys }) => say(keys),
  ArtifactGenerated: ({ name }) => say(name),
  ArtifactUploaded: ({ name }) => say(name),
  StateChanged: ({ value, cause }) => `${say(value)} ${say(cause)}`,
  Sleeping: ({ until }) => `until ${say(until)}`,
};

function say(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
