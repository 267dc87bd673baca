import type { EventLog } from "../../../ports/event-log.ts";
import type { RequestEntry } from "../../../ports/log-entries.ts";
import type { CallId, RunId } from "../../../protocol/ids.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import type { PromptRecord } from "../../journal/records.ts";
import { forEachEntry, readRecord } from "../entries/visit.ts";

/** A prompt as a whole. */
export interface WholePrompt {
  readonly record: PromptRecord;
  readonly messages: readonly Json[];
  readonly fields: JsonObject;
  /** Whether texts of it were cut. */
  readonly cut: boolean;
}

/** Reads the newest prompt of a completion of a started request; `undefined` if the log has none. */
export async function readPrompt(
  log: EventLog,
  { runId, started, completed = Infinity }: RequestEntry,
  callId: CallId,
): Promise<WholePrompt | undefined> {
  if (started === undefined) return undefined;
  let found: PromptRecord | undefined;
  const range = { head: started, records: 0, end: completed };
  await forEachEntry(log, runId, range, {
    event() {},
    texts() {},
    record(record) {
      if (record.type === "Prompt" && record.call_id === callId) found = record;
    },
  });
  return found && assemble(log, runId, found);
}

/** Adds the parts of a prompt, from the whole one at the beginning. */
async function assemble(log: EventLog, runId: RunId, record: PromptRecord): Promise<WholePrompt | undefined> {
  const parts = [record];
  for (let { base } = record; base !== undefined; base = parts.at(-1)?.base) {
    const earlier = (await readRecord(log, runId, base)) as PromptRecord | undefined;
    if (earlier === undefined) return undefined;
    parts.push(earlier);
  }
  let messages: readonly Json[] = [];
  let fields: JsonObject = {};
  for (const part of parts.toReversed()) {
    const before = fields;
    messages = [...messages.slice(0, part.keep), ...part.messages];
    fields = Object.fromEntries(
      Object.keys(part.frame).map((name) => [
        name,
        (Object.hasOwn(part.fields, name) ? part.fields[name] : before[name]) ?? null,
      ]),
    );
  }
  return { record, messages, fields, cut: parts.some(({ cut }) => cut === true) };
}
