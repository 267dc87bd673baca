import { AgentError } from "../../../errors.ts";
import type { RunReader } from "../../../view/run-reader.ts";
import type { Event } from "../../../protocol/events/events.ts";
import type { Receipt, Runtime } from "../../../runtime/api.ts";
import { CONTENT_BYTES, toItem } from "../wire/content.ts";
import { TASK } from "../wire/messages.ts";
import type { ContentItem } from "../wire/messages.ts";
import { readStanding, toPrompt } from "./open-wait.ts";

/** A part of an answer. */
export interface AnswerPart {
  /** The event that the part ends with. */
  readonly eventId: number;
  readonly status: number;
  readonly content: readonly ContentItem[];
}

interface ReadOptions {
  /** Whether each text is a part of its own. */
  readonly stream: boolean;
  /** Whether a result is sent as JSON even if there are texts. */
  readonly structured?: boolean;
  readonly signal: AbortSignal;
}

/** Reads the answers to quests from the log. */
export class AnswerReader {
  readonly #runtime: Runtime;
  readonly #runs: RunReader;

  constructor(runtime: Runtime, runs: RunReader) {
    this.#runtime = runtime;
    this.#runs = runs;
  }

  /** Reads until the request is completed or waits; the last part says which. */
  async *read(
    receipt: Receipt,
    { stream, structured = false, signal }: ReadOptions,
  ): AsyncGenerator<AnswerPart> {
    const { requestId, runId } = receipt;
    const filter = { types: stream ? (["TextOutput", ...TYPES] as const) : TYPES };
    const files: ContentItem[] = [];
    let streamed = "";
    let { after } = receipt;
    for (;;) {
      const feed = await this.#runtime.answers({ ...receipt, after }, { filter, signal });
      for await (const { events, cursor } of feed.pages) {
        after = cursor;
        for (const text of events) {
          const event = JSON.parse(text) as Event;
          if (event.depth > 0) continue;
          if (event.type === "RequestCompleted") {
            yield { eventId: event.id, ...toEnd(event, files, { streamed, structured }) };
            return;
          }
          if (event.type === "ArtifactGenerated") files.push(await this.#toItem(event));
          if (event.type !== "TextOutput") continue;
          streamed += event.content;
          const content = [...files.splice(0), { text: event.content }];
          yield { eventId: event.id, status: TASK.executing, content };
        }
      }
      if (signal.aborted) return;
      // The request is parked, unless it has continued in the meantime.
      const standing = runId === null ? undefined : await readStanding(this.#runs, runId);
      const wait = standing?.requestId === requestId ? standing.waits[0] : undefined;
      if (wait !== undefined) {
        const content = [...files, { text: toPrompt(wait) }];
        yield { eventId: Math.max(after, wait.waitId), status: TASK.waiting, content };
        return;
      }
    }
  }

  /** The content for a file; a large one is named by its address. */
  async #toItem({
    artifact_id: id,
    mime_type: type,
    size_bytes: size,
    url,
  }: ArtifactGenerated): Promise<ContentItem> {
    if (size > CONTENT_BYTES) return { text: url };
    try {
      const { body } = await this.#runtime.artifact(id);
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      return toItem(type, Buffer.concat(chunks));
    } catch (thrown) {
      if (thrown instanceof AgentError) return { text: url };
      throw thrown;
    }
  }
}

type ArtifactGenerated = Extract<Event, { readonly type: "ArtifactGenerated" }>;
type RequestCompleted = Extract<Event, { readonly type: "RequestCompleted" }>;

const TYPES = ["ArtifactGenerated", "RequestCompleted", "WaitForInput"] as const;

/** The end of a turn. A text that was streamed is not repeated, because callers join all texts. */
function toEnd(
  { finish_reason: reason, result, output, error }: RequestCompleted,
  files: readonly ContentItem[],
  { streamed, structured }: { readonly streamed: string; readonly structured: boolean },
): Pick<AnswerPart, "status" | "content"> {
  if (reason === "canceled") return { status: TASK.broken, content: [...files, { text: "canceled" }] };
  if (reason === "error")
    return { status: TASK.broken, content: [...files, { text: error?.message ?? "the turn failed" }] };
  const json = output === null ? undefined : typeof output === "string" ? output : JSON.stringify(output);
  const text = (structured ? (json ?? result) : (result ?? json)) ?? "";
  const content = text === "" || text === streamed ? files : [{ text }, ...files];
  return { status: TASK.finished, content };
}
