import type { IncomingMessage, ServerResponse } from "node:http";
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
      // For HEAD the adapter would send a Response with a body and fail. Throwing leads to `refuse`.
      errorHandler: (thrown) => {
        throw thrown;
      },
    },
  );

  return (incoming, outgoing) => {
    listener(incoming, outgoing).catch((thrown: unknown) => {
      const isRequestError = thrown instanceof Error && thrown.name === "RequestError";
      if (!isRequestError) report(`${String(incoming.method)} failed`, thrown);
      refuse(incoming, outgoing, isRequestError ? UNCLEAR : thrown);
    });
  };
}

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
