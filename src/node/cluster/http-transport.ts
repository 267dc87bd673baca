import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Transport } from "../../cluster/transport.ts";
import { AgentError } from "../../errors.ts";
import { toProblem } from "../../http/messages/problem.ts";
import type { Json } from "../../protocol/json.ts";
import { CONNECTION_TIMEOUTS } from "../connection-timeouts.ts";
import { MOST_APART_MS, SAME_SECRET, SAME_TIME, Signer, SIGNATURE } from "./signature.ts";

/** A shorter secret could be found by trying, from one signed message. */
const SECRET_CHARACTERS = 16;

/** The maximum size of a message between nodes, and of its answer. */
const LIMIT_BYTES = 32 * 1_048_576;

/** The most connections of other nodes. One more is closed, and its message is sent again. */
const MOST_CONNECTIONS = 2_000;

/** The longest wait for an answer, in milliseconds. A node that dies is noticed before. */
const ANSWER_MS = 120_000;

/** How long a node that stops waits for the answers to messages, in milliseconds. */
const STOP_MS = 5_000;

const PATH = "/messages";

/** What `httpTransport` takes. */
export interface HttpTransportOptions {
  /** Where other nodes reach this one: `http://HOST:PORT`. */
  readonly url: string;
  /**
   * A text of 16 or more characters that only the nodes have. Required unless the address is one of this machine only. Of
   * several, the first signs, and messages of each are taken: so a secret is replaced while the nodes work.
   */
  readonly secret?: string | readonly string[];
  /** The address to listen on. Default: the host of the URL. */
  readonly host?: string;
  /** Reports wrong messages of other nodes, for example with another secret. */
  readonly fault?: (message: string) => void;
}

/**
 * Messages between nodes over HTTP, on a listener of their own. The signature of a message covers the address of its
 * receiver and its time, and that of an answer covers its message. So another program cannot send a message, and cannot send
 * a copy of one to another node or after a minute. Before that, the router recognizes the id of the copy.
 */
export function httpTransport({ url, secret, host, fault = () => {} }: HttpTransportOptions): Transport {
  const address = parseAddress(url);
  const isOpen = !isLoopback(host ?? address.hostname);
  const secrets = (typeof secret === "string" ? [secret] : (secret ?? [])).filter((one) => one !== "");
  if (isOpen && secrets.length === 0)
    throw new AgentError(
      "invalid_request",
      `nodes at ${url} need a secret, because other machines reach it`,
      {
        hint: `${SAME_SECRET}, or use an address of 127.0.0.1`,
      },
    );
  const short = secrets.find(({ length }) => length < SECRET_CHARACTERS);
  if (short !== undefined)
    throw new AgentError(
      "invalid_request",
      `the secret of the nodes has only ${short.length} character${short.length === 1 ? "" : "s"}`,
      {
        hint: `give all nodes the same ${SECRET_CHARACTERS} or more random characters (TROUPE_CLUSTER_SECRET)`,
      },
    );
  if (address.port === "0" || /^(?:0\.0\.0\.0|\[::\])$/.test(address.hostname))
    throw new AgentError("invalid_request", `other nodes cannot reach this one at ${url}`, {
      hint: "write http://HOST:PORT with the name or address of this machine, and a port above 0",
    });
  const signer = new Signer(...(secrets.length === 0 ? [""] : secrets));

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    receive: (message: Json) => Promise<Json>,
  ): Promise<void> {
    try {
      // A browser sends the name of its page, also if that name leads here.
      if (request.headers.host !== address.host)
        throw new AgentError("misdirected", `this node is ${url}, and the message is for another address`);
      if (request.method !== "POST" || request.url !== PATH)
        throw new AgentError(
          "not_found",
          "here nodes send messages to each other; clients use another address",
        );
      const signature = request.headers[SIGNATURE];
      const given = typeof signature === "string" ? signature : undefined;
      // Checked before the body is read, so that only a node can send a large one.
      if (given === undefined) throw refused("a message of another node has no signature");
      const refusal = signer.refusal(given, url, Date.now());
      if (refusal !== undefined) throw refused(refusal);
      // The connection stays, so that a refusal can be sent.
      const body = await readBody(request.iterator({ destroyOnReturn: false }), LIMIT_BYTES);
      if (body === undefined)
        throw new AgentError("too_large", `the message of another node is larger than ${LIMIT_BYTES} bytes`);
      if (!signer.isOf(given, body))
        throw refused("the body of a message of another node is not the signed one");
      const text = JSON.stringify(await receive(parseJson(body)));
      const headers = { "content-type": "application/json", [SIGNATURE]: signer.signAnswer(given, text) };
      response.writeHead(200, headers).end(text);
    } catch (thrown) {
      const { status, headers, body } = toProblem(thrown);
      // The body may not have been read, so no other request can follow on the connection.
      const all = { ...headers, "content-type": "application/problem+json", connection: "close" };
      response.writeHead(status, all).end(body);
    }
  }

  function refused(reason: string): AgentError {
    fault(reason);
    return new AgentError("unauthorized", reason);
  }

  /** The error for an answer of no use: perhaps another program has the address of the node now. */
  function wrongAnswer(to: string, what: string): AgentError {
    const answered = `node ${to} has answered a message with ${what}`;
    fault(answered);
    return new AgentError("unavailable", answered, { retryAfterS: 1 });
  }

  return {
    url,
    async listen(receive) {
      const server = createServer(
        CONNECTION_TIMEOUTS,
        (request, response) => void answer(request, response, receive),
      );
      server.maxConnections = MOST_CONNECTIONS;
      await start(server, Number(address.port), host ?? address.hostname.replaceAll(/^\[|\]$/g, ""), url);
      return () => stop(server);
    },

    async send(to, message, signal) {
      const body = JSON.stringify(message);
      const signature = signer.sign(body, to, Date.now());
      const response = await fetch(new URL(PATH, to), {
        method: "POST",
        body,
        headers: { "content-type": "application/json", [SIGNATURE]: signature },
        redirect: "error",
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
      });
      if (response.status !== 200) {
        await response.body?.cancel();
        if (response.status !== 401) throw wrongAnswer(to, `status ${response.status}`);
        const refusal = toRefusal(to, response.headers.get("date"));
        fault(`${refusal.message}; ${refusal.details.hint}`);
        throw refusal;
      }
      const text = response.body === null ? "" : await readBody(response.body, LIMIT_BYTES);
      if (text === undefined) throw wrongAnswer(to, `more than ${LIMIT_BYTES} bytes`);
      if (!signer.isAnswer(signature, response.headers.get(SIGNATURE), text))
        throw wrongAnswer(to, "status 200 and a wrong signature");
      return JSON.parse(text) as Json;
    },
  };
}

/** Why another node refuses the messages of this one: its time tells whether a clock or the secret differs. */
function toRefusal(to: string, date: string | null): AgentError {
  const apartMs = Date.parse(date ?? "") - Date.now();
  const isClock = Math.abs(apartMs) > MOST_APART_MS;
  const reason = isClock ? `its clock is ${describeApart(apartMs)} that of this one` : "its secret differs";
  return new AgentError("unauthorized", `node ${to} refuses the messages of this node: ${reason}`, {
    hint: isClock ? SAME_TIME : SAME_SECRET,
  });
}

function describeApart(apartMs: number): string {
  return `${Math.round(Math.abs(apartMs) / 1_000)} s ${apartMs > 0 ? "ahead of" : "behind"}`;
}

function parseAddress(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (address !== undefined && address.username + address.password !== "")
    throw new AgentError("invalid_request", "the address of a node has no user and no password", {
      hint: `write http://HOST:PORT, and ${SAME_SECRET}`,
    });
  const isPlain = address?.protocol === "http:" && address.pathname === "/" && address.search === "";
  if (address !== undefined && isPlain && address.port !== "") return address;
  throw new AgentError("invalid_request", `${url} is not the address of a node`, {
    hint: "write http://HOST:PORT",
  });
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function parseJson(body: string): Json {
  try {
    return JSON.parse(body) as Json;
  } catch (cause) {
    throw new AgentError("invalid_request", "the message of another node is not JSON", { cause });
  }
}

function start(server: Server, port: number, host: string, url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const { code = "" } = cause;
      const message = `this node cannot listen on ${url}: ${code}`;
      reject(new AgentError("unavailable", message, { hint: LISTEN_FIXES[code] ?? OWN_ADDRESS, cause }));
    });
    server.listen(port, host, resolve);
  });
}

const OWN_ADDRESS = "give an address of this machine, at which the other nodes reach it";

const LISTEN_FIXES: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there; choose another port",
  EACCES: "choose a port above 1023",
};

/** Ends when the pending messages are answered, or after some time. */
function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), STOP_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** Reads the text of a message or an answer; `undefined` above the limit, and the rest is not read. */
async function readBody(chunks: AsyncIterable<Uint8Array>, limitBytes: number): Promise<string | undefined> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > limitBytes) return undefined;
    read.push(chunk);
  }
  return Buffer.concat(read).toString("utf8");
}
