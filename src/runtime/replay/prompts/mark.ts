import type { RecordPosition } from "../../../ports/log-batch.ts";
import type { CallId } from "../../../protocol/ids.ts";
import type { PromptRecord } from "../../journal/records.ts";

/** A recorded prompt without its texts: enough to see what is new in the next one. */
export interface PromptMark {
  readonly callId: CallId;
  readonly agent: string;
  readonly actor: CallId;
  readonly at: RecordPosition;
  readonly parts: number;
  readonly frame: { readonly [name: string]: string };
  readonly count: number;
  readonly digest: string;
}

export function toPromptMark(record: PromptRecord, { n, after }: RecordPosition): PromptMark {
  const { call_id: callId, agent, actor, parts, frame, count, digest } = record;
  return { callId, agent, actor, at: { n, after }, parts, frame, count, digest };
}
