import OpenAI from "openai";
import type { Agent } from "troupe";
import { openai } from "../../../src/adapters/openai/index.ts";
import { RestartableServer } from "../restartable-server.ts";
import type { RestartableSettings } from "../restartable-server.ts";

/** A server on a real socket that speaks the API of OpenAI, and its unmodified client. */
export class OpenAiServer extends RestartableServer {
  static async start(agents: readonly Agent[], settings: RestartableSettings = {}): Promise<OpenAiServer> {
    const server = new OpenAiServer(agents, settings, () => openai());
    await server.listen();
    return server;
  }

  /** The client of the protocol; it does not try again, so that a test sees what the server says. */
  get client(): OpenAI {
    return new OpenAI({ baseURL: `${this.url}/v1`, apiKey: "none", maxRetries: 0 });
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  }

  /** The events of a run, as the native protocol has them. */
  async events(runId: string): Promise<readonly { readonly type: string }[]> {
    return (await (await fetch(`${this.url}/events/${runId}?since=0`)).json()) as { readonly type: string }[];
  }
}
