import { Role, TaskState } from "@a2a-js/sdk";
import type { AgentCard, Message, Part, SendMessageRequest, StreamResponse, Task } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import {
  A2AError,
  RequestMalformedError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from "@a2a-js/sdk/errors";
import { AgentError } from "../../../errors.ts";
import type { Environment } from "../../../ports/environment.ts";
import { isObject } from "../../../protocol/json.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import type {
  RemoteEnd,
  RemoteFile,
  RemoteRequest,
  RemoteSession,
} from "../../../runtime/agent/remote-port.ts";
import { backoffMs } from "../../../shared/backoff.ts";
import { pause, unlessAborted } from "../../../shared/clock.ts";
import { sha256 } from "../../../shared/sha256.ts";
import { dataPart, textPart } from "../message.ts";
import type { A2aLimits } from "./a2a-agent.ts";
import type { AgentCards } from "./cards.ts";
import { hasRepeats } from "./connection.ts";
import type { A2aConnection } from "./connection.ts";
import { toEnd, toBrokenEnd, toUnknownEnd } from "./task-end.ts";
import { questionsOf, TaskQuestions } from "./task-questions.ts";
import type { KeptQuestion } from "./task-questions.ts";
import { textOfParts, ToldArtifacts } from "./told-artifacts.ts";
import type { ToldArtifact } from "./told-artifacts.ts";

/** What is the same for all calls of an agent. */
export interface TaskSettings {
  /** The local name of the agent. */
  readonly name: string;
  readonly limits: A2aLimits;
  readonly metadata: boolean;
  readonly memory: "own" | "run";
}

/** What is saved of a call, to go on with its task after a crash. */
interface KeptTask {
  /** Whether the message may have been received. */
  readonly isSent: boolean;
  readonly taskId?: string;
  readonly contextId?: string;
  readonly told: readonly ToldArtifact[];
  readonly open: readonly KeptQuestion[];
  readonly closed: readonly string[];
}

const NEW: KeptTask = { isSent: false, told: [], open: [], closed: [] };

/** The pauses between attempts. */
const PAUSE = { firstMs: 200, mostMs: 5_000 };

/** One call of an agent of A2A: a task, from the message that begins it to its end, or from where an earlier process stopped. */
export class TaskCall {
  readonly #connection: A2aConnection;
  readonly #cards: AgentCards;
  readonly #asked: RemoteRequest;
  readonly #session: RemoteSession;
  readonly #settings: TaskSettings;
  readonly #artifacts: ToldArtifacts;
  readonly #questions: TaskQuestions;
  /** Closes the stream. */
  readonly #hangUp = new AbortController();
  #kept: KeptTask;
  #card: AgentCard | undefined;
  /** The rest of the stream that the message has opened. */
  #opened: AsyncGenerator<StreamResponse, void, undefined> | undefined;
  /** Resolves when it is known which task was begun, if one was. */
  #begun: Promise<unknown> | undefined;

  constructor(
    connection: A2aConnection,
    cards: AgentCards,
    {
      asked,
      session,
      settings,
    }: { readonly asked: RemoteRequest; readonly session: RemoteSession; readonly settings: TaskSettings },
  ) {
    this.#connection = connection;
    this.#cards = cards;
    this.#asked = asked;
    this.#session = session;
    this.#settings = settings;
    this.#kept = (session.kept as KeptTask | undefined) ?? NEW;
    const { told, open, closed } = this.#kept;
    const speaker = { agent: settings.name, depth: 0 };
    this.#artifacts = new ToldArtifacts(connection, session, { speaker, told });
    this.#questions = new TaskQuestions(session, {
      speaker,
      open,
      closed,
      send: (there, parts, callId) => this.#answer(parts, `${callId}/${there}`),
    });
  }

  /** Performs the call. An error ends only this call. */
  async run(): Promise<RemoteEnd> {
    const { signal } = this.#session;
    let canceled: Promise<void> | undefined;
    const stop = (): void => {
      // If only this process stops, the task goes on, and the next activation goes on with it.
      if (!this.#session.released) {
        canceled = Promise.resolve().then(() => this.#session.committed());
        canceled.catch(() => {});
      }
      if (this.#kept.taskId !== undefined) this.#hangUp.abort();
    };
    signal.addEventListener("abort", stop);
    try {
      return (this.#kept.taskId === undefined ? await this.#begin() : undefined) ?? (await this.#follow());
    } catch (thrown) {
      // The end of the call is logged before the task is canceled: if the run has another owner now, the call goes on there.
      const ended = canceled ?? (this.#session.released ? undefined : this.#session.committed());
      ended?.then(
        () => this.#abandon(),
        () => {},
      );
      if (signal.aborted) throw thrown;
      return toBrokenEnd(thrown, this.#settings.name, this.#kept.isSent);
    } finally {
      signal.removeEventListener("abort", stop);
      if (!signal.aborted) this.#hangUp.abort();
    }
  }

  /** Sends the message. Returns an end if the agent answers without a task. */
  async #begin(): Promise<RemoteEnd | undefined> {
    const { name, limits } = this.#settings;
    const { signal } = this.#session;
    const client = await this.#connect();
    const card = this.#card as AgentCard;
    if (this.#kept.isSent && !hasRepeats(card)) return toUnknownEnd(name);
    const message = await this.#toMessage();
    await this.#keep({ isSent: true });
    signal.throwIfAborted();
    // A cancel does not abort it: only a task whose id is known can be canceled.
    const begun = this.#retry(limits.unreachableMs, hasRepeats(card), () =>
      this.#send(client, card, message),
    );
    this.#begun = begun.then(
      ({ payload }) => this.#learn(payload),
      () => {},
    );
    const first = await unlessAborted(begun, signal);
    if (first.payload?.$case === "message") return this.#answered(first.payload.value);
    if (this.#kept.taskId === undefined) throw this.#connection.fault("call_failed", "began no task");
    const { contextId } = this.#kept;
    if (this.#settings.memory === "run" && contextId !== undefined)
      this.#session.memory.set({ context_id: contextId });
    await this.#keep();
    return this.#take(first);
  }

  /** Sends a message, and returns the first thing that the agent says. */
  async #send(client: Client, card: AgentCard, message: SendMessageRequest): Promise<StreamResponse> {
    const options = this.#connection.requestOptions(this.#hangUp.signal, card);
    if (card.capabilities?.streaming !== true) {
      const result = await client.sendMessage(message, options);
      const isMessage = "messageId" in result;
      return { payload: isMessage ? { $case: "message", value: result } : { $case: "task", value: result } };
    }
    const events = client.sendMessageStream(message, options);
    const { value } = await events.next();
    if (value === undefined) throw this.#connection.fault("call_failed", "ended its stream without a task");
    this.#opened = events;
    return value;
  }

  #learn(payload: StreamResponse["payload"]): void {
    if (payload === undefined || payload.$case === "message") return;
    const { value } = payload;
    const taskId = payload.$case === "task" ? payload.value.id : "taskId" in value ? value.taskId : "";
    if (taskId !== "") this.#kept = { ...this.#kept, taskId, contextId: value.contextId };
  }

  /** Logs what the task does, and waits for answers, until it ends. */
  async #follow(): Promise<RemoteEnd> {
    const { limits } = this.#settings;
    const { environment: clock, signal } = this.#session;
    const client = await this.#connect();
    for (let newsAt = clock.monotonic(); ;) {
      this.#session.busy(true);
      const end = await this.#read(client, () => {
        newsAt = clock.monotonic();
      });
      if (end !== undefined && end !== ASKS) return end;
      if (end === ASKS) {
        this.#session.busy(false);
        await unlessAborted(this.#questions.news(), signal);
        newsAt = clock.monotonic();
        continue;
      }
      if (clock.monotonic() - newsAt > limits.silenceMs)
        throw this.#connection.fault("timeout", `said nothing for ${limits.silenceMs} ms`);
      await pause(clock, limits.pollMs, signal);
    }
  }

  /** Logs what one stream tells, then how the task is. `undefined` means that it goes on. */
  async #read(client: Client, heard: () => void): Promise<RemoteEnd | typeof ASKS | undefined> {
    const { signal } = this.#session;
    const card = this.#card as AgentCard;
    const task = { tenant: "", id: this.#kept.taskId ?? "" };
    const options = this.#connection.requestOptions(this.#hangUp.signal, card);
    try {
      if (this.#opened === undefined && card.capabilities?.streaming === true) {
        this.#artifacts.restart();
        this.#opened = client.resubscribeTask(task, options);
      }
      for await (const update of this.#opened ?? []) {
        const end = await this.#take(update);
        heard();
        if (end) return end;
        const state =
          update.payload?.$case === "statusUpdate" ? update.payload.value.status?.state : undefined;
        if (state !== undefined && isAsking(state)) break;
      }
    } catch (thrown) {
      signal.throwIfAborted();
      if (!isPassing(thrown) && !(thrown instanceof A2AError)) throw thrown;
      // The stream broke, or the task has none any more: it is read as it is now.
    } finally {
      this.#opened = undefined;
    }
    const now = await this.#retry(this.#settings.limits.unreachableMs, true, () =>
      client.getTask(task, options),
    );
    this.#artifacts.restart();
    const end = await this.#take({ payload: { $case: "task", value: now } });
    if (end) return end;
    const isAsked = isAsking(now.status?.state);
    this.#questions.take(now, isAsked ? questionsOf(now) : []);
    await this.#keep();
    return isAsked && this.#questions.size > 0 ? ASKS : undefined;
  }

  /** Logs what an update tells. Returns the end of the call, if it is one. */
  async #take({ payload }: StreamResponse): Promise<RemoteEnd | undefined> {
    switch (payload?.$case) {
      case "task":
        for (const artifact of payload.value.artifacts) await this.#artifacts.take(artifact, false);
        await this.#keep();
        return this.#toEnd(payload.value);
      case "artifactUpdate": {
        const { artifact, append } = payload.value;
        if (artifact !== undefined) await this.#artifacts.take(artifact, append);
        await this.#keep();
        return undefined;
      }
      case "statusUpdate":
        return this.#toEnd(payload.value);
      case "message":
        return this.#answered(payload.value);
      case undefined:
        return undefined;
      default: {
        const never: never = payload;
        return never;
      }
    }
  }

  #toEnd({ status }: Pick<Task, "status">): RemoteEnd | undefined {
    const { state, message } = status ?? {};
    const text = textOfParts(message?.parts ?? []);
    if (state === TaskState.TASK_STATE_COMPLETED) return this.#completed(text);
    return toEnd(this.#settings.name, { state, text, code: message?.metadata?.["code"] });
  }

  #completed(text: string): RemoteEnd {
    if (text !== "" && !this.#artifacts.hasText) this.#artifacts.say(text);
    const { data, corrected } = this.#artifacts;
    const isChat = this.#asked.operation === "chat";
    if (isChat && data !== null) this.#artifacts.say(JSON.stringify(data));
    return { ok: true, result: corrected, output: isChat ? null : data, truncated: false };
  }

  /** An answer without a task. */
  async #answered(message: Message): Promise<RemoteEnd> {
    const { messageId: artifactId, parts } = message;
    const artifact = { artifactId, name: "", description: "", parts, metadata: undefined, extensions: [] };
    await this.#artifacts.take(artifact, false);
    await this.#session.committed();
    return this.#completed("");
  }

  /** Sends the answer to a question of the task. */
  async #answer(parts: readonly Part[], place: string): Promise<void> {
    const { name, limits } = this.#settings;
    const { taskId = "", contextId = "" } = this.#kept;
    const client = await this.#connect();
    const options = this.#connection.requestOptions(new AbortController().signal, this.#card as AgentCard);
    const messageId = `msg_${await sha256(`${this.#session.key}/${place}`)}`;
    const message = toRequest({ messageId, taskId, contextId, parts: [...parts], metadata: undefined });
    try {
      await this.#retry(limits.answerMs, true, () => client.sendMessage(message, options));
    } catch (thrown) {
      const text = thrown instanceof Error ? thrown.message : "the answer was refused";
      if (thrown instanceof RequestMalformedError) throw new AgentError("unprocessable", text);
      if (thrown instanceof UnsupportedOperationError || thrown instanceof TaskNotFoundError)
        throw new AgentError("conflict", `agent ${name} no longer waits for this answer`, { cause: thrown });
      throw new AgentError("unavailable", text, { retryAfterS: 1, cause: thrown });
    }
  }

  async #toMessage(): Promise<SendMessageRequest> {
    const { operation, input, metadata, attachments } = this.#asked;
    const { context_id: known } = (this.#session.memory.get() ?? {}) as { readonly context_id?: Json };
    const contextId = this.#settings.memory === "run" && typeof known === "string" ? known : "";
    const text = isObject(input) ? input["input"] : undefined;
    const isChat = operation === "chat" && typeof text === "string";
    const files = await Promise.all(attachments.map((file) => toFilePart(file, this.#settings.limits.bytes)));
    const sent: JsonObject = {
      ...(this.#settings.metadata && metadata),
      ...(!isChat && { operation }),
    };
    return toRequest({
      messageId: `msg_${await sha256(this.#session.key)}`,
      taskId: "",
      contextId,
      parts: [isChat ? textPart(text) : dataPart(input), ...files],
      metadata: Object.keys(sent).length > 0 ? sent : undefined,
    });
  }

  async #connect(): Promise<Client> {
    this.#card = await this.#retry(this.#settings.limits.answerMs, true, () => this.#cards.get());
    return this.#connection.client(this.#card);
  }

  /** Retries what failed for a passing reason. What must not be repeated is tried again only if it was not received. */
  async #retry<Result>(limitMs: number, repeats: boolean, attempt: () => Promise<Result>): Promise<Result> {
    return retryWhilePassing({ clock: this.#session.environment, limitMs, repeats }, attempt);
  }

  /** Cancels the task in the background. */
  async #abandon(): Promise<void> {
    await this.#begun;
    this.#hangUp.abort();
    const { limits } = this.#settings;
    const kept = this.#kept as unknown as Json;
    await cancelKept(this.#connection, this.#cards, { kept, clock: this.#session.environment, limits });
  }

  async #keep(change: Partial<KeptTask> = {}): Promise<void> {
    this.#kept = { ...this.#kept, told: this.#artifacts.kept, ...this.#questions.kept, ...change };
    await this.#session.keep(this.#kept as unknown as Json);
  }
}

/** The task waits for an answer. */
const ASKS = "asks";

function isAsking(state: TaskState | undefined): boolean {
  return state === TaskState.TASK_STATE_INPUT_REQUIRED || state === TaskState.TASK_STATE_AUTH_REQUIRED;
}

/** Cancels the task of a saved call. Never rejects. */
export async function cancelKept(
  connection: A2aConnection,
  cards: AgentCards,
  { kept, clock, limits }: { readonly kept: Json; readonly clock: Environment; readonly limits: A2aLimits },
): Promise<void> {
  const { taskId: id } = kept as unknown as KeptTask;
  if (id === undefined) return;
  try {
    await retryWhilePassing({ clock, limitMs: limits.answerMs, repeats: true }, async () => {
      const card = await cards.get();
      const client = await connection.client(card);
      const options = connection.requestOptions(new AbortController().signal, card);
      await client.cancelTask({ tenant: "", id, metadata: undefined }, options);
    });
  } catch {
    // It has ended, is gone, or is unreachable. The local call is over in any case.
  }
}

async function retryWhilePassing<Result>(
  {
    clock,
    limitMs,
    repeats,
  }: { readonly clock: Environment; readonly limitMs: number; readonly repeats: boolean },
  attempt: () => Promise<Result>,
): Promise<Result> {
  const startedAt = clock.monotonic();
  for (let failures = 0; ; failures += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      const waitMs = backoffMs(PAUSE, failures, clock.random());
      if (!isPassing(thrown) || clock.monotonic() + waitMs - startedAt > limitMs) throw thrown;
      if (!repeats && !wasRefused(thrown)) throw thrown;
      await pause(clock, waitMs);
    }
  }
}

function isPassing(thrown: unknown): boolean {
  return thrown instanceof AgentError && (thrown.code === "unavailable" || thrown.code === "timeout");
}

/** Whether a request has certainly not been received. */
function wasRefused(thrown: unknown): boolean {
  const { cause } = thrown as { readonly cause?: unknown };
  const inner = (cause as { readonly cause?: unknown } | undefined)?.cause;
  const { code } = (inner ?? cause ?? {}) as { readonly code?: unknown };
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN";
}

function toRequest(
  given: Pick<Message, "messageId" | "taskId" | "contextId" | "parts" | "metadata">,
): SendMessageRequest {
  return {
    tenant: "",
    message: { ...given, role: Role.ROLE_USER, extensions: [], referenceTaskIds: [] },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: true,
    },
    metadata: undefined,
  };
}

async function toFilePart(file: RemoteFile, limit: number): Promise<Part> {
  const { name, mimeType, body } = await file.open();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > limit) throw new AgentError("unprocessable", `the file ${name} is larger than ${limit} bytes`);
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return {
    content: { $case: "raw", value: bytes as never },
    metadata: undefined,
    filename: name,
    mediaType: mimeType,
  };
}
