import type * as grpc from "@grpc/grpc-js";
import { loadLibrary } from "../../../../src/adapters/aip/wire/load.ts";
import type { MessageTypes } from "../../../../src/adapters/aip/wire/messages.ts";
import { startProxy } from "./proxy.ts";

const { codecs, grpc: library } = await loadLibrary();

type SessionCall = grpc.ServerDuplexStream<MessageTypes["AgentMessage"], MessageTypes["AgentMessage"]>;

export interface NodeOptions {
  /** Handles a session; default: answers each quest with its text in capitals. */
  readonly session?: (call: SessionCall) => void;
  /** Handles a tool call; a thrown value is its status. */
  readonly tool?: (request: MessageTypes["ToolRequest"]) => Partial<MessageTypes["ToolResponse"]>;
}

/** A node of another maker: an agent and a toolbox on one port. */
export interface FakeNode extends AsyncDisposable {
  readonly address: string;
  readonly agent: (id: string, more?: object) => object;
  readonly toolbox: (id: string) => object;
  /** How the sessions here ended: `ended` here, or `canceled` by the other side. */
  readonly ends: string[];
  /** Drops all connections at once. */
  kill(): void;
}

export async function startNode({ session = shout, tool = add }: NodeOptions = {}): Promise<FakeNode> {
  const server = new library.Server();
  const ends: string[] = [];
  server.addService(
    {
      CallAgent: {
        path: "/grpc_service.AgentService/CallAgent",
        requestStream: true,
        responseStream: true,
        requestSerialize: codecs.AgentMessage.encode,
        requestDeserialize: codecs.AgentMessage.decode,
        responseSerialize: codecs.AgentMessage.encode,
        responseDeserialize: codecs.AgentMessage.decode,
      },
    },
    {
      CallAgent(call: SessionCall) {
        call.on("error", () => {});
        // The library emits this event after every session.
        call.on("cancelled", () => ends.push(call.writableEnded ? "ended" : "canceled"));
        session(call);
      },
    },
  );
  server.addService(
    {
      CallTool: {
        path: "/grpc_service.ToolService/CallTool",
        requestStream: false,
        responseStream: false,
        requestSerialize: codecs.ToolRequest.encode,
        requestDeserialize: codecs.ToolRequest.decode,
        responseSerialize: codecs.ToolResponse.encode,
        responseDeserialize: codecs.ToolResponse.decode,
      },
    },
    {
      CallTool(
        { request }: grpc.ServerUnaryCall<MessageTypes["ToolRequest"], MessageTypes["ToolResponse"]>,
        callback: grpc.sendUnaryData<MessageTypes["ToolResponse"]>,
      ) {
        const { sender_id: receiver, receiver_id: sender, session_id } = request;
        const base = {
          sender_id: sender,
          receiver_id: receiver,
          session_id,
          is_error: false,
          error_message: "No Error",
        };
        try {
          callback(null, { ...base, content: [], ...tool(request) });
        } catch (thrown) {
          callback(thrown as grpc.ServiceError);
        }
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", library.ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
  const { address, kill } = await startProxy(port);
  return {
    address,
    ends,
    agent: (id, more) => ({ agent_id: id, address, name: id, domain: "default", ...more }),
    toolbox: (id) => ({
      toolbox_id: id,
      address,
      name: id,
      domain: "math",
      tools: [
        { name: "add", description: "Adds.", arguments: `{'a': "<class 'int'>", 'b': "<class 'int'>"}` },
      ],
    }),
    kill,
    async [Symbol.asyncDispose]() {
      kill();
      server.forceShutdown();
    },
  };
}

/** Answers a message of a session. */
export function reply(
  call: SessionCall,
  message: MessageTypes["AgentMessage"],
  more: Partial<MessageTypes["AgentMessage"]>,
): void {
  call.write({
    sender_id: message.receiver_id,
    receiver_id: message.sender_id,
    session_id: message.session_id,
    session_status: 2,
    message_id: "",
    reply_to_message_id: "",
    content: [],
    ...more,
  });
}

function shout(call: SessionCall): void {
  call.on("data", (message: MessageTypes["AgentMessage"]) => {
    const text = message.content
      .map(({ text }) => text ?? "")
      .join("")
      .toUpperCase();
    const isStop = message.session_status === 3;
    reply(call, message, { session_status: isStop ? 4 : 2, content: [{ text }] });
    if (isStop) call.end();
  });
}

function add({ arguments: text }: MessageTypes["ToolRequest"]): Partial<MessageTypes["ToolResponse"]> {
  const { a, b } = JSON.parse(text) as { readonly a: number; readonly b: number };
  return { content: [{ text: String(a + b) }] };
}
