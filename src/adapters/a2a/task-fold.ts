import { Role, TaskState } from "@a2a-js/sdk";
import type { Artifact, Message, Part, StreamResponse, Task, TaskStatus } from "@a2a-js/sdk";
import { EventDecoder } from "../../protocol/events/encode.ts";
import type { Json } from "../../protocol/json.ts";
import { RunFold } from "../../view/fold.ts";
import type { Change, TurnView, WaitView } from "../../view/run-view.ts";
import { unsaidOf } from "../../view/segment-fold.ts";
import { openWaitsOf } from "../../view/segments.ts";
import { toQuestion } from "../../view/to-answer.ts";
import { dataPart, filePart, textPart } from "./message.ts";
import type { TaskPlace } from "./place.ts";

/** The name of the artifact with what the agent says. */
const ANSWER = "answer";

/**
 * Turns the events of a request into a task and into the updates of a stream. Equal events give equal tasks and updates, so a second
 * reader and a restart of the server get the same.
 */
export class TaskFold {
  readonly #place: TaskPlace;
  readonly #contextId: string;
  readonly #decoder = new EventDecoder();
  readonly #fold = new RunFold();
  readonly #history: Message[] = [];
  readonly #files: Artifact[] = [];
  #text = "";
  #output: Artifact | undefined;
  #status: TaskStatus;
  #at: string;
  #hasEnded = false;

  /** `createdAt` is when the request was accepted. */
  constructor(place: TaskPlace, contextId: string, createdAt: string) {
    this.#place = place;
    this.#contextId = contextId;
    this.#at = createdAt;
    this.#status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: createdAt };
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Takes the next event of the request, and returns the updates that it causes. */
  take(text: string): readonly StreamResponse[] {
    const event = this.#decoder.decode(text);
    this.#at = event.ts;
    return this.#fold.take(event).flatMap((change) => this.#apply(change));
  }

  /** The update of a request that waits for its caller. */
  endAtWait(): readonly StreamResponse[] {
    const waits = openWaitsOf(this.#fold.view, this.#place.requestId);
    const [oldest] = waits;
    if (this.#hasEnded || oldest === undefined) return [];
    const parts = waits.flatMap((wait) => [textPart(toQuestion(wait)), questionPart(wait)]);
    const message = this.#say(Role.ROLE_AGENT, oldest.waitId, parts, { wait_id: oldest.waitId });
    return [this.#become(TaskState.TASK_STATE_INPUT_REQUIRED, message)];
  }

  /** The task as of the newest event. Without a length it has all messages. */
  task({
    historyLength,
    artifacts = true,
  }: { readonly historyLength?: number | undefined; readonly artifacts?: boolean } = {}): Task {
    const answer = this.#text === "" ? [] : [this.#answer(this.#text)];
    const output = this.#output === undefined ? [] : [this.#output];
    const length = historyLength ?? this.#history.length;
    return {
      id: this.#place.requestId,
      contextId: this.#contextId,
      status: this.#status,
      artifacts: artifacts ? [...answer, ...output, ...this.#files] : [],
      history: length === 0 ? [] : this.#history.slice(-length),
      metadata: { run_id: this.#place.runId },
    };
  }

  #apply(change: Change): readonly StreamResponse[] {
    switch (change.type) {
      case "input": {
        const { input } = change.turn;
        this.#hear([typeof input === "string" ? textPart(input) : dataPart(input)]);
        return [this.#become(TaskState.TASK_STATE_WORKING)];
      }
      case "answer":
        this.#hear([dataPart(change.wait.answer ?? {})], { wait_id: change.wait.waitId });
        return [this.#become(TaskState.TASK_STATE_WORKING)];
      case "expiry":
        return [this.#become(TaskState.TASK_STATE_WORKING)];
      case "text": {
        if (change.part.depth > 0 || change.part.kind !== "text") return [];
        const append = this.#text !== "";
        this.#text += change.text;
        return [this.#update(this.#answer(change.text), { append })];
      }
      case "attempt":
        return this.#sayAgain();
      case "file": {
        const { file } = change.part;
        if (!file.isGenerated) return [];
        const artifact = toArtifact(file.artifactId, file.name, [
          filePart(file.url, file.name, file.mimeType),
        ]);
        this.#files.push(artifact);
        return [this.#update(artifact, { lastChunk: true })];
      }
      case "end":
        return this.#end(change.turn);
      case "wait":
      case "call":
      case "result":
      case "rest":
      case "progress":
      case "received":
        return [];
      default: {
        const never: never = change;
        return never;
      }
    }
  }

  /** A call that is made again takes back what its earlier attempts said. */
  #sayAgain(): readonly StreamResponse[] {
    const { parts } = this.#fold.view;
    const said = parts
      .flatMap((part) => (part.kind === "text" && part.depth === 0 ? part.text : []))
      .join("");
    if (said === this.#text) return [];
    this.#text = said;
    return [this.#update(this.#answer(said))];
  }

  #end(turn: TurnView): readonly StreamResponse[] {
    this.#hasEnded = true;
    const updates: StreamResponse[] = [];
    const { output, error } = turn;
    const unsaid = unsaidOf(this.#fold.view, turn);
    const append = this.#text !== "";
    this.#text += unsaid;
    if (this.#text !== "") updates.push(this.#update(this.#answer(unsaid), { append, lastChunk: true }));
    if (output !== undefined && output !== null && typeof output !== "string") {
      this.#output = toArtifact("output", "output", [dataPart(output)]);
      updates.push(this.#update(this.#output, { lastChunk: true }));
    }
    const parts = error === undefined ? [] : [textPart(error.message)];
    const message = error && this.#say(Role.ROLE_AGENT, turn.endedId ?? 0, parts, { code: error.code });
    return [...updates, this.#become(stateOf(turn), message)];
  }

  #become(state: TaskState, message?: Message): StreamResponse {
    this.#status = { state, message, timestamp: this.#at };
    const value = { ...this.#ids(), status: this.#status, metadata: undefined };
    return { payload: { $case: "statusUpdate", value } };
  }

  #update(artifact: Artifact, { append = false, lastChunk = false } = {}): StreamResponse {
    const value = { ...this.#ids(), artifact, append, lastChunk, metadata: undefined };
    return { payload: { $case: "artifactUpdate", value } };
  }

  #answer(text: string): Artifact {
    return toArtifact(ANSWER, ANSWER, [textPart(text)]);
  }

  /** Adds what the caller says to the history. */
  #hear(parts: Part[], metadata?: Record<string, Json>): void {
    this.#history.push(this.#say(Role.ROLE_USER, this.#fold.view.head, parts, metadata));
  }

  #say(role: Role, event: number, parts: Part[], metadata?: Record<string, Json>): Message {
    return {
      messageId: `${this.#place.requestId}~${event}`,
      ...this.#ids(),
      role,
      parts,
      metadata,
      extensions: [],
      referenceTaskIds: [],
    };
  }

  #ids(): { readonly taskId: string; readonly contextId: string } {
    return { taskId: this.#place.requestId, contextId: this.#contextId };
  }
}

function questionPart({ waitId, questions, schema, approval, expiresAt }: WaitView): Part {
  const part = dataPart({
    wait_id: waitId,
    questions,
    ...(schema !== undefined && { schema }),
    ...(approval !== undefined && { approval }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  });
  return { ...part, metadata: { wait_id: waitId } };
}

function stateOf({ outcome, error }: TurnView): TaskState {
  if (outcome === "success") return TaskState.TASK_STATE_COMPLETED;
  if (outcome === "canceled") return TaskState.TASK_STATE_CANCELED;
  return error?.code === "unsupported_input" ? TaskState.TASK_STATE_REJECTED : TaskState.TASK_STATE_FAILED;
}

function toArtifact(artifactId: string, name: string, parts: Part[]): Artifact {
  return { artifactId, name, description: "", parts, metadata: undefined, extensions: [] };
}
