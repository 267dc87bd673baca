import type { Runtime } from "../../runtime/api.ts";
import type { RunDetails, RunsQuery } from "../../runtime/lists.ts";
import { byteLength } from "../../runtime/journal/json-limits.ts";

/** A page of the list of runs as JSON text. */
export interface RunsText {
  readonly json: string;
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** Reads a page of the list of runs: up to a number of runs and of bytes, but at least one run. */
export async function readRunsPage(
  runtime: Pick<Runtime, "runs">,
  { limit, cursor: start, ...chosen }: RunsQuery,
): Promise<RunsText> {
  const texts: string[] = [];
  let room = PAGE_BYTES - 2;
  let piece = PIECE;
  let cursor = start;

  for (;;) {
    const asked = Math.min(piece, limit - texts.length);
    const { runs, next } = await runtime.runs({ ...chosen, limit: asked, ...(cursor && { cursor }) });
    const found = runs.map(toRunText);
    const fitting = countFitting(found, room);
    if (fitting === found.length || (asked === 1 && texts.length === 0)) {
      texts.push(...found);
      for (const text of found) room -= sizeOf(text);
      cursor = next;
      // A search that found fewer has looked at as many runs as one page may.
      const isSearch = chosen.text !== undefined || chosen.finishReason !== undefined;
      const isLast = texts.length >= limit || (isSearch && found.length < asked);
      if (next === undefined || isLast) return toText(texts, next);
    } else if (fitting === 0 && texts.length > 0) {
      return toText(texts, cursor);
    } else {
      // Only the list knows the cursor of the next page, so the list is read again for the runs that fit.
      piece = Math.max(fitting, 1);
    }
  }
}

/** A run as clients get it. Its metadata is only for adapters. */
export function toRunText({ metadata: _metadata, ...summary }: RunDetails): string {
  return JSON.stringify(summary);
}

const PAGE_BYTES = 1_048_576;

/** Reads few runs at a time, so that even the largest ones need little memory. */
const PIECE = 32;

function countFitting(texts: readonly string[], room: number): number {
  let bytes = 0;
  const index = texts.findIndex((text) => (bytes += sizeOf(text)) > room);
  return index === -1 ? texts.length : index;
}

/** The size of a text and its comma. */
function sizeOf(text: string): number {
  return byteLength(text) + 1;
}

function toText(texts: readonly string[], next: string | undefined): RunsText {
  return { json: `[${texts.join(",")}]`, ...(next !== undefined && { next }) };
}
