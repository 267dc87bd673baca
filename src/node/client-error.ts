import { STATUS_CODES } from "node:http";
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AgentError } from "../errors.ts";
import { toProblem } from "../http/messages/problem.ts";
import type { ProblemReply } from "../http/messages/problem.ts";
import { API_HEADERS } from "../http/messages/reply.ts";

/** Answers data that is not a valid request: too slow, too large, or not HTTP. Then closes the connection. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (socket.writable && !isAnswered(socket)) socket.write(toAnswer(toProblemOf(error.code)));
  socket.destroy();
}

/** Refuses a CONNECT request: this server is not a proxy. Then closes the connection. */
export function refuseConnect(_: unknown, socket: Duplex): void {
  const error = new AgentError("method_not_allowed", "this server is not a proxy; CONNECT is not supported");
  const { headers, ...problem } = toProblem(error);
  // Without this listener, a client that disconnects here would end the process.
  socket.on("error", () => {});
  socket.write(toAnswer({ ...problem, headers: { ...headers, Allow: "GET, HEAD, POST, DELETE" } }));
  socket.destroy();
}

/** Whether an answer has started; a second one would corrupt it. */
function isAnswered(socket: Duplex): boolean {
  // Node's own handler of this event reads the same field.
  const { _httpMessage: message } = socket as { readonly _httpMessage?: ServerResponse | null };
  return message?.headersSent === true;
}

function toAnswer({ status, headers, body }: ProblemReply): string {
  const all = {
    Connection: "close",
    "Content-Type": "application/problem+json",
    "Content-Length": Buffer.byteLength(body),
    ...API_HEADERS,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...lines, "", body].join("\r\n");
}

function toProblemOf(code: string | undefined): ProblemReply {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return toProblem(new AgentError("request_timeout", "the request arrived too slowly"));
    case "HPE_HEADER_OVERFLOW":
      return toProblem(
        new AgentError("too_large", "the request's target and headers are larger than 8192 bytes"),
        { status: 431, title: "Request Header Fields Too Large" },
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return toProblem(new AgentError("too_large", "the body's chunk extensions are too large"));
    case undefined:
    default:
      return toProblem(new AgentError("invalid_request", "the request is not valid HTTP"));
  }
}
