import { once } from "node:events";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The parts of a request to a model server that the tests check. */
export interface ChatCompletionRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly tool_call_id?: string;
    readonly tool_calls?: readonly {
      readonly id: string;
      readonly function: { readonly arguments: string };
    }[];
  }[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: object } }[];
}

/** How a server answers one request. */
export type ServerAnswer = (response: ServerResponse) => void;

/** A server with OpenAI's API and programmed answers. */
export class OpenAiServer implements AsyncDisposable {
  readonly url: string;
  readonly requests: ChatCompletionRequest[] = [];
  readonly keys: (string | undefined)[] = [];
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  static async start(...answers: readonly ServerAnswer[]): Promise<OpenAiServer> {
    const server = createServer((request, response) => {
      void (async () => {
        const body = (await new Response(request as never).json()) as ChatCompletionRequest;
        opened.requests.push(body);
        opened.keys.push(request.headers.authorization);
        const answer = answers[opened.requests.length - 1] ?? failing(400, "nothing more is known");
        answer(response);
      })();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const opened = new OpenAiServer(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      async () => {
        server.closeAllConnections();
        server.close();
        await once(server, "close");
      },
    );
    return opened;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}

/** A part of a model's answer. */
export interface Delta {
  readonly content?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly {
    readonly index: number;
    readonly id?: string;
    readonly function: { readonly name?: string; readonly arguments: string };
  }[];
}

/** Streams parts, then the end and the usage. */
export function streaming(reason: string, ...deltas: readonly Delta[]): ServerAnswer {
  return (response) => {
    begin(response, deltas);
    sendChunk(response, {}, reason, { prompt_tokens: 12, completion_tokens: 4, total_tokens: 16 });
    response.end("data: [DONE]\n\n");
  };
}

/** Streams parts, then breaks the connection. */
export function dropping(...deltas: readonly Delta[]): ServerAnswer {
  return (response) => {
    begin(response, deltas);
    // Written data is sent before the socket is cut.
    setImmediate(() => response.destroy());
  };
}

/** Streams parts, then ends without a final part. */
export function breakingOff(...deltas: readonly Delta[]): ServerAnswer {
  return (response) => {
    begin(response, deltas);
    response.end();
  };
}

/** Answers with an error. */
export function failing(
  status: number,
  message: string,
  headers: { readonly [name: string]: string } = {},
): ServerAnswer {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ error: { message } }));
  };
}

function begin(response: ServerResponse, deltas: readonly Delta[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const delta of deltas) sendChunk(response, delta, null);
}

function sendChunk(
  response: ServerResponse,
  delta: Delta,
  finish_reason: string | null,
  usage?: object,
): void {
  const chunk = {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "local",
    choices: [{ index: 0, delta, finish_reason }],
    ...(usage && { usage }),
  };
  response.write(`data: ${JSON.stringify(chunk)}\n\n`);
}
