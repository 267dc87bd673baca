import { depthOf, plainTextOf, requestIdOf, typeOf } from "../protocol/events/encode.ts";
import type { Event } from "../protocol/events/events.ts";
import type { RequestId } from "../protocol/ids.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import { RequestProjection, toFile } from "./request-projection.ts";
import type { ProjectedRequest, RunFile, Segment } from "./segment.ts";

/** What a run was created with, if it was created without a request. */
export interface RunCreation {
  readonly input: Json;
  readonly metadata: JsonObject;
}

/**
 * The state of a run as other protocols show it: a pure fold of its events, in the order of the log. The events of
 * requests may interleave: a request that is canceled in the queue lies in the middle of another one's events.
 */
export class RunProjection {
  created: RunCreation | undefined;
  readonly #requests = new Map<RequestId, RequestProjection>();
  readonly #files: RunFile[] = [];
  #length = 0;

  /** The requests whose turns have started, in the order of their starts. */
  get requests(): readonly ProjectedRequest[] {
    return [...this.#requests.values()];
  }

  /** All segments, in the order in which they began. */
  get segments(): readonly Segment[] {
    return [...this.#requests.values()].flatMap(({ segments }) => segments).sort((a, b) => a.id - b.id);
  }

  /** Generated and uploaded files, oldest first. */
  get files(): readonly RunFile[] {
    return this.#files;
  }

  /** The approximate number of characters that it holds. */
  get length(): number {
    return this.#length;
  }

  /** A request; `undefined` if its turn has not started. */
  request(requestId: RequestId): ProjectedRequest | undefined {
    return this.#requests.get(requestId);
  }

  /** Adds the next encoded event. */
  add(text: string): void {
    const type = typeOf(text);
    // Most events are texts, or shown nowhere; neither must be parsed as a whole.
    if (!SHOWN.has(type)) return;
    if (type === "TextOutput") {
      const plain = plainTextOf(text);
      if (plain !== undefined) {
        this.#length += plain.length;
        this.#requests.get(requestIdOf(text) ?? "")?.addText(plain);
        return;
      }
      if (depthOf(text) > 0) return;
    }
    this.#length += text.length;
    const event = JSON.parse(text) as Event;
    switch (event.type) {
      case "RunCreated":
        this.created = { input: event.input, metadata: event.metadata };
        return;
      case "ArtifactUploaded":
        this.#files.push(toFile(event));
        return;
      case "RequestStarted":
        this.#start(event);
        return;
      case "ArtifactGenerated":
        this.#files.push(toFile(event));
        break;
      default:
        break;
    }
    this.#requests.get(requestIdOf(text) ?? "")?.add(event);
  }

  /** Only the start of the requested agent is in the log; a callee's is not. */
  #start(event: Event & { readonly type: "RequestStarted" }): void {
    this.#requests.set(event.request_id, new RequestProjection(event));
  }
}

const SHOWN: ReadonlySet<Event["type"]> = new Set([
  "RunCreated",
  "ArtifactUploaded",
  "RequestStarted",
  "TextOutput",
  "CompletionCall",
  "ArtifactGenerated",
  "WaitForInput",
  "ResumeWithInput",
  "WaitExpired",
  "ToolResult",
  "ToolError",
  "RequestCompleted",
]);

/** Folds encoded events into the state of their run. */
export function projectRun(events: Iterable<string>): RunProjection {
  const projection = new RunProjection();
  for (const event of events) projection.add(event);
  return projection;
}
