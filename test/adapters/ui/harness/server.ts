import { DefaultChatTransport, readUIMessageStream } from "ai";
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import type { Agent } from "troupe";
import { ui } from "troupe/adapters/ui";
import { createClient } from "troupe/client";
import { createChatTransport } from "troupe/client/ui";
import type { ClientTool } from "troupe/protocol";
import { RestartableServer } from "../../restartable-server.ts";
import type { RestartableSettings } from "../../restartable-server.ts";
import { checkFrames } from "./frames.ts";

/** A server on a real socket that serves the UI message stream besides the native protocol. */
export class UiServer extends RestartableServer {
  static async start(agents: readonly Agent[], settings: RestartableSettings = {}): Promise<UiServer> {
    const server = new UiServer(agents, settings, ui);
    await server.listen();
    return server;
  }

  /** A chat with an agent, as `useChat` has it. */
  chat(agent: string, id = "chat-1", headers: Record<string, string> = {}, body: object = {}): UiChat {
    return new UiChat(() => `${this.url}/ui/${agent}`, id, headers, body);
  }

  /** The same over our own protocol. */
  nativeChat(agent: string, id = "chat-1", tools: readonly ClientTool[] = []): UiChat {
    const transport = createChatTransport(createClient(this.url), agent, { tools });
    return new UiChat(() => `${this.url}/ui/${agent}`, id, {}, {}, transport);
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }
}

/** The parts of a page with one chat: its messages, and the transport of the AI SDK. */
export class UiChat {
  readonly id: string;
  readonly #api: () => string;
  readonly #headers: Record<string, string>;
  readonly #body: object;
  readonly #native: ChatTransport<UIMessage> | undefined;
  messages: UIMessage[] = [];
  /** The bytes of the newest answer. */
  text = "";
  #next = 1;

  constructor(
    api: () => string,
    id: string,
    headers: Record<string, string> = {},
    body: object = {},
    native?: ChatTransport<UIMessage>,
  ) {
    this.#native = native;
    this.#api = api;
    this.id = id;
    this.#headers = headers;
    this.#body = body;
  }

  /** The newest message of the assistant. */
  get last(): UIMessage {
    const last = this.messages.at(-1);
    if (last?.role !== "assistant") throw new Error("the last message is not one of the assistant");
    return last;
  }

  /** Says something, and resolves with the answer when it is whole. */
  async say(
    text: string,
    files: readonly { url: string; mediaType: string; filename?: string }[] = [],
  ): Promise<UIMessage> {
    this.begin(text, files);
    return this.read(await this.open());
  }

  /** Adds a message of the user. */
  begin(text: string, files: readonly { url: string; mediaType: string; filename?: string }[] = []): void {
    const parts: UIMessage["parts"] = [
      ...files.map((file) => ({ type: "file" as const, ...file })),
      { type: "text", text },
    ];
    this.messages.push({ id: `user-${this.#next++}`, role: "user", parts });
  }

  /** Changes parts of the newest message, as a page does when a person answers, and sends it. */
  async answer(change: (part: never) => object | undefined): Promise<UIMessage> {
    const { last } = this;
    const parts = last.parts.map((part) => change(part as never) ?? part) as UIMessage["parts"];
    this.messages = [...this.messages.slice(0, -1), { ...last, parts }];
    return this.read(await this.open(last.id), this.last);
  }

  /** Approves or denies what is asked. */
  approve(approved: boolean, reason?: string): Promise<UIMessage> {
    return this.answer((part: { state?: string; approval?: object }) =>
      part.state === "approval-requested"
        ? {
            ...part,
            state: "approval-responded",
            approval: { ...part.approval, approved, ...(reason && { reason }) },
          }
        : undefined,
    );
  }

  /** Gives the output of a tool that the page runs, by a part of its question. */
  output(question: string, output: unknown): Promise<UIMessage> {
    return this.answer((part: { state?: string; input?: { question?: string } }) =>
      part.state === "input-available" && part.input?.question?.includes(question) === true
        ? { ...part, state: "output-available", output }
        : undefined,
    );
  }

  async regenerate(messageId?: string): Promise<UIMessage> {
    const index = messageId === undefined ? -1 : this.messages.findIndex(({ id }) => id === messageId);
    this.messages = this.messages.slice(0, index);
    return this.read(await this.open(messageId, "regenerate-message"));
  }

  /** Sends the messages. */
  open(
    messageId?: string,
    trigger: "submit-message" | "regenerate-message" = "submit-message",
    abortSignal?: AbortSignal,
  ): Promise<ReadableStream<UIMessageChunk>> {
    const { id: chatId, messages } = this;
    return this.#transport().sendMessages({ chatId, messages, messageId, trigger, abortSignal });
  }

  /** Reads on after a disconnect; null if nothing works or waits. */
  async resume(): Promise<UIMessage | null> {
    this.text = "";
    const stream = await this.#transport().reconnectToStream({ chatId: this.id });
    return stream && this.read(stream);
  }

  stop(): Promise<Response> {
    return fetch(`${this.#api()}/${this.id}/stop`, { method: "POST", headers: this.#headers });
  }

  /** Reads a message to its end, and puts it into the list. */
  async read(stream: ReadableStream<UIMessageChunk>, from?: UIMessage): Promise<UIMessage> {
    let message: UIMessage | undefined;
    const states = readUIMessageStream<UIMessage>({
      stream,
      terminateOnError: true,
      ...(from && { message: structuredClone(from) }),
    });
    for await (const state of states) message = state;
    if (message === undefined) throw new Error("the answer has no message");
    const { id } = message;
    const index = this.messages.findIndex((other) => other.id === id);
    if (index === -1) this.messages.push(message);
    else this.messages[index] = message;
    if (this.#native === undefined) await checkFrames(this.text);
    return message;
  }

  #transport(): ChatTransport<UIMessage> {
    if (this.#native !== undefined) return this.#native;
    return new DefaultChatTransport<UIMessage>({
      api: this.#api(),
      headers: this.#headers,
      body: this.#body,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (!response.ok || response.body === null) return response;
        this.text = "";
        const decoder = new TextDecoder();
        const body = response.body.pipeThrough(
          new TransformStream<Uint8Array, Uint8Array>({
            transform: (bytes, controller) => {
              this.text += decoder.decode(bytes, { stream: true });
              controller.enqueue(bytes);
            },
          }),
        );
        return new Response(body, response);
      },
    });
  }
}

/** The texts of a message, without those of the user's thoughts and tools. */
export function textIn({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The tool parts of a message, with what tests look at. */
export function toolsIn({ parts }: UIMessage): readonly Record<string, unknown>[] {
  return parts.flatMap((part) => {
    if (part.type !== "dynamic-tool") return [];
    const { toolName, state, input, output, errorText, approval } = part;
    return [
      {
        toolName,
        state,
        input,
        ...(output !== undefined && { output }),
        ...(errorText && { errorText }),
        ...(approval && { approved: approval.approved }),
      },
    ];
  });
}
