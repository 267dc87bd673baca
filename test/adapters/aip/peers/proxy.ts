import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** An address whose connections lead to a port, until they are cut. */
export interface Proxy {
  readonly address: string;
  /** Cuts all connections and refuses new ones, as the death of a process does. A gRPC server would say goodbye. */
  kill(): void;
}

export async function startProxy(port: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    const inner = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => {});
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    kill() {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
