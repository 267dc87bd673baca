import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

/** Finds a port of this machine that nothing listens on. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return port;
}

/** Finds an address of this machine that nothing listens on. */
export async function findFreeUrl(): Promise<string> {
  return `http://127.0.0.1:${await findFreePort()}`;
}
