import type * as grpc from "@grpc/grpc-js";
import { loadLibrary } from "../../../../src/adapters/aip/wire/load.ts";
import { SESSION } from "../../../../src/adapters/aip/wire/messages.ts";
import type { AgentMessage, MessageName, MessageTypes } from "../../../../src/adapters/aip/wire/messages.ts";

const { codecs, grpc: library } = await loadLibrary();

/** A client without any of the adapter's own client code. */
export class Client implements Disposable {
  readonly #client: grpc.Client;

  constructor(address: string) {
    const options = { "grpc.use_local_subchannel_pool": 1, "grpc.max_send_message_length": -1 };
    this.#client = new library.Client(address, library.credentials.createInsecure(), options);
  }

  /** Calls a method of the gateway; rejects with its status. */
  call<Response extends MessageName>(
    method: string,
    request: MessageName,
    response: Response,
    message: object,
    service = "GatewayService",
  ): Promise<MessageTypes[Response]> {
    const path = `/grpc_service.${service}/${method}`;
    const encode = codecs[request].encode as (message: object) => Buffer;
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(path, encode, codecs[response].decode, message, (error, answer) =>
        error ? reject(error) : resolve(answer as MessageTypes[Response]),
      );
    });
  }

  /** Calls a tool through the gateway, or directly. */
  tool(message: Partial<MessageTypes["ToolRequest"]>, direct = false): Promise<MessageTypes["ToolResponse"]> {
    const request = { sender_id: "me", receiver_id: "troupe", session_id: "tool_1", ...message };
    return direct
      ? this.call("CallTool", "ToolRequest", "ToolResponse", request, "ToolService")
      : this.call("RouteToolCalling", "ToolRequest", "ToolResponse", request);
  }

  /** Calls a tool in a way that can be canceled. `ended` is the status of the call. */
  cancelableTool(message: Partial<MessageTypes["ToolRequest"]>): {
    cancel(): void;
    readonly ended: Promise<{ readonly code: number }>;
  } {
    const request = { sender_id: "me", receiver_id: "troupe", session_id: "tool_1", ...message };
    const { promise, resolve } = Promise.withResolvers<{ readonly code: number }>();
    const call = this.#client.makeUnaryRequest(
      "/grpc_service.GatewayService/RouteToolCalling",
      codecs.ToolRequest.encode as (message: object) => Buffer,
      codecs.ToolResponse.decode,
      request,
      (error) => resolve({ code: error?.code ?? 0 }),
    );
    return { cancel: () => call.cancel(), ended: promise };
  }

  /** Sends bytes that need not be a message; resolves with the status. */
  garbage(method: string, bytes: Buffer): Promise<{ readonly code: number; readonly details: string }> {
    const asIs = (value: Buffer): Buffer => value;
    const path = `/grpc_service.GatewayService/${method}`;
    const call = this.#client.makeBidiStreamRequest(path, asIs, asIs);
    call.on("error", () => {});
    call.on("data", () => {});
    call.write(bytes);
    call.end();
    return new Promise((resolve) => {
      call.on("status", ({ code, details }) => resolve({ code, details }));
    });
  }

  session(
    { receiver_id = "echo", session_id = `s_${++sessions}`, sender_id = "me" }: Partial<AgentMessage> = {},
    path = "/grpc_service.GatewayService/RouteAgentCalling",
  ): Session {
    const { encode, decode } = codecs.AgentMessage;
    const call = this.#client.makeBidiStreamRequest(path, encode, decode);
    return new Session(call, { receiver_id, session_id, sender_id });
  }

  updates(subscriber: string, nodeIds: readonly string[] = []): Updates {
    const call = this.#client.makeServerStreamRequest(
      "/grpc_service.GatewayService/SubscribeToUpdates",
      codecs.UpdateSubscriptionRequest.encode,
      codecs.NodeUpdate.decode,
      { subscriber_id: subscriber, node_ids: nodeIds },
    );
    return new Updates(call);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }
}

let sessions = 0;

/** What a stream has received and not handed out yet. */
class Received<Message> {
  /** The status of the stream, when it has ended. */
  readonly status: Promise<{ readonly code: number; readonly details: string }>;
  readonly #messages: Message[] = [];
  #wake = (): void => {};
  #isOver = false;

  constructor(call: grpc.ClientReadableStream<Message>) {
    call.on("data", (message: Message) => {
      this.#messages.push(message);
      this.#wake();
    });
    call.on("error", () => {});
    this.status = new Promise((resolve) => {
      call.on("status", ({ code, details }) => {
        this.#isOver = true;
        this.#wake();
        resolve({ code, details });
      });
    });
  }

  /** The next message; `undefined` when the stream has ended. */
  async next(): Promise<Message | undefined> {
    while (this.#messages.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#messages.shift();
  }

  async all(): Promise<Message[]> {
    const messages: Message[] = [];
    for (let next = await this.next(); next !== undefined; next = await this.next()) messages.push(next);
    return messages;
  }
}

export class Updates extends Received<MessageTypes["NodeUpdate"]> {
  /** Resolves when the subscription is active. */
  readonly active: Promise<void>;
  readonly cancel: () => void;

  constructor(call: grpc.ClientReadableStream<MessageTypes["NodeUpdate"]>) {
    super(call);
    this.active = new Promise((resolve) => {
      call.on("metadata", () => resolve());
    });
    this.cancel = () => call.cancel();
  }

  /** The next update as type and node. */
  async what(): Promise<string> {
    const update = await this.next();
    if (update === undefined) return "end";
    const type = ["ADDED", "UPDATED", "REMOVED"][update.update_type];
    return `${type} ${update.node_id}${update.peer ? " with peer" : ""}`;
  }
}

/** The caller's side of a session. */
export class Session extends Received<AgentMessage> {
  readonly ids: Pick<AgentMessage, "receiver_id" | "session_id" | "sender_id">;
  readonly #call: grpc.ClientDuplexStream<AgentMessage, AgentMessage>;
  #sent = 0;

  constructor(
    call: grpc.ClientDuplexStream<AgentMessage, AgentMessage>,
    ids: Pick<AgentMessage, "receiver_id" | "session_id" | "sender_id">,
  ) {
    super(call);
    this.#call = call;
    this.ids = ids;
  }

  /** Sends a message; returns its id. */
  send(status: keyof typeof SESSION, text?: string, more: Partial<AgentMessage> = {}): string {
    this.#sent += 1;
    const message = {
      ...this.ids,
      session_status: SESSION[status],
      message_id: `${this.ids.session_id}-m${this.#sent}`,
      reply_to_message_id: "",
      content: text === undefined ? [] : [{ text }],
      ...more,
    };
    this.#call.write(message);
    return message.message_id;
  }

  start(text?: string, more?: Partial<AgentMessage>): string {
    return this.send("startQuest", text, more);
  }

  hold(text?: string, more?: Partial<AgentMessage>): string {
    return this.send("holdQuest", text, more);
  }

  stop(text?: string): string {
    return this.send("stopQuest", text);
  }

  halfClose(): void {
    this.#call.end();
  }

  cancel(): void {
    this.#call.cancel();
  }
}

/** The texts of a message. */
export function textOf(message: Pick<AgentMessage, "content"> | undefined): string {
  return message?.content.map(({ text }) => text ?? "").join("|") ?? "no message";
}

/** The name of a message's session status and task status. */
export function statusOf(message: AgentMessage | undefined): string {
  const session = Object.entries(SESSION).find(([, number]) => number === message?.session_status)?.[0];
  const task = ["CREATE", "EXECUTING", "WAITING", "BREAK", "FINISH"][message?.task_info?.task_status ?? -1];
  return `${session} ${task}`;
}
