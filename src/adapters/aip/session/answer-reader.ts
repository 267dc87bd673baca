import { AgentError } from "../../../errors.ts";
import type { Event } from "../../../protocol/events/events.ts";
import type { Receipt, Runtime } from "../../../runtime/api.ts";
import { RunFold } from "../../../view/fold.ts";
import type { RunReader } from "../../../view/run-reader.ts";
import type { FileView, TurnView } from "../../../view/run-view.ts";
import { CONTENT_BYTES, readItem } from "../wire/content.ts";
import { TASK } from "../wire/messages.ts";
import type { ContentItem } from "../wire/messages.ts";
import { readSessionState, toPrompt } from "./open-wait.ts";

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
    const said: Said = { fold: new RunFold(), files: [], text: "" };
    let { after } = receipt;
    for (;;) {
      const feed = await this.#runtime.answers({ ...receipt, after }, { filter, signal });
      for await (const { events, cursor } of feed.pages) {
        after = cursor;
        for (const text of events) {
          const part = await this.#add(said, JSON.parse(text) as Event, structured);
          if (part !== undefined) yield part;
          if (part !== undefined && part.status !== TASK.executing) return;
        }
      }
      if (signal.aborted) return;
      // The request waits for input, unless it has continued in the meantime.
      const standing = runId === null ? undefined : await readSessionState(this.#runs, runId);
      const wait = standing?.requestId === requestId ? standing.waits[0] : undefined;
      if (wait !== undefined) {
        const content = [...said.files, { text: toPrompt(wait) }];
        yield { eventId: Math.max(after, wait.waitId), status: TASK.waiting, content };
        return;
      }
    }
  }

  /** Adds an event to what the agent has said. Returns the part that it ends, if any. */
  async #add(said: Said, event: Event, structured: boolean): Promise<AnswerPart | undefined> {
    for (const change of said.fold.take(event)) {
      if (change.type === "end") return { eventId: event.id, ...toEnd(change.turn, said, structured) };
      if ((change.type !== "file" && change.type !== "text") || change.part.depth > 0) continue;
      if (change.type === "text") {
        said.text += change.text;
        const content = [...said.files.splice(0), { text: change.text }];
        return { eventId: event.id, status: TASK.executing, content };
      }
      said.files.push(await this.#toItem(change.part.file));
    }
    return undefined;
  }

  /** The content for a file; a large one is named by its address. */
  async #toItem({ artifactId, mimeType, sizeBytes, url }: FileView): Promise<ContentItem> {
    if (sizeBytes > CONTENT_BYTES) return { text: url };
    try {
      const { body } = await this.#runtime.artifact(artifactId);
      return await readItem(mimeType, body);
    } catch (thrown) {
      if (thrown instanceof AgentError) return { text: url };
      throw thrown;
    }
  }
}

/** What an agent has said until now. */
interface Said {
  readonly fold: RunFold;
  /** The files that no part has yet. */
  readonly files: ContentItem[];
  /** The texts of all parts. */
  text: string;
}

const TYPES = ["ArtifactGenerated", "RequestCompleted", "WaitForInput"] as const;

/** The end of a turn. A text that was streamed is not repeated, because callers join all texts. */
function toEnd(
  { outcome, result, output = null, error }: TurnView,
  { files, text: streamed }: Said,
  structured: boolean,
): Pick<AnswerPart, "status" | "content"> {
  if (outcome === "canceled") return { status: TASK.broken, content: [...files, { text: "canceled" }] };
  if (outcome === "error")
    return { status: TASK.broken, content: [...files, { text: error?.message ?? "the turn failed" }] };
  const json = output === null ? undefined : typeof output === "string" ? output : JSON.stringify(output);
  const text = (structured ? (json ?? result) : (result ?? json)) ?? "";
  const content = text === "" || text === streamed ? files : [{ text }, ...files];
  return { status: TASK.finished, content };
}
