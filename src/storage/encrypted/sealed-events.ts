import { AgentError } from "../../errors.ts";
import { typeOf } from "../../protocol/events/encode.ts";
import { contentAt, countTexts } from "../../protocol/events/texts.ts";
import type { LoggedEvents, Texts } from "../../protocol/events/texts.ts";
import { SEAL } from "./key-ring.ts";

/**
 * Events of which only ids, speakers and times can be read. An event is `{"encrypted":"…"}`. Successive texts of a speaker stay
 * texts, so that engines store them together: the first of a group has all contents, the others their distance from it.
 */
export async function sealEvents(
  events: LoggedEvents,
  { head, breaks, seal }: SealedFrom,
): Promise<LoggedEvents> {
  const sealed: Promise<string | Texts>[] = [];
  let id = head + 1;
  for (const item of events) {
    sealed.push(typeof item === "string" ? sealOne(item, id, seal) : sealTexts(item, id, breaks, seal));
    id += typeof item === "string" ? 1 : countTexts(item);
  }
  return Promise.all(sealed);
}

/** Where events are sealed. */
interface SealedFrom {
  /** The id of the event before them. */
  readonly head: number;
  /** The ids of events behind which the log may begin later: no group goes on behind them. */
  readonly breaks: ReadonlySet<number>;
  seal(id: number, text: string): Promise<string>;
}

async function sealOne(text: string, id: number, seal: SealedFrom["seal"]): Promise<string> {
  return `${OPENING}${await seal(id, text)}"}`;
}

async function sealTexts(
  texts: Texts,
  first: number,
  breaks: ReadonlySet<number>,
  seal: SealedFrom["seal"],
): Promise<Texts> {
  const count = countTexts(texts);
  const said = [...texts.said];
  for (let start = 0; start < count;) {
    let end = start + 1;
    while (end < count && !breaks.has(first + end - 1)) end += 1;
    const contents = Array.from({ length: end - start }, (_, index) => contentAt(texts, start + index));
    said[2 * start + 1] = await seal(first + start, JSON.stringify(contents));
    for (let index = start + 1; index < end; index += 1) said[2 * index + 1] = String(index - start);
    start = end;
  }
  return { ...texts, ending: MARK + texts.ending, said };
}

/** Opens events that `sealEvents` has sealed; others stay as they are. */
export async function openEvents(
  events: LoggedEvents,
  { first, open, readAt }: OpenedFrom,
): Promise<LoggedEvents> {
  const groups = new Map<number, Promise<readonly string[]>>();
  const openGroup = async (id: number, sealed: string): Promise<readonly string[]> =>
    JSON.parse(await open(id, sealed)) as readonly string[];

  /** The content of a text, of which the log has the seal of its group, or the distance from it. */
  async function contentOf(id: number, stored: string): Promise<string> {
    const distance = stored.startsWith(SEAL) ? 0 : Number(stored);
    const head = id - distance;
    let group = groups.get(head);
    if (group === undefined) {
      group =
        distance === 0
          ? openGroup(head, stored)
          : readAt(head).then((item) => openGroup(head, storedIn(item)));
      groups.set(head, group);
    }
    const content = (await group)[distance];
    if (content === undefined) throw missing(id);
    return content;
  }

  async function openTexts(texts: Texts, id: number): Promise<Texts> {
    const said = [...texts.said];
    for (let index = 0; index < countTexts(texts); index += 1)
      said[2 * index + 1] = await contentOf(id + index, contentAt(texts, index));
    return { ...texts, ending: texts.ending.slice(MARK.length), said };
  }

  async function openOne(text: string, id: number): Promise<string> {
    if (text.startsWith(OPENING)) return open(id, text.slice(OPENING.length, -2));
    // An engine may store texts as events.
    if (!isSealedText(text)) return text;
    const { encrypted: _, ...event } = JSON.parse(text) as StoredText;
    // The fields keep their order.
    return JSON.stringify({ ...event, content: await contentOf(id, event.content) });
  }

  const opened: Promise<string | Texts>[] = [];
  let id = first;
  for (const item of events) {
    if (typeof item === "string") opened.push(openOne(item, id));
    else opened.push(item.ending.startsWith(MARK) ? openTexts(item, id) : Promise.resolve(item));
    id += typeof item === "string" ? 1 : countTexts(item);
  }
  return Promise.all(opened);
}

/** Where events are opened. */
interface OpenedFrom {
  /** The id of the first. */
  readonly first: number;
  open(id: number, sealed: string): Promise<string>;
  /** Reads an event before them as it is stored. */
  readAt(id: number): Promise<string | Texts>;
}

/** Whether any of the events is sealed. */
export function hasSealed(events: LoggedEvents): boolean {
  return events.some((item) =>
    typeof item === "string" ? item.startsWith(OPENING) || isSealedText(item) : item.ending.startsWith(MARK),
  );
}

const OPENING = '{"encrypted":"';
const MARK = ',"encrypted":1';

interface StoredText {
  readonly content: string;
  readonly encrypted: number;
}

/** A quote inside of a text is escaped, so the mark is a field. */
function isSealedText(text: string): boolean {
  return text.includes(MARK) && typeOf(text) === "TextOutput";
}

function storedIn(item: string | Texts): string {
  return typeof item === "string" ? (JSON.parse(item) as StoredText).content : contentAt(item, 0);
}

function missing(id: number): AgentError {
  return new AgentError("unavailable", `the content of the text ${id} is not in the log`, {
    hint: "restore it from a backup",
  });
}
