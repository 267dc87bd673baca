import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { AgentError } from "../../errors.ts";
import type { RunStatus } from "../../protocol/answers/status.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { ClientTool, ResumeWithInput } from "../../protocol/requests/requests.ts";
import { conversationKey } from "../../view/conversation-key.ts";
import { given } from "../../view/event.ts";
import type { RunView, TurnView } from "../../view/run-view.ts";
import { MessageReader, newestMessage } from "../../view/ui/message-reader.ts";
import type { QuestionEvent } from "../../view/ui/message-reader.ts";
import { answerIdOf, isTextAnswer, messageIdOf, pageRequestId, waitToolId } from "../../view/ui/names.ts";
import { findTurnAgain } from "../../view/ui/past-turns.ts";
import { earlierTexts, readToolAnswers, toGivenAnswer } from "../../view/ui/tool-answers.ts";
import type { UiPart } from "../../view/ui/tool-answers.ts";
import { findTypedWait, toWaitValues } from "../../view/wait-answers.ts";
import type { AgentCall, AgentCallOptions, OpenWait } from "../call-api.ts";
import type { AgentClient, Client } from "../client-api.ts";
import { requestsBehind } from "../requests/requests.ts";
import { hasCode } from "../wire/problem.ts";
import { retry } from "../wire/retry.ts";
import type { Ask, Wire } from "../wire/wire.ts";
import { toUserParts } from "./said.ts";

/** What `createChatTransport` takes besides the server and the agent. */
export interface ChatTransportOptions {
  /** Tools that the page runs; `onToolCall` of `useChat` gets their calls. */
  readonly tools?: readonly ClientTool[];
  /** Reaches the agent with each request. */
  readonly metadata?: JsonObject;
}

/** A transport of `useChat` over our own protocol. */
export interface AgentChatTransport<Message extends UIMessage = UIMessage> extends ChatTransport<Message> {
  /** Cancels what a chat does, and what waits for its turn. The `stop` of `useChat` only stops the reading. */
  cancel(chatId: string): Promise<void>;
}

/**
 * Creates a transport of `useChat` of the AI SDK that talks to an agent over our own protocol, which goes on behind the newest event
 * when a connection breaks or the server starts again. The chats are those of the adapter `ui`.
 */
export function createChatTransport<Message extends UIMessage = UIMessage>(
  client: Client,
  agent: string,
  options: ChatTransportOptions = {},
): AgentChatTransport<Message> {
  const chats = new Chats(client, agent, options);
  return {
    resumeStreamIsReplay: true,
    sendMessages: ({ chatId, messages, trigger, messageId, abortSignal, body, metadata }) =>
      chats.send({
        chatId,
        messages,
        isAgain: trigger === "regenerate-message",
        messageId,
        signal: abortSignal,
        body: { ...body, ...(isObject(metadata) && metadata) } as JsonObject,
      }),
    reconnectToStream: ({ chatId, abortSignal }) => chats.reconnect(chatId, abortSignal),
    cancel: (chatId) => chats.cancel(chatId),
  };
}

/** A message as a page has it. */
type PageMessage = Pick<UIMessage, "id" | "role"> & { readonly parts: readonly UiPart[] };

/** What a page sends. */
interface Sent {
  readonly chatId: string;
  readonly messages: readonly PageMessage[];
  readonly isAgain: boolean;
  readonly messageId: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly body: JsonObject;
}

/** The run of a chat: by its key, or a run of another client by its id. */
type ChatPlace =
  | { readonly key: string; readonly runId?: RunId }
  | { readonly key?: never; readonly runId: RunId };

/** Which message of a request begins with an event; undefined for none. */
type BeginsAt = (event: Event) => string | undefined;

/** The chats with an agent. */
class Chats {
  readonly #client: Client;
  readonly #name: string;
  readonly #agent: AgentClient;
  readonly #wire: Wire;
  readonly #options: ChatTransportOptions;

  constructor(client: Client, name: string, options: ChatTransportOptions) {
    this.#client = client;
    this.#name = name;
    this.#agent = client.agent(name);
    const wire = requestsBehind(this.#agent)?.wire;
    if (wire === undefined) throw new AgentError("invalid_request", "the client is not one of createClient");
    this.#wire = wire;
    this.#options = options;
  }

  /** Takes what is new in the messages of a page: a text begins a turn or answers a question, a tool part answers its question. */
  async send(sent: Sent): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messages, messageId, isAgain } = sent;
    const place = await this.#find(chatId);
    const last = messages.at(-1);
    if (last === undefined) throw new AgentError("unprocessable", "the chat has no message");
    if (last.role === "assistant") return this.#answerTools(place, last, sent);
    const isChanged = !isAgain && messageId !== undefined && messageId === last.id;
    const view =
      (isAgain || isChanged) && place.runId ? await this.#client.run(place.runId).view() : undefined;
    const again = view && findTurnAgain(toPastTurns(view), { messageId, messages });
    if (again !== undefined) {
      const runId = await this.#leave(place, again.after);
      if (isChanged) return this.#begin({ ...place, runId }, { ...last, id: "" }, sent);
      const { operation, input, attachments } = again.turn;
      const options = { ...this.#given(sent), attachments, runId };
      return this.#read(
        operation === "chat" && typeof input === "string"
          ? this.#agent.chat(input, options)
          : this.#agent.call(operation, input, options),
        sent.signal,
      );
    }
    return (await this.#answerText(place, last, sent)) ?? this.#begin(place, last, sent);
  }

  /** Reads the message that is made, from its start; null if the chat does nothing. */
  async reconnect(
    chatId: string,
    signal: AbortSignal | undefined,
  ): Promise<ReadableStream<UIMessageChunk> | null> {
    const { runId } = await this.#find(chatId);
    // The one that has started is the oldest.
    const requestId = runId && (await this.#open(runId)).at(-1);
    if (requestId === undefined || requestId === "") return null;
    const questions: QuestionEvent[] = [];
    // The id of a request stands for its events.
    const request = this.#client.run(requestId as string);
    for await (const event of request.events({ soFar: true, ...(signal && { signal }) }))
      if (isQuestion(event)) questions.push(event);
    return this.#follow(requestId, signal, newestMessage(requestId, questions));
  }

  async cancel(chatId: string): Promise<void> {
    const { runId } = await this.#find(chatId);
    if (runId !== undefined) await this.#cancelAll(runId);
  }

  async #find(chatId: string): Promise<ChatPlace> {
    const key = await conversationKey("ui", chatId);
    const [keyed] = (await this.#client.runs({ agent: this.#name, key })).runs;
    if (keyed !== undefined) return { key, runId: keyed.run_id };
    try {
      if (chatId !== "" && (await this.#status(chatId)).agent === this.#name) return { runId: chatId };
    } catch (thrown) {
      if (!hasCode(thrown, "not_found", "gone", "invalid_request", "unprocessable")) throw thrown;
    }
    return { key };
  }

  /** Makes a request that is safe to repeat. */
  async #ask<Body>(method: string, path: string, ask?: Ask): Promise<Body> {
    const { clock } = this.#wire;
    const { json } = await retry({ clock, attempts: ATTEMPTS, signal: undefined }, () =>
      this.#wire.ask(method, path, ask),
    );
    return json as Body;
  }

  #runPath(runId: RunId): string {
    return `${this.#client.url}/runs/${encodeURIComponent(runId)}`;
  }

  #status(runId: RunId): Promise<RunStatus> {
    return this.#ask("GET", this.#runPath(runId));
  }

  /** Answers a question. The id makes an answer that is sent twice one, and says whether it begins a message. */
  async #answer(
    { requestId, waitId }: Pick<OpenWait, "requestId" | "waitId">,
    values: JsonObject,
    resumeId: string,
  ): Promise<void> {
    const body: ResumeWithInput = {
      type: "ResumeWithInput",
      request_id: requestId,
      wait_id: waitId,
      request_keys: values,
      resume_id: resumeId,
    };
    await this.#ask("POST", "/process", { query: { wait: true }, body, timeoutMs: ANSWER_MS });
  }

  /** The requests of a run that are not over, the newest first. */
  async #open(runId: RunId): Promise<readonly RequestId[]> {
    const { requests } = await this.#status(runId);
    return requests.flatMap(({ request_id: id, status }) => (status === "completed" ? [] : id));
  }

  async #cancelAll(runId: RunId): Promise<void> {
    for (const id of await this.#open(runId)) await this.#agent.cancel(id);
  }

  #given({ body: { tools, ...metadata } }: Sent): AgentCallOptions {
    const own = (tools as readonly ClientTool[] | undefined) ?? this.#options.tools;
    return { metadata: { ...this.#options.metadata, ...metadata }, ...(own && { tools: own }) };
  }

  async #begin(
    { key, runId }: ChatPlace,
    { id, parts }: PageMessage,
    sent: Sent,
  ): Promise<ReadableStream<UIMessageChunk>> {
    const { text, attachments, rest } = await toUserParts(this.#client, parts);
    // The log has what was said in a chat that exists.
    const earlier = runId === undefined ? earlierTexts(sent.messages) : [];
    const { metadata, ...options } = this.#given(sent);
    const call = this.#agent.chat(text, {
      ...options,
      ...(key === undefined ? { runId } : { key }),
      ...(id !== "" && { requestId: await pageRequestId(this.#name, sent.chatId, id) }),
      metadata: {
        ...metadata,
        ...(rest.length > 0 && { content: rest }),
        ...(earlier.length > 0 && { messages: earlier }),
      },
      ...(attachments.length > 0 && { attachments }),
    });
    return this.#read(call, sent.signal);
  }

  /** Leaves the turns behind an event, in a run that the chat then has no more; the fork of what was before has its key. */
  async #leave({ key, runId }: ChatPlace, after: number): Promise<RunId> {
    if (key === undefined || runId === undefined)
      throw new AgentError("conflict", "a chat that was opened by the id of a run has no other versions", {
        hint: "fork the run, and open the fork",
      });
    await this.#cancelAll(runId);
    const path = `${this.#runPath(runId)}/fork`;
    // Not repeated: each request makes a run.
    const { json } = await this.#wire.ask("POST", path, { body: { after, takes_key: true } });
    return (json as { readonly run_id: RunId }).run_id;
  }

  async #waits(runId: RunId | undefined): Promise<readonly OpenWait[]> {
    return runId === undefined ? [] : ((await this.#client.waits({ runId }))?.waits ?? []);
  }

  /** Answers the oldest question of a chat with a text, which begins a message; undefined if nothing is asked. */
  async #answerText(
    { runId }: ChatPlace,
    { id, parts }: PageMessage,
    { chatId, signal }: Sent,
  ): Promise<ReadableStream<UIMessageChunk> | undefined> {
    const wait = findTypedWait((await this.#waits(runId)).map(toAsked));
    if (wait === undefined) return undefined;
    const text = parts.flatMap(({ text }) => (typeof text === "string" ? text : [])).join("\n");
    const resumeId = await answerIdOf("text", this.#name, chatId, id);
    await this.#answer(wait, toWaitValues(wait, { type: "text", text }), resumeId);
    const { requestId } = wait;
    return this.#follow(requestId, signal, (event) =>
      isAnswer(event, resumeId) ? messageIdOf(requestId, event.id) : undefined,
    );
  }

  /** Answers the questions that a message shows as tool calls. The message goes on. */
  async #answerTools(
    { runId }: ChatPlace,
    { id, parts }: PageMessage,
    { chatId, signal }: Sent,
  ): Promise<ReadableStream<UIMessageChunk>> {
    const waits = (await this.#waits(runId)).map(toAsked);
    const answers = await Promise.all(
      readToolAnswers(parts).map(async (answer) => {
        const wait = waits.find(({ waitId }) => waitToolId(waitId) === answer.toolCallId);
        const resumeId = await answerIdOf("tool", this.#name, chatId, id, answer.toolCallId);
        const values = wait && toWaitValues(wait, toGivenAnswer(wait.waitId, answer));
        return { wait, values, resumeId, toolCallId: answer.toolCallId };
      }),
    );
    for (const { wait, values, resumeId } of answers)
      if (wait !== undefined && values !== undefined) await this.#answer(wait, values, resumeId);
    const first = answers.find(({ wait }) => wait !== undefined) ?? answers.at(-1);
    if (first === undefined)
      throw new AgentError(
        "unprocessable",
        "the last message is one of the assistant and answers no question",
      );
    const requestId = first.wait?.requestId ?? (await this.#answered(runId, first.resumeId));
    if (requestId === undefined)
      throw new AgentError("conflict", `the question ${first.toolCallId} is already answered, or has ended`);
    return this.#follow(requestId, signal, (event) => (isAnswer(event, first.resumeId) ? id : undefined));
  }

  /** The request to which an answer was given before. */
  async #answered(runId: RunId | undefined, resumeId: string): Promise<RequestId | undefined> {
    if (runId === undefined) return undefined;
    return (await this.#client.run(runId).view()).waits.find((wait) => wait.resumeId === resumeId)?.requestId;
  }

  /** Streams the message that a new request begins. */
  async #read(
    call: AgentCall<unknown>,
    signal: AbortSignal | undefined,
  ): Promise<ReadableStream<UIMessageChunk>> {
    await call.runId;
    return this.#follow(call.requestId, signal, messageIdOf(call.requestId));
  }

  /** Streams a message of a request: a whole one, or what follows an event. */
  #follow(
    requestId: RequestId,
    signal: AbortSignal | undefined,
    from: string | BeginsAt,
  ): ReadableStream<UIMessageChunk> {
    const leaving = new AbortController();
    const stop = signal === undefined ? leaving.signal : AbortSignal.any([signal, leaving.signal]);
    const chunks = this.#chunks(this.#agent.request(requestId, { signal: stop }), from);
    return new ReadableStream<UIMessageChunk>({
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => leaving.abort(reason),
    });
  }

  async *#chunks(call: AgentCall<unknown>, from: string | BeginsAt): AsyncGenerator<UIMessageChunk, void> {
    const reader = new MessageReader(typeof from === "string" ? { messageId: from, after: 0 } : undefined);
    for await (const event of call) {
      const messageId = typeof from === "string" ? undefined : from(event);
      if (messageId !== undefined) reader.show({ messageId, after: event.id - 1 });
      for (const chunk of reader.take(event))
        yield chunk.type === "file" ? { ...chunk, url: new URL(chunk.url, this.#client.url).href } : chunk;
      if (reader.hasEnded) return;
    }
    yield* reader.park();
  }
}

/** How often a request is made whose outcome is unknown. */
const ATTEMPTS = 4;

/** Maximum time for the event of an answer. */
const ANSWER_MS = 60_000;

/** A turn of a chat, and the end of the turn before it. */
interface ViewedTurn {
  readonly turn: TurnView;
  readonly after: number;
  readonly messageIds: readonly string[];
}

function toPastTurns({ turns, waits }: RunView): readonly ViewedTurn[] {
  return turns.map((turn, index): ViewedTurn => {
    const { requestId } = turn;
    const answers = waits.filter((wait) => wait.requestId === requestId && isTextAnswer(wait.resumeId));
    return {
      turn,
      after: turns[index - 1]?.endedId ?? 0,
      messageIds: [
        messageIdOf(requestId),
        ...answers.map(({ answeredId }) => messageIdOf(requestId, answeredId)),
      ],
    };
  });
}

function toAsked({ waitId, requestId, questions, schema, tool, approvers, question }: OpenWait) {
  return { waitId, requestId, questions, ...given({ schema, tool, approvers, question }) };
}

function isAnswer(event: Event, resumeId: string): boolean {
  return event.type === "ResumeWithInput" && event.resume_id === resumeId;
}

function isQuestion(event: Event): event is QuestionEvent {
  return event.type === "WaitForInput" || event.type === "ResumeWithInput" || event.type === "WaitExpired";
}
