import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AgentError } from "../errors.ts";
import { toProblem } from "../http/messages/problem.ts";

/** Answers what never became a request: too slow, too much, or no HTTP at all. The connection is then cut. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (socket.writable && !isAnswered(socket)) socket.write(toAnswer(error.code));
  socket.destroy();
}

/** Whether an answer is on its way already, which another one in its middle would spoil. */
function isAnswered(socket: Duplex): boolean {
  // Node's own handling of this event looks at the same field.
  const { _httpMessage: message } = socket as { readonly _httpMessage?: ServerResponse | null };
  return message?.headersSent === true;
}

function toAnswer(code: string | undefined): string {
  const { status, body } = toProblemOf(code);
  const head = [
    `HTTP/1.1 ${status} ${(JSON.parse(body) as { readonly title: string }).title}`,
    "Connection: close",
    "Content-Type: application/problem+json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

function toProblemOf(code: string | undefined): ReturnType<typeof toProblem> {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return toProblem(new AgentError("request_timeout", "the request came too slowly"));
    case "HPE_HEADER_OVERFLOW":
      return toProblem(new AgentError("too_large", "the request's headers are larger than 8192 bytes"), {
        status: 431,
        title: "Request Header Fields Too Large",
      });
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return toProblem(new AgentError("too_large", "the body's chunk extensions are too large"));
    case undefined:
    default:
      return toProblem(new AgentError("invalid_request", "the request is no HTTP"));
  }
}
