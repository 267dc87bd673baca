import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { once } from "node:events";

/** A proxy in front of a PostgreSQL server, which loses what a test wants to lose. Its owner closes it. */
export interface Proxy {
  /** The address of the server through the proxy. */
  readonly url: string;
  /** Counts from now on how often clients send a text. */
  hear(text: string): { readonly count: number };
  /** From now on each connection is announced with another process than that of the server, as a pooler does. */
  pool(): void;
  /** From now on no notification reaches the clients. */
  loseNotifications(): void;
  /** Cuts the connections on which a client has sent a text, after the server has answered; the answer is lost. */
  loseAnswersTo(text: string): void;
  /** The number of answers that were lost. */
  readonly lost: number;
  /** Cuts all connections, and refuses new ones until `mend`. */
  cut(): void;
  /** Keeps all connections, and accepts new ones, but delivers nothing in either direction until `mend`. */
  silence(): void;
  /** Falls silent as soon as a client has sent a text; resolves then. */
  silenceAt(text: string): Promise<void>;
  /** Ends `cut` and `silence`. */
  mend(): void;
  /** Ends `silence` for new connections only: what the others wait for never comes. */
  mendForNew(): void;
  /** Connects new clients to another server, and cuts the connections to the one before. */
  pointTo(server: string): void;
  close(): void;
}

/** Starts a proxy. */
export async function startProxy(server: string): Promise<Proxy> {
  let target = new URL(server);
  const sockets = new Set<Socket>();
  let isCut = false;
  let isSilent = false;
  let hasNotifications = true;
  let isPooler = false;
  const heard: { readonly text: string; count: number }[] = [];
  let losing: string | undefined;
  let last: { readonly text: string; reached(): void } | undefined;
  let lost = 0;

  const silence = (): void => {
    isSilent = true;
    for (const socket of sockets) socket.pause();
  };

  // Without `noDelay` each answer waits 40 ms for the acknowledgement of its first message.
  const listener = createServer({ noDelay: true }, (client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connectTo(target);
    let isLosing = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (bytes) => {
      for (const one of heard) one.count += bytes.toString("latin1").split(one.text).length - 1;
      if (losing !== undefined && bytes.includes(losing)) isLosing = true;
      upstream.write(bytes);
      if (last === undefined || !bytes.includes(last.text)) return;
      silence();
      last.reached();
      last = undefined;
    });
    const split = splitMessages();
    upstream.on("data", (bytes) => {
      const messages = split(bytes);
      if (isLosing) {
        // The last message of an answer: the transaction has ended.
        if (!messages.some(({ type }) => type === "Z")) return;
        lost += 1;
        losing = undefined;
        client.destroy();
        return;
      }
      if (isPooler)
        for (const { type, message } of messages)
          if (type === "K") message.writeInt32BE(1_000_000, PROCESS_AT);
      const kept = messages.filter(({ type }) => hasNotifications || type !== "A");
      // In one piece: each write is a system call, and an event in the process of the client.
      if (kept.length > 0) client.write(Buffer.concat(kept.map(({ message }) => message)));
    });
    if (isSilent) for (const socket of [client, upstream]) socket.pause();
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const { port } = listener.address() as AddressInfo;
  const url = new URL(server.replace(`@${target.host}`, `@127.0.0.1:${port}`));
  return {
    url: url.href,
    hear(text) {
      const one = { text, count: 0 };
      heard.push(one);
      return one;
    },
    pool() {
      isPooler = true;
    },
    loseNotifications() {
      hasNotifications = false;
    },
    loseAnswersTo(text) {
      losing = text;
    },
    get lost() {
      return lost;
    },
    cut() {
      isCut = true;
      cutAll();
    },
    silence,
    silenceAt: (text) =>
      new Promise((reached) => {
        last = { text, reached };
      }),
    mend() {
      isCut = false;
      isSilent = false;
      for (const socket of sockets) socket.resume();
    },
    mendForNew() {
      isSilent = false;
    },
    pointTo(next) {
      target = new URL(next);
      cutAll();
    },
    close() {
      cutAll();
      listener.close();
    },
  };
}

/** Where the number of the process stands, behind the letter and the length. */
const PROCESS_AT = 5;

function connectTo({ hostname, port }: URL): Socket {
  const directory = decodeURIComponent(hostname);
  const number = Number(port || 5432);
  return directory.startsWith("/")
    ? connect(`${directory}/.s.PGSQL.${number}`)
    : connect({ port: number, host: hostname, noDelay: true });
}

/** Splits what a server sends into its messages: a letter, four bytes with the length, and the rest. */
function splitMessages(): (bytes: Buffer) => readonly { readonly type: string; readonly message: Buffer }[] {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    const messages = [];
    while (rest.length >= 5) {
      const length = 1 + rest.readUInt32BE(1);
      if (rest.length < length) break;
      messages.push({ type: String.fromCharCode(rest[0] ?? 0), message: rest.subarray(0, length) });
      rest = rest.subarray(length);
    }
    return messages;
  };
}
