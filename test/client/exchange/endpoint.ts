import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** What an endpoint was sent. */
export interface Sent {
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** An HTTP endpoint that speaks no protocol of agents, until the end of the test. */
export interface Endpoint {
  readonly url: string;
  /** What it was sent, oldest first. */
  readonly sent: readonly Sent[];
  /** Resolves when the connection of a request is gone before its answer is complete. */
  readonly abandoned: Promise<void>;
}

/** Starts an endpoint; `answer` answers each request. */
export async function startEndpoint(
  answer: (response: ServerResponse, sent: Sent, number: number) => unknown,
): Promise<Endpoint> {
  const sent: Sent[] = [];
  const gone = Promise.withResolvers<void>();
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk as string;
    const { method = "", headers } = request;
    const received = { method, headers, body };
    sent.push(received);
    response.on("close", () => {
      if (!response.writableFinished) gone.resolve();
    });
    await answer(response, received, sent.length);
  };
  const server = createServer((request, response) => void receive(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/speak?x=1`;
  return { url, sent, abandoned: gone.promise };
}

/** Answers with a body of a type. */
export function say(type: string, body: string | Uint8Array): (response: ServerResponse) => void {
  return (response) => void response.writeHead(200, { "content-type": type }).end(body);
}
