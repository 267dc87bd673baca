import type { Message, Part, Task } from "@a2a-js/sdk";
import { Role } from "@a2a-js/sdk";
import { AgentError } from "../../../errors.ts";
import type { Approval, Questions } from "../../../protocol/events/event-body.ts";
import type { CallId } from "../../../protocol/ids.ts";
import { isObject } from "../../../protocol/json.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import type { RemoteSession, RemoteSpeaker } from "../../../runtime/agent/remote-port.ts";
import { dataPart, textPart } from "../message.ts";
import { textOfParts } from "./told-artifacts.ts";

/** What a task asks. */
export interface TaskQuestion {
  /** What names the question there. */
  readonly id: string;
  readonly questions: Questions;
  readonly schema?: JsonObject;
  readonly approval?: Approval;
  readonly expiresAt?: number;
}

/** Sends the answer to a question. */
export type SendAnswer = (question: string, parts: readonly Part[], callId: CallId) => Promise<void>;

/** A question that is saved. */
export type KeptQuestion = readonly [here: CallId, there: string];

/** Maximum number of open questions, and of the closed ones that are remembered. */
const LIMIT = 100;

/** The questions of a task: asked here, answered there. */
export class TaskQuestions {
  readonly #session: RemoteSession;
  readonly #speaker: RemoteSpeaker;
  readonly #send: SendAnswer;
  readonly #open = new Map<string, CallId>();
  readonly #closed: string[];
  /** Those whose answer is sent there and not logged here yet. */
  readonly #sending = new Set<string>();
  #hasNews = false;
  #wake = (): void => {};

  constructor(
    session: RemoteSession,
    {
      speaker,
      open,
      closed,
      send,
    }: {
      readonly speaker: RemoteSpeaker;
      readonly open: readonly KeptQuestion[];
      readonly closed: readonly string[];
      readonly send: SendAnswer;
    },
  ) {
    this.#session = session;
    this.#speaker = speaker;
    this.#send = send;
    this.#closed = [...closed];
    for (const [callId, there] of open) {
      this.#open.set(there, callId);
      const over = (): void => this.#close(there);
      session
        .askedBefore({ callId, give: (values) => this.#give(there, callId, values), due: () => this.#tell() })
        .then(over, over);
    }
  }

  get size(): number {
    return this.#open.size;
  }

  /** For the saved state. */
  get kept(): { readonly open: readonly KeptQuestion[]; readonly closed: readonly string[] } {
    return {
      open: [...this.#open].map(([there, callId]) => [callId, there] as const),
      closed: [...this.#closed],
    };
  }

  /** Asks here what a task asks now, and closes what it no longer asks. */
  take(task: Task, asked: readonly TaskQuestion[]): void {
    for (const there of this.#open.keys())
      if (!this.#sending.has(there) && !asked.some(({ id }) => id === there))
        this.#closeAnswered(task, there);
    for (const question of asked) {
      const { id, ...wait } = question;
      if (this.#open.has(id) || this.#closed.includes(id)) continue;
      if (this.#open.size >= LIMIT)
        throw new AgentError(
          "call_failed",
          `agent ${this.#speaker.agent} asks more than ${LIMIT} questions at a time`,
        );
      const callId = this.#session.newCall();
      this.#open.set(id, callId);
      const over = (): void => this.#close(id);
      this.#session
        .ask(this.#speaker, {
          ...wait,
          callId,
          give: (values) => this.#give(id, callId, values),
          due: () => this.#tell(),
        })
        .then(over, over);
    }
  }

  /** Resolves when the task may have gone on. */
  news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#hasNews = false;
        this.#wake = () => {};
        resolve();
      };
      if (this.#hasNews || this.#open.size === 0) this.#wake();
    });
  }

  /** Logs how a question was closed there, by somebody else or by time. */
  #closeAnswered({ history }: Task, there: string): void {
    const callId = this.#open.get(there);
    if (callId === undefined) return;
    const values = answerIn(history, there);
    if (values === undefined) this.#session.expired(callId);
    else this.#session.answered(callId, values);
  }

  #close(there: string): void {
    this.#open.delete(there);
    this.#sending.delete(there);
    this.#closed.push(there);
    if (this.#closed.length > LIMIT) this.#closed.shift();
    this.#tell();
  }

  async #give(there: string, callId: CallId, values: JsonObject): Promise<void> {
    if (!this.#open.has(there)) return;
    this.#sending.add(there);
    try {
      await this.#send(there, [toAnswerPart(there, values)], callId);
    } catch (thrown) {
      this.#sending.delete(there);
      // It was answered or has ended there; the task shows how.
      if ((thrown as AgentError).code === "conflict") this.#tell();
      throw thrown;
    }
  }

  #tell(): void {
    this.#hasNews = true;
    this.#wake();
  }
}

/** The questions of a task that needs input; those of other servers are texts. */
export function questionsOf({ status }: Task): readonly TaskQuestion[] {
  const { message, timestamp = "" } = status ?? {};
  const named = message?.parts.flatMap(toQuestion) ?? [];
  if (named.length > 0) return named;
  const id = message?.messageId || timestamp;
  const text = textOfParts(message?.parts ?? []);
  return [{ id, questions: { [TEXT]: text === "" ? "The agent needs input." : text }, schema: TEXT_SCHEMA }];
}

/** The wait of a server that names its questions. */
function toQuestion({ content, metadata }: Part): readonly TaskQuestion[] {
  const waitId = metadata?.["wait_id"] as unknown;
  const value = (content?.$case === "data" ? content.value : undefined) as unknown;
  if (!Number.isSafeInteger(waitId) || !isObject(value)) return [];
  const { questions, schema, approval, expires_at: until } = value;
  const texts = Object.entries(isObject(questions) ? questions : {}).map(([key, text]) => [
    key,
    String(text),
  ]);
  const expiresAt = typeof until === "string" ? Date.parse(until) : Number.NaN;
  return [
    {
      id: `${NAMED}${waitId as number}`,
      questions: Object.fromEntries(texts) as Questions,
      ...(isObject(schema) && { schema: schema as JsonObject }),
      ...(isApproval(approval) && { approval }),
      ...(Number.isFinite(expiresAt) && { expiresAt }),
    },
  ];
}

function toAnswerPart(there: string, values: JsonObject): Part {
  if (there.startsWith(NAMED)) {
    const part = dataPart(values);
    return { ...part, metadata: { wait_id: Number(there.slice(NAMED.length)) } };
  }
  const { [TEXT]: text } = values;
  if (typeof text === "string") return textPart(text);
  throw new AgentError("unprocessable", "the answer is not a text", {
    issues: [{ path: TEXT, message: "must be a string" }],
  });
}

/** The answer to a question in the history of a task. */
function answerIn(history: readonly Message[], there: string): JsonObject | undefined {
  const said = history.filter(({ role }) => role === Role.ROLE_USER);
  if (!there.startsWith(NAMED)) {
    const text = textOfParts(said.at(-1)?.parts ?? []);
    return said.length < 2 || text === "" ? undefined : { [TEXT]: text };
  }
  const waitId = Number(there.slice(NAMED.length));
  const message = said.find(({ metadata }) => metadata?.["wait_id"] === waitId);
  const values = message?.parts.find(({ content }) => content?.$case === "data")?.content?.value as Json;
  return isObject(values) ? values : undefined;
}

function isApproval(value: unknown): value is Approval {
  return isObject(value) && typeof value["tool"] === "string" && value["args"] !== undefined;
}

/** Of the ids of questions that a server names. */
const NAMED = "wait/";

/** The key of an answer that is a text, and its schema. */
const TEXT = "answer";
const TEXT_SCHEMA: JsonObject = {
  type: "object",
  properties: { [TEXT]: { type: "string" } },
  required: [TEXT],
};
