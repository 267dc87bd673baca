import { AgentError } from "../../errors.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { RemoteSession, RemoteSpeaker } from "../../runtime/agent/remote-port.ts";
import type { WireEvent } from "../wire/connection.ts";
import { persist } from "../wire/persist.ts";
import { toText } from "./fields.ts";
import { digest, fault, isObject } from "./ids.ts";
import type { RemoteSettings } from "./settings.ts";
import type { RemoteState } from "./state.ts";
import type { Wire } from "../wire/wire.ts";

/** So many questions may be open at a time. */
const LIMIT = 100;

/** The questions that an agent elsewhere has open: asked here, answered there. */
export class RemoteQuestions {
  readonly #wire: Wire;
  readonly #place: RemoteSession;
  readonly #settings: RemoteSettings;
  readonly #open = new Map<CallId, Question>();
  #requestId = "";
  /** Whether there may be something new on the other side since that was last looked for. */
  #hasNews = false;
  #wake = (): void => {};

  constructor(wire: Wire, place: RemoteSession, settings: RemoteSettings) {
    this.#wire = wire;
    this.#place = place;
    this.#settings = settings;
  }

  get size(): number {
    return this.#open.size;
  }

  /** What is open, as it is kept. */
  get kept(): RemoteState["waits"] {
    return [...this.#open].map(([callId, { there }]) => [callId, there] as const);
  }

  /** Whether an answer is on its way, behind which everything has to wait that may follow from it. */
  get isAnswering(): boolean {
    return [...this.#open.values()].some(({ answering }) => answering !== undefined);
  }

  /** Goes on with what an earlier life has asked for a request. */
  restore(requestId: string, waits: RemoteState["waits"]): void {
    this.#requestId = requestId;
    for (const [callId, there] of waits) {
      const question = this.#note(callId, there);
      this.#place
        .askedBefore(callId, (values) => this.#give(callId, values))
        .then(question.end, question.end);
    }
  }

  /** Asks here what is asked there. */
  ask(voice: RemoteSpeaker, { id, wait_id: there, request_keys: keys, schema }: WireEvent): void {
    if (this.#open.size >= LIMIT)
      throw fault(this.#settings.name, `asks more than ${LIMIT} questions at a time`);
    const callId = this.#place.newCall();
    const question = this.#note(callId, Number.isSafeInteger(there) ? (there as number) : id);
    const texts = Object.entries(isObject(keys) ? keys : {}).map(
      ([key, text]) => [key, toText(text)] as const,
    );
    const asked = this.#place.ask(voice, {
      callId,
      questions: Object.fromEntries(texts),
      ...(isObject(schema) && { schema: schema as JsonObject }),
      give: (values) => this.#give(callId, values),
    });
    asked.then(question.end, question.end);
  }

  /** Takes note of an answer that was given there; ours come this way too, and are known already. */
  answered({ wait_id: there, request_keys: values }: WireEvent): void {
    const [callId] = [...this.#open].find(([, question]) => question.there === there) ?? [];
    if (callId !== undefined && isObject(values)) this.#place.answered(callId, values as JsonObject);
  }

  /** Whether there may be something new there since that was last looked for. */
  get hasNews(): boolean {
    return this.#hasNews;
  }

  /** Resolves when no answer is on its way. */
  async settled(): Promise<void> {
    for (const { answering } of this.#open.values()) await answering;
  }

  /** Resolves when the other side may have something new to tell, because a question was answered or is in doubt. */
  news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#hasNews = false;
        // What comes later is news for whoever asks next.
        this.#wake = () => {};
        resolve();
      };
      if (this.#hasNews || this.#open.size === 0) this.#wake();
    });
  }

  #note(callId: CallId, there: number): Question {
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => {
      this.#open.delete(callId);
      resolve();
      this.#tell();
    };
    const question: Question = { there, over: promise, end, answering: undefined };
    this.#open.set(callId, question);
    return question;
  }

  #tell(): void {
    this.#hasNews = true;
    this.#wake();
  }

  /** Gives an answer to the other side, which has the last word on it. */
  async #give(callId: CallId, values: JsonObject): Promise<void> {
    const question = this.#open.get(callId);
    if (question === undefined) return;
    const sent = this.#send(callId, question.there, values);
    question.answering = sent.then(
      () => question.over,
      () => {
        question.answering = undefined;
      },
    );
    await sent;
  }

  async #send(callId: CallId, there: number, values: JsonObject): Promise<void> {
    const { limits, name } = this.#settings;
    const { environment: clock, key } = this.#place;
    const body = {
      type: "ResumeWithInput",
      request_id: this.#requestId,
      wait_id: there,
      request_keys: values,
      resume_id: `res_${await digest(`${key}/${callId}`)}`,
    };
    try {
      await persist({ clock, limitMs: limits.answerMs }, () =>
        this.#wire.ask("POST", "/process", { query: { wait: true }, body, timeoutMs: limits.answerMs / 2 }),
      );
    } catch (thrown) {
      const { code, message } = thrown as AgentError;
      if (code === "unprocessable") throw thrown;
      if (code !== "conflict" && code !== "not_found" && code !== "gone")
        throw new AgentError("unavailable", message, { retryAfterS: 1, cause: thrown });
      // Somebody answered there, or ended it: the events tell what has become of it.
      this.#tell();
      throw new AgentError("conflict", `agent ${name} does not wait for this answer any more`, {
        cause: thrown,
      });
    }
  }
}

interface Question {
  /** How the other side knows it. */
  readonly there: number;
  /** Resolves when its answer has had its turn here. */
  readonly over: Promise<void>;
  readonly end: () => void;
  /** Set while an answer is on its way, until it is logged here. */
  answering: Promise<void> | undefined;
}
