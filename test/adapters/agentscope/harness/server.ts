import type { Agent } from "troupe";
import { agentscope } from "../../../../src/adapters/agentscope/index.ts";
import { RestartableServer } from "../../restartable-server.ts";
import type { RestartableSettings } from "../../restartable-server.ts";
import type { AgentScopeOptions } from "../../../../src/adapters/agentscope/index.ts";
import { AnswerStream } from "./answer-stream.ts";

export type ServerSettings = AgentScopeOptions & RestartableSettings;

/** A server on a real socket that speaks both protocols. The first agent is the default one. */
export class TestServer extends RestartableServer {
  static async start(agents: readonly Agent[], settings: ServerSettings = {}): Promise<TestServer> {
    const server = new TestServer(agents, settings, () => agentscope(settings));
    await server.listen();
    return server;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url + path, { headers });
  }

  post(
    path: string,
    body: unknown,
    {
      headers = {},
      signal,
    }: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
  ): Promise<Response> {
    return fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
  }

  /** Opens the stream of a request. */
  async open(
    body: object,
    path = "/agentscope/process",
    options: { readonly headers?: Record<string, string>; readonly signal?: AbortSignal } = {},
  ): Promise<AnswerStream> {
    return AnswerStream.of(await this.post(path, body, options));
  }

  /** Opens the stream of an address. */
  async openUrl(path: string): Promise<AnswerStream> {
    return AnswerStream.of(await this.get(path));
  }
}

/** A body with one text of the user. */
export function say(text: string, more: object = {}): object {
  return { input: [{ role: "user", type: "message", content: [{ type: "text", text }] }], ...more };
}

/** A body that answers a request for approval. */
export function approve(data: object, more: object = {}): object {
  const content = [{ type: "data", data }];
  return { input: [{ role: "user", type: "mcp_approval_response", content }], ...more };
}
