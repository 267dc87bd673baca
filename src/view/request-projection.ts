import type { Event } from "../protocol/events/events.ts";
import { isUnder } from "../protocol/ids.ts";
import type { CallId, RequestId } from "../protocol/ids.ts";
import type { AskedWait, ProjectedRequest, RequestEnd, RunFile, Segment } from "./segment.ts";
import { Texts } from "./request-texts.ts";

type EventOf<Type extends Event["type"]> = Extract<Event, { readonly type: Type }>;

/** Folds the events of one request into its segments. */
export class RequestProjection implements ProjectedRequest {
  readonly requestId: RequestId;
  readonly segments: SegmentProjection[];
  readonly #waits = new Map<number, AskedWait>();

  constructor(started: EventOf<"RequestStarted">) {
    this.requestId = started.request_id;
    this.segments = [new SegmentProjection(started, this.#waits)];
  }

  get end(): RequestEnd | undefined {
    return this.#newest.end;
  }

  /** Adds a text of the agent itself. */
  addText(text: string): void {
    this.#newest.texts.add(text);
  }

  add(event: Event): void {
    switch (event.type) {
      case "TextOutput":
        if (event.depth === 0) this.#newest.texts.add(event.content, event.call_id);
        return;
      case "CompletionCall":
        if (event.depth === 0 && event.attempt > 1) this.#newest.texts.retract(event.call_id);
        return;
      case "ArtifactGenerated":
        this.#newest.files.push(toFile(event));
        return;
      case "WaitForInput":
        this.#waits.set(event.id, toWait(event));
        return;
      case "ResumeWithInput":
      case "WaitExpired":
        this.#continue(event);
        return;
      case "ToolResult":
      case "ToolError":
        this.#close(event.tool_call_id);
        return;
      case "RequestCompleted":
        if (event.depth === 0) this.#complete(event);
        return;
      default:
        return;
    }
  }

  get #newest(): SegmentProjection {
    const newest = this.segments.at(-1);
    if (newest === undefined) throw new TypeError("a request without a segment");
    return newest;
  }

  #continue(event: EventOf<"ResumeWithInput"> | EventOf<"WaitExpired">): void {
    const before = this.#newest;
    before.settle(true);
    this.#waits.delete(event.wait_id);
    this.segments.push(before.next(event));
  }

  /** A call that has ended no longer waits, for example because it was canceled. */
  #close(callId: CallId): void {
    for (const [id, wait] of this.#waits) if (isUnder(wait.callId, callId)) this.#waits.delete(id);
  }

  #complete(event: EventOf<"RequestCompleted">): void {
    const { id: eventId, finish_reason: reason, result, output, error, usage, ts: at } = event;
    this.#waits.clear();
    this.#newest.end = {
      eventId,
      reason,
      result,
      output,
      ...(error && { error }),
      ...(usage && { usage }),
      at,
    };
    this.#newest.settle(false);
  }
}

class SegmentProjection implements Segment {
  readonly id: number;
  readonly requestId: RequestId;
  readonly operation: string;
  readonly input: Segment["input"];
  readonly answer?: NonNullable<Segment["answer"]>;
  readonly startedAt: string;
  readonly files: RunFile[] = [];
  readonly texts: Texts = new Texts();
  end: RequestEnd | undefined;
  isAnswered = false;
  readonly #open: ReadonlyMap<number, AskedWait>;
  /** The waits at its end. */
  #waits: readonly AskedWait[] | undefined;

  constructor(
    began: EventOf<"RequestStarted"> | EventOf<"ResumeWithInput"> | EventOf<"WaitExpired">,
    open: ReadonlyMap<number, AskedWait>,
    request: Pick<Segment, "operation" | "input"> = began as EventOf<"RequestStarted">,
  ) {
    this.id = began.id;
    this.requestId = began.request_id;
    this.operation = request.operation;
    this.input = request.input;
    if (began.type === "ResumeWithInput") this.answer = { waitId: began.wait_id, values: began.request_keys };
    this.startedAt = began.ts;
    this.#open = open;
  }

  get text(): string {
    return this.texts.text;
  }

  get waits(): readonly AskedWait[] {
    return this.#waits ?? [...this.#open.values()];
  }

  next(began: EventOf<"ResumeWithInput"> | EventOf<"WaitExpired">): SegmentProjection {
    return new SegmentProjection(began, this.#open, this);
  }

  settle(isAnswered: boolean): void {
    this.isAnswered = isAnswered;
    this.#waits = [...this.#open.values()];
    this.texts.settle();
  }
}

/** The file that an event added. */
export function toFile(event: EventOf<"ArtifactGenerated"> | EventOf<"ArtifactUploaded">): RunFile {
  const { id, type, artifact_id: artifactId, name, mime_type: mimeType, size_bytes: sizeBytes, url } = event;
  const isGenerated = type === "ArtifactGenerated";
  return { artifactId, name, mimeType, sizeBytes, url, isGenerated, eventId: id };
}

function toWait({
  id,
  call_id: callId,
  request_keys,
  schema,
  expires_at: expiresAt,
}: EventOf<"WaitForInput">): AskedWait {
  return {
    waitId: id,
    callId,
    questions: request_keys,
    ...(schema && { schema }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}
