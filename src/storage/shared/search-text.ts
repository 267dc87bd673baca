import type { RunEntry } from "../../ports/log-entries.ts";
import type { Json } from "../../protocol/json.ts";
import { wordsIn } from "../../shared/words.ts";
import { sealedIn } from "../encrypted/key-ring.ts";

/**
 * What a search finds a run by: its id, key and newest request id, and the words of its first input, of its newest output and
 * error, and of the values of its metadata. All engines store these words and compare them in the same way. What is encrypted
 * has none.
 */
export function wordsOf(
  { runId, alias, agent, lastTurn, initialInput, metadata }: RunEntry,
  output: Json | undefined,
): string {
  // A run of the runtime itself.
  if (agent === "") return "";
  const words = new Set<string>();
  const add = (text: string): void => {
    for (const word of wordsIn(text)) words.add(word);
  };
  for (const id of [runId, alias, lastTurn?.request_id]) if (id !== undefined) add(id);
  add(gather(initialInput, INPUT_CHARACTERS));
  if (output !== undefined) add(gather(output, OUTPUT_CHARACTERS));
  add((lastTurn?.error_message ?? "").slice(0, METADATA_CHARACTERS));
  const { forked_from: _, ...named } = metadata;
  add(gather(named, METADATA_CHARACTERS));
  return [...words].join(" ");
}

/** What is searched of the first input, of the newest output, and of the metadata of a run. */
const INPUT_CHARACTERS = 4_096;
const OUTPUT_CHARACTERS = 4_096;
const METADATA_CHARACTERS = 1_024;

/** The words of a search, each of which has to be the beginning of a word of a run; none if it has no letter and no digit. */
export function wordsOfSearch(text: string): readonly string[] {
  return [...new Set(wordsIn(text, true))].slice(0, SEARCH_WORDS);
}

const SEARCH_WORDS = 16;

/** Whether each word of a search is the beginning of one of the words of a run. */
export function hasWords(words: string, searched: readonly string[]): boolean {
  const all = ` ${words}`;
  return searched.length > 0 && searched.every((word) => all.includes(` ${word}`));
}

/** The newest output of a run, from the event that ended a request. */
export function endedOutput(event: string): Json | undefined {
  const parsed = JSON.parse(event) as {
    readonly type?: string;
    readonly output?: Json;
    readonly result?: Json;
  };
  if (parsed.type !== "RequestCompleted") return undefined;
  return parsed.output ?? parsed.result;
}

/** The texts and numbers of a value, with spaces between them, up to a length. */
function gather(value: Json, most: number): string {
  const texts: string[] = [];
  let left = most;
  const visit = (part: Json): void => {
    if (left <= 0 || part === null || typeof part === "boolean") return;
    if (typeof part === "object") {
      if (sealedIn(part) === undefined) for (const inner of Object.values(part)) visit(inner);
      return;
    }
    const text = String(part).slice(0, left);
    left -= text.length + 1;
    texts.push(text);
  };
  visit(value);
  return texts.join(" ");
}
