import type { MiddlewareHandler } from "hono";
import { nodeOf } from "../messages/app-env.ts";
import type { AppEnv } from "../messages/app-env.ts";

/**
 * Closes a connection if the rest of a finished answer waits for its reader, and the reader accepts nothing for a time. Node
 * closes it at the timeout of the socket, and clears the timeout when the connection is idle: requests that were already
 * waiting on the connection (pipelining) have the same limit.
 */
export function limitStalledReaders(stallMs: number): MiddlewareHandler<AppEnv> {
  return (c, next) => {
    const outgoing = nodeOf(c)?.outgoing;
    outgoing?.once("prefinish", () => {
      const { socket } = outgoing;
      if (socket !== null && socket.writableLength > 0) socket.setTimeout(stallMs);
    });
    return next();
  };
}
