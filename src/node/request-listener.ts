import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { HttpBindings } from "@hono/node-server";
import { AgentError } from "../errors.ts";
import { toProblem } from "../http/messages/problem.ts";
import { ALREADY_SENT, API_HEADERS } from "../http/messages/reply.ts";

/** Answers a request like a `fetch` handler, with Node's request and response as bindings. */
type Fetch = (request: Request, bindings: HttpBindings) => Response | Promise<Response>;

/** Reports an unexpected error. */
export type ReportFault = (where: string, thrown: unknown) => void;

/**
 * Creates the listener of an HTTP server. It never throws or rejects: an unhandled error becomes a problem
 * document, or closes the connection if the answer has started.
 */
export function createListener(
  fetch: Fetch,
  report: ReportFault,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const listener = getRequestListener(
    async (request, bindings) => {
      try {
        return await fetch(request, bindings as HttpBindings);
      } catch (thrown) {
        const { incoming, outgoing } = bindings as HttpBindings;
        report(`${String(incoming.method)} failed`, thrown);
        refuse(incoming, outgoing, thrown);
        return ALREADY_SENT;
      }
    },
    {
      hostname: "localhost",
      overrideGlobalObjects: false,
      // `closeIfUnread` does it.
      autoCleanupIncoming: false,
      // For HEAD the adapter would send a Response with a body and fail. Throwing leads to `refuse`.
      errorHandler: (thrown) => {
        throw thrown;
      },
    },
  );

  return (incoming, outgoing) => {
    // The client sent it before it saw that an earlier answer was the last one.
    if (!incoming.socket.writable) return;
    closeIfUnread(incoming, outgoing);
    listener(incoming, outgoing).catch((thrown: unknown) => {
      const isRequestError = thrown instanceof Error && thrown.name === "RequestError";
      if (!isRequestError) report(`${String(incoming.method)} failed`, thrown);
      refuse(incoming, outgoing, isRequestError ? UNCLEAR : thrown);
    });
  };
}

/**
 * Makes an answer the last one of its connection if the body of its request has not been read by then. What the client
 * sends after that answer may be the rest of a body, and must not be taken for a request.
 */
function closeIfUnread(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { headers, socket } = incoming;
  if (headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0) return;
  const { shouldKeepAlive } = outgoing;
  outgoing.shouldKeepAlive = false;
  incoming.once("end", () => {
    outgoing.shouldKeepAlive = shouldKeepAlive;
  });
  // Node calls it after the last answer of a connection. Its own closes the socket at once, and the operating system
  // then resets the connection if the client is still sending: the client would not see the answer.
  socket.destroySoon = () => {
    incoming.resume();
    linger(socket);
  };
}

/** Ends a connection, and lets its client send for a moment after it has the answer. */
function linger(socket: Socket): void {
  if (!socket.writable) return;
  socket.end(() => {
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(timer));
  });
}

const LINGER_MS = 2_000;

const UNCLEAR = new AgentError(
  "invalid_request",
  "the request's target or its Host header is not part of a valid URL",
);

function refuse(
  incoming: HttpBindings["incoming"],
  outgoing: HttpBindings["outgoing"],
  thrown: unknown,
): void {
  try {
    if (outgoing.headersSent) throw thrown;
    const { status, headers, body } = toProblem(thrown);
    outgoing.writeHead(status, {
      ...API_HEADERS,
      ...headers,
      "content-type": "application/problem+json",
      "content-length": Buffer.byteLength(body),
    });
    outgoing.end(incoming.method === "HEAD" ? undefined : body);
  } catch {
    outgoing.destroy();
  }
}
