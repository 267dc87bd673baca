import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Finds a port of this machine that nothing listens on. It is none of those that systems give to outgoing connections and to servers that
 * listen on port 0 (Linux: from 32768, others: from 49152), so that it is still free when a server starts on it again.
 */
export async function findFreePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(10_000, 32_768);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") continue;
      throw error;
    }
    await once(server.close(), "close");
    return port;
  }
  throw new Error(`${TRIES} ports were tried and none was free`);
}

const TRIES = 100;

/** Finds an address of this machine that nothing listens on. */
export async function findFreeUrl(): Promise<string> {
  return `http://127.0.0.1:${await findFreePort()}`;
}
