import { AgentError } from "../../../errors.ts";
import type { CallId } from "../../../protocol/ids.ts";
import type { Json, JsonObject } from "../../../protocol/json.ts";
import type {
  RemoteEnd,
  RemoteRequest,
  RemoteSession,
  RemoteFile,
} from "../../../runtime/agent/remote-port.ts";
import { unlessAborted } from "../../../shared/clock.ts";
import { checkText } from "../../../runtime/journal/json-limits.ts";
import type { ByteStream } from "../rpc/channel.ts";
import { hashParts } from "../../../shared/sha256.ts";
import { contentText, CONTENT_BYTES, readItem, itemBytes } from "../wire/content.ts";
import type { Codecs } from "../wire/codec.ts";
import { SESSION, TASK } from "../wire/messages.ts";
import type { AgentMessage, ContentItem } from "../wire/messages.ts";
import { SessionMessages } from "./session-messages.ts";
import { toFailedEnd, toFailure, toInterrupted } from "./end.ts";
import { storeReceivedFiles } from "./store-files.ts";
import { SENDER } from "./node-connection.ts";
import type { NodeConnection } from "./node-connection.ts";
import { isObject } from "../../../protocol/json.ts";

/** How long the other side may be silent, and how long it may take to end the session. */
const MS = { silence: 600_000, end: 10_000 };

/** The most messages and characters of one call. */
const LIMITS = { messages: 100_000, characters: 64 * 1_048_576 };

/** One call of a remote agent: a session with one quest, and one more for each answer to a question. */
export class SessionCall {
  readonly #node: NodeConnection;
  readonly #name: string;
  readonly #asked: RemoteRequest;
  readonly #session: RemoteSession;
  #sessionId = "";
  #sent = 0;
  #files = 0;
  #characters = 0;
  #received = 0;

  /** `name` is the local name of the agent. */
  constructor(node: NodeConnection, name: string, asked: RemoteRequest, session: RemoteSession) {
    this.#node = node;
    this.#name = name;
    this.#asked = asked;
    this.#session = session;
  }

  /** Performs the call. An error ends only this call. */
  async run(): Promise<RemoteEnd> {
    const { kept, signal } = this.#session;
    const agent = `agent ${this.#name}`;
    if (kept !== undefined) return this.#interrupted(kept);
    let stream: ByteStream | undefined;
    let isSent = false;
    const cancel = (): void => stream?.cancel();
    try {
      const content = await toQuest(this.#name, this.#asked);
      this.#sessionId = `session_${await hashParts(this.#session.key)}`;
      const { channel, library } = await this.#node.connect();
      // From here on a crash leaves open whether the agent has got the quest.
      await this.#session.keep({ sent: true } satisfies SentState);
      signal.throwIfAborted();
      isSent = true;
      stream = channel.stream(this.#node.sessionPath);
      signal.addEventListener("abort", cancel);
      return await this.#converse(stream, library.codecs, content);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      stream?.cancel();
      return toFailedEnd(thrown, agent, isSent);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Ends a call of an earlier process. Its session is gone, so a question that is still open cannot be answered. */
  #interrupted(kept: Json): RemoteEnd {
    const { wait } = kept as SentState;
    const message = `the session with agent ${this.#name} has ended, so its question cannot be answered`;
    const refuse = (): Promise<void> => Promise.reject(new AgentError("conflict", message));
    if (wait !== undefined) void this.#session.askedBefore({ callId: wait, give: refuse });
    return toInterrupted(`agent ${this.#name}`);
  }

  async #converse(stream: ByteStream, codecs: Codecs, content: readonly ContentItem[]): Promise<RemoteEnd> {
    const { environment: clock, signal } = this.#session;
    const send = (status: number, items: readonly ContentItem[]): void =>
      void stream.write(codecs.AgentMessage.encode(this.#toMessage(status, items)));
    const answers = new SessionMessages(stream, codecs);
    this.#session.busy(true);
    send(SESSION.startQuest, content);
    for (;;) {
      const message = await answers.next(clock, MS.silence, signal);
      const status = message?.task_info?.task_status ?? TASK.create;
      const isStopped = message === undefined || message.session_status === SESSION.stopResponse;
      const isEmpty = isStopped && this.#received === 0 && (message?.content.length ?? 0) === 0;
      if (status === TASK.broken || isEmpty) {
        if (!isStopped) await this.#stop(answers, send, stream);
        const why = contentText(message?.content ?? []);
        const reason = why === "" ? "it ended the session without an answer" : why;
        return toFailure("failed", `agent ${this.#name} failed: ${reason}`);
      }
      if (message !== undefined && status === TASK.waiting && !isStopped) {
        await this.#ask(message, answers, (text) => send(SESSION.holdQuest, [{ text }]));
        continue;
      }
      if (message !== undefined) await this.#log(message);
      if (status === TASK.executing && !isStopped) continue;
      if (!isStopped) await this.#stop(answers, send, stream);
      return { ok: true, result: null, output: null, truncated: false };
    }
  }

  /** Asks the caller of the turn what the remote agent asks, and sends the answer there. Resolves when either continues. */
  async #ask(message: AgentMessage, answers: SessionMessages, give: (text: string) => void): Promise<void> {
    const { signal } = this.#session;
    const prompt = contentText(message.content);
    checkText(prompt);
    let isGiven = false;
    const callId = this.#session.newCall();
    const asked = this.#session.ask(
      { agent: this.#name, depth: 0 },
      {
        callId,
        questions: { answer: prompt },
        schema: ANSWER,
        // A promise, so that an error refuses the answer.
        give: async (values) => {
          give(toAnswerText(values));
          isGiven = true;
        },
      },
    );
    await this.#session.keep({ sent: true, wait: callId } satisfies SentState);
    this.#session.busy(false);
    await unlessAborted(Promise.race([asked, answers.news()]), signal);
    // The remote agent may reply before the answer is logged here.
    if (isGiven) await unlessAborted(asked, signal);
    this.#session.busy(true);
  }

  /** Logs the texts and files of a message. */
  async #log({ content }: AgentMessage): Promise<void> {
    const speaker = { agent: this.#name, depth: 0 };
    this.#received += 1;
    const text = contentText(content);
    this.#characters += text.length;
    if (this.#received > LIMITS.messages || this.#characters > LIMITS.characters)
      throw new AgentError("too_large", "it says more than a call may hold");
    for (const content of toParts(text)) this.#session.say(speaker, { type: "TextOutput", content });
    const session = this.#session;
    this.#files = await storeReceivedFiles(content, { session, agent: this.#name, before: this.#files });
    await this.#session.committed();
  }

  /** Ends the session after its answer. What the agent still says to the quest belongs to the answer. */
  async #stop(
    answers: SessionMessages,
    send: (status: number, items: readonly ContentItem[]) => void,
    stream: ByteStream,
  ): Promise<void> {
    const { environment: clock, signal } = this.#session;
    send(SESSION.stopQuest, FAREWELL);
    stream.end();
    try {
      for (;;) {
        const message = await answers.next(clock, MS.end, signal);
        if (message === undefined || message.session_status === SESSION.stopResponse) return;
        await this.#log(message);
      }
    } catch {
      signal.throwIfAborted();
      // The answer is complete; only the end of the session is missing.
      stream.cancel();
    }
  }

  #toMessage(status: number, content: readonly ContentItem[]): AgentMessage {
    this.#sent += 1;
    return {
      sender_id: SENDER,
      receiver_id: this.#node.id,
      session_id: this.#sessionId,
      session_status: status,
      task_info: {
        task_id: `task_${this.#sessionId}`,
        parent_task_ids: toParentTasks(this.#asked),
        task_status: TASK.create,
      },
      message_id: `${this.#sessionId}_${this.#sent}`,
      reply_to_message_id: "",
      content,
    };
  }
}

/** What is saved of a call: that it was sent, and its newest question. */
type SentState = { readonly sent: true; readonly wait?: CallId };

/** Some agents read the text of every message, that of the last one too. */
const FAREWELL: readonly ContentItem[] = [{ text: "GoodBye!" }];

/** The schema of an answer: the protocol has only texts. */
const ANSWER: JsonObject = {
  type: "object",
  properties: { answer: { type: "string" } },
  required: ["answer"],
};

function toAnswerText({ answer }: JsonObject): string {
  if (typeof answer === "string") return answer;
  throw new AgentError("unprocessable", "the answer is not a text", {
    issues: [{ path: "answer", message: "must be a string" }],
  });
}

/** The content of the first quest: the text and the files of a chat. Throws `unprocessable` for anything else. */
async function toQuest(
  name: string,
  { operation, input, attachments }: RemoteRequest,
): Promise<readonly ContentItem[]> {
  const text = isObject(input) ? input["input"] : undefined;
  if (operation !== "chat" || typeof text !== "string")
    throw new AgentError("unprocessable", `agent ${name} has only a chat, whose input is a text`);
  const files = await Promise.all(attachments.map(readFile));
  const items = [...(text === "" && files.length > 0 ? [] : [{ text }]), ...files];
  const size = items.reduce((sum, item) => sum + itemBytes(item), 0);
  if (size <= CONTENT_BYTES) return items;
  throw new AgentError("unprocessable", `the input of agent ${name} is larger than ${CONTENT_BYTES} bytes`);
}

/** The tasks that led to a call: that of the AIP caller with its parents, if there is one, and the turns from the first one on. */
function toParentTasks({ metadata, caller }: RemoteRequest): readonly string[] {
  const { parent_task_ids: parents, task_id: task } = isObject(metadata["aip"]) ? metadata["aip"] : {};
  const named = [...(Array.isArray(parents) ? (parents as readonly unknown[]) : []), task];
  const ids = named.filter((id) => typeof id === "string");
  return [...ids, ...caller.map(({ request_id }) => request_id)];
}

/** Parts of a text, each of which fits into one event. */
function toParts(text: string): readonly string[] {
  return text.match(/[^]{1,32768}(?![\uDC00-\uDFFF])/g) ?? [];
}

async function readFile(file: RemoteFile): Promise<ContentItem> {
  const { mimeType, body } = await file.open();
  return readItem(mimeType, body);
}
