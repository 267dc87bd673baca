import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";

/** The secret of the server and of the receiver. */
export const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

const PATH = "/hook";

/** A message as it has arrived. */
export interface Received {
  readonly id: string;
  readonly type: string;
  readonly runId: string;
  readonly event: number;
}

/** A receiver of webhooks. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** Those that were taken. */
  readonly taken: Received[];
  attempts: number;
  /** Requests that no webhook makes. */
  strangers: number;
  /** Ends all connections, and refuses new ones until `revive`. */
  kill(): Promise<void>;
  revive(): Promise<void>;
}

/**
 * A real receiver that checks every signature. `answer` gives the status of an attempt: 0 cuts the connection, one of 3xx leads to
 * `elsewhere`.
 */
export async function startReceiver(
  answer: (attempt: number, id: string) => number = () => 204,
  elsewhere = "",
): Promise<Receiver> {
  const verifier = new Webhook(SECRET);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method, url, headers } = request;
      // The port of a server that is gone may be given to this one, and a client of that one may go on asking.
      if (headers["user-agent"] !== "troupe" || method !== "POST" || url !== PATH) {
        receiver.strangers += 1;
        response.writeHead(404).end();
        return;
      }
      receiver.attempts += 1;
      const body = Buffer.concat(chunks).toString();
      const message = verifier.verify(body, headers as Record<string, string>) as {
        readonly type: string;
        readonly data: { readonly run_id: string; readonly event_id: number };
      };
      const id = String(headers["webhook-id"]);
      const status = answer(receiver.attempts, id);
      if (status === 0) {
        request.socket.destroy();
        return;
      }
      if (status < 300) {
        const { type, data } = message;
        receiver.taken.push({
          id,
          type,
          runId: data.run_id,
          event: data.event_id,
        });
      }
      response.writeHead(status, status < 400 && status >= 300 ? { location: elsewhere } : {}).end();
    });
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  const kill = async (): Promise<void> => {
    server.closeAllConnections();
    await promisify(server.close.bind(server))();
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}${PATH}`,
    taken: [],
    attempts: 0,
    strangers: 0,
    kill,
    revive: () => listen(port),
    [Symbol.asyncDispose]: kill,
  };
  return receiver;
}
