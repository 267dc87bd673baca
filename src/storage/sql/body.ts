import { createSpeaker } from "../../protocol/events/encode.ts";
import type { LoggedEvents, Texts } from "../../protocol/events/texts.ts";
import { countTexts } from "../../protocol/events/texts.ts";
import type { CallId, RunId } from "../../protocol/ids.ts";

/**
 * The form of events in a row: a line for each encoded event, and one for successive texts of a speaker. The line of
 * texts is a JSON array of their address, which an event would repeat for each, and of the times and contents.
 */
export function encodeBody(events: LoggedEvents): string {
  const [first] = events;
  if (events.length === 1 && first !== undefined) return toLine(first);
  return events.map(toLine).join("\n");
}

/**
 * The same for events behind the texts of a line, the newest one first. More texts of their speaker are a line that begins with a
 * comma: it replaces the end of the array.
 */
export function encodeBehind(line: Texts | undefined, events: LoggedEvents): string {
  const lines = events.map(toLine);
  const [first] = events;
  if (typeof first === "object" && first.speaker === line?.speaker && first.ending === line.ending) {
    const behindMs = first.at - line.at;
    const said = first.said.map((item) => (typeof item === "number" ? item + behindMs : item));
    lines[0] = `,${JSON.stringify(said).slice(1)}`;
  }
  return lines.toReversed().join("\n");
}

/** Reads the lines of a row, whose first event has the given id. */
export function parseBody(body: string, { runId, first }: { runId: RunId; first: number }): LoggedEvents {
  let id = first;
  return body.split("\n").map((line) => {
    // An encoded event is an object.
    const item = line.startsWith("[") ? toTexts(JSON.parse(line) as TextsLine, runId, id) : line;
    id += typeof item === "string" ? 1 : countTexts(item);
    return item;
  });
}

type TextsLine = [
  requestId: string,
  agent: string,
  depth: number,
  parentCallId: string | null,
  ending: string,
  at: number,
  ...said: (number | string)[],
];

function toLine(item: string | Texts): string {
  if (typeof item === "string") return item;
  const { request_id, agent, depth, parent_call_id = null } = item.speaker.address;
  return JSON.stringify([request_id, agent, depth, parent_call_id, item.ending, item.at, ...item.said]);
}

function toTexts(line: TextsLine, runId: RunId, first: number): Texts {
  const [request_id, agent, depth, parent, ending, at, ...said] = line;
  const call = parent === null ? undefined : { parent_call_id: parent as CallId };
  const speaker = createSpeaker({ run_id: runId, request_id, agent, depth, ...call });
  return { speaker, ending, first, at, said };
}
