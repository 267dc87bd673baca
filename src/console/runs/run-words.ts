import { isObject } from "../../protocol/json.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import type { ShownState } from "../run/run-facts.ts";
import { wordsIn } from "../../shared/words.ts";

/** The state of a run in a list. */
export function listedState(run: RunSummary): ShownState | undefined {
  switch (run.status) {
    case "running":
      return { name: "running" };
    case "waiting":
      return run.open_waits === 0 ? toRest(run) : { name: "waiting" };
    case "held":
      return { name: "held" };
    case "idle":
      return endOf(run);
    default: {
      const never: never = run.status;
      return never;
    }
  }
}

/** What was asked first, in one line: the text or the values; without them the operation and the key, as of a schedule. */
export function askedIn({ initial_input: input, key, last_turn: last }: RunSummary): string {
  if (typeof input === "string" && input.trim() !== "") return input.replace(/\s+/g, " ").slice(0, MOST);
  const isEmpty = isObject(input) && Object.keys(input).length === 0;
  if (isObject(input) && !isEmpty) return toPairs(input).slice(0, MOST);
  if (input !== null && input !== "" && !isEmpty) return JSON.stringify(input).slice(0, MOST);
  const operation = last?.operation ?? "";
  return [operation, key].filter((part) => part !== undefined && part !== "").join(" · ") || "no input";
}

/** Why the newest turn failed or is held, in words. */
export function troubleOf({ last_turn: last }: RunSummary): string | undefined {
  return last?.held?.message ?? last?.error_message;
}

/**
 * Where the words of a search are, if not all of them are in what was asked, which is in sight. A row has the beginning of the
 * output and no metadata, so what is found nowhere else is in one of them.
 */
export function foundIn(run: RunSummary, search: string): string | undefined {
  const searched = wordsIn(search, true);
  const has = (text: string | undefined, word: string): boolean =>
    wordsIn(text ?? "").some((known) => known.startsWith(word));
  const input = typeof run.initial_input === "string" ? run.initial_input : JSON.stringify(run.initial_input);
  const rest = searched.filter((word) => !has(input, word));
  if (rest.length === 0) return undefined;
  const { key, run_id: runId, last_turn: last } = run;
  const places = rest.map((word) => {
    if (has(last?.error_message, word)) return "error";
    if (has(last?.result, word)) return "output";
    if (has(key, word)) return "key";
    return has(`${runId} ${last?.request_id ?? ""}`, word) ? "id" : "output or metadata";
  });
  return `in ${[...new Set(places)].join(", ")}`;
}

const MOST = 300;

/** An object as a person would say it: `item: a lamp, count: 2`. */
function toPairs(input: JsonObject): string {
  const pairs = Object.entries(input).map(([name, value]) => {
    return `${name}: ${typeof value === "string" ? value.replace(/\s+/g, " ") : JSON.stringify(value)}`;
  });
  return pairs.join(", ");
}

/** A turn without an open question waits for a time. */
function toRest({ wake_at: wakeAt }: RunSummary): ShownState {
  return wakeAt === undefined ? { name: "waiting", word: "waiting" } : { name: "sleeping" };
}

/** How the newest turn ended; unknown for a run that has had none. */
function endOf({ last_turn: last }: RunSummary): ShownState | undefined {
  if (last?.stopped) return { name: "held", word: "stopped" };
  switch (last?.finish_reason) {
    case "success":
      return { name: "done" };
    case "canceled":
      return { name: "canceled" };
    case "error":
      return { name: "failed", ...(last?.error_code !== undefined && { word: last.error_code }) };
    case undefined:
      return undefined;
    default:
      return undefined;
  }
}
