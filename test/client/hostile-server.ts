import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The answer of a server to a request for one of its routes. */
export type Handler = (response: ServerResponse, request: IncomingMessage) => void;

/** The routes of an agent, by the first part of their path. */
export interface Routes {
  readonly describe?: Handler;
  readonly process?: Handler;
  readonly getevents?: Handler;
  readonly request?: Handler;
  readonly runs?: Handler;
  readonly waits?: Handler;
  readonly file?: Handler;
}

/** A server with programmed faults. */
export interface HostileServer extends AsyncDisposable {
  readonly url: string;
  /** The received requests: method, path and body. */
  readonly asked: string[];
}

/** Starts a server that describes itself, accepts every request, and does the rest as programmed. */
export async function startHostile(routes: Routes): Promise<HostileServer> {
  const all: Required<Routes> = {
    describe: json({ name: "fiend", purpose: "Does harm.", endpoints: [], operations: [], tools: [] }),
    process: json(event(1, "RequestStarted")),
    getevents: stream(event(1, "RequestStarted"), completed(2)),
    request: json({ status: "running" }),
    runs: json([]),
    waits: json({ detail: "no such route" }, 404),
    file: json({}),
    ...routes,
  };
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      asked.push(`${request.method} ${request.url} ${body}`);
      const route = /^\/fiend\/(\w+)/.exec(request.url ?? "")?.[1] ?? "file";
      (all[route as keyof Routes] ?? all.file)(response, request);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/fiend`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Answers with JSON. */
export function json(value: unknown, status = 200): Handler {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(value));
  };
}

/** Answers with an event stream and its end. */
export function stream(...events: readonly object[]): Handler {
  return (response) => {
    open(response).end(events.map(frame).join(""));
  };
}

/** Starts an event stream. */
export function open(response: ServerResponse): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  return response;
}

/** An event as a frame. */
export function frame(value: object): string {
  return `id: ${String((value as { readonly id?: number }).id)}\ndata: ${JSON.stringify(value)}\n\n`;
}

/** An event of the only request that the server knows. */
export function event(id: number, type: string, fields: object = {}): object {
  const address = { id, run_id: "run_1", request_id: "req_1", agent: "fiend", role: "assistant", depth: 0 };
  return { ...address, ts: "2026-01-01T00:00:00.000Z", type, ...fields };
}

/** The end of that request. */
export function completed(id: number, fields: object = {}): object {
  return event(id, "RequestCompleted", { finish_reason: "success", result: "fine", output: null, ...fields });
}
