import { Role, TaskState } from "@a2a-js/sdk";
import type { Part, SendMessageRequest, StreamResponse, Task } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory } from "@a2a-js/sdk/client";
import type { Client } from "@a2a-js/sdk/client";
import type { Agent } from "troupe";
import { a2a } from "../../../src/adapters/a2a/index.ts";
import type { A2aOptions } from "../../../src/adapters/a2a/index.ts";
import { RestartableServer } from "../restartable-server.ts";
import type { RestartableSettings } from "../restartable-server.ts";

/** A server on a real socket that speaks A2A, and the unmodified client of the protocol. */
export class A2aServer extends RestartableServer {
  static async start(
    agents: readonly Agent[],
    settings: RestartableSettings = {},
    options: A2aOptions = {},
  ): Promise<A2aServer> {
    const server = new A2aServer(agents, settings, () => a2a(options));
    await server.listen();
    return server;
  }

  client(agent: string, binding: string = "JSONRPC"): Promise<Client> {
    return connect(this.url, agent, binding);
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }
}

/** The client of the protocol for an agent; `0.3` is one that knows the older version alone. */
export async function connect(url: string, agent: string, binding: string = "JSONRPC"): Promise<Client> {
  const card = `${url}/a2a/${agent}/.well-known/agent-card.json`;
  if (binding !== "0.3") {
    const options = { ...ClientFactoryOptions.default, preferredTransports: [binding] };
    return new ClientFactory(options).createFromUrl(card, "");
  }
  const old = (await (await fetch(card)).json()) as Record<string, unknown>;
  delete old["supportedInterfaces"];
  const transports = [new JsonRpcTransportFactory({ legacyCompat: { enabled: true } })];
  const { parseLegacyAgentCard } = await import("@a2a-js/sdk/compat/v0_3/client");
  return new ClientFactory({ transports }).createFromAgentCard(parseLegacyAgentCard(old));
}

/** A message of a user. */
export function say(
  content: string | object,
  { taskId = "", contextId = "", returnImmediately = false, metadata = undefined as object | undefined } = {},
): SendMessageRequest {
  const value = typeof content === "string" ? content : undefined;
  const part: Part = {
    content: value === undefined ? { $case: "data", value: content } : { $case: "text", value },
    metadata: undefined,
    filename: "",
    mediaType: "",
  };
  return {
    tenant: "",
    message: {
      messageId: crypto.randomUUID(),
      taskId,
      contextId,
      role: Role.ROLE_USER,
      parts: [part],
      metadata: metadata as Record<string, unknown> | undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately,
    },
    metadata: undefined,
  };
}

/** What a client has of a task that is streamed. */
export async function gather(stream: AsyncIterable<StreamResponse>): Promise<{
  readonly kinds: readonly string[];
  readonly states: readonly string[];
  readonly text: string;
  readonly id: string;
  readonly isLast: boolean;
}> {
  const kinds: string[] = [];
  const states: string[] = [];
  let [text, id, isLast] = ["", "", false];
  for await (const { payload } of stream) {
    kinds.push(payload?.$case ?? "");
    if (payload?.$case === "task") {
      id = payload.value.id;
      text = textOf(payload.value);
      states.push(stateOf(payload.value));
    }
    if (payload?.$case === "statusUpdate") states.push(stateOf(payload.value));
    if (payload?.$case === "artifactUpdate") {
      const { artifact, append, lastChunk } = payload.value;
      if (artifact?.artifactId !== "answer") continue;
      text = (append ? text : "") + textIn(artifact.parts);
      isLast = lastChunk;
    }
  }
  return { kinds, states, text, id, isLast };
}

export function textOf({ artifacts }: Task): string {
  return textIn(artifacts.filter(({ artifactId }) => artifactId === "answer").flatMap(({ parts }) => parts));
}

export function textIn(parts: readonly Part[]): string {
  return parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
}

/** The state of a task in the words of the protocol. */
export function stateOf({ status }: Pick<Task, "status">): string {
  return (TaskState[status?.state ?? 0] ?? "").replace("TASK_STATE_", "");
}
