import { connect } from "node:net";
import type { Socket } from "node:net";

/** The times of an answer, in milliseconds after the request was sent. */
export interface Answer {
  readonly status: number;
  /** Bytes of the body, including the chunk frames. */
  readonly bytes: number;
  /** The time of the first byte of the body. */
  readonly firstMs: number;
  /** The time of the last chunk that contains the marker. */
  readonly markedMs: number;
  readonly endMs: number;
  /** The body, if it was kept. */
  readonly text: string;
}

/** Options for reading an answer. */
export interface RequestOptions {
  /** A text to look for. */
  readonly marker?: string;
  readonly keep?: boolean;
  /** Gets each part of the body. */
  readonly hear?: (part: Buffer) => void;
}

/**
 * A client with minimal cost, so that the server is measured: one socket, one request at a time, and only the
 * length of the answer is parsed.
 */
export class Connection {
  readonly #port: number;
  #socket: Socket | undefined;
  #answer: Incoming | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends a request and resolves at the end of its answer. */
  async request(text: string, options: RequestOptions = {}): Promise<Answer> {
    const socket = await this.#open();
    return new Promise((resolve, reject) => {
      this.#answer = new Incoming(options, resolve, reject);
      socket.write(text);
    });
  }

  /** Sends a request whose answer has no end, and resolves when its headers have arrived. */
  async hold(text: string): Promise<void> {
    const socket = await this.#open();
    await new Promise<void>((resolve) => {
      socket.once("data", () => resolve());
      socket.write(text);
    });
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #open(): Promise<Socket> {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
    socket.on("data", (chunk) => {
      if (this.#answer?.take(chunk) === true) this.#answer = undefined;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#socket = undefined;
      this.#answer?.cut();
      this.#answer = undefined;
    });
    this.#socket = socket;
    return socket;
  }
}

/** The text of a request. */
export function toRequestText(
  method: "GET" | "POST",
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): string {
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more.join("")}`;
  if (body === undefined) return `${head}\r\n`;
  const json = JSON.stringify(body);
  return `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`;
}

/** The current answer. */
class Incoming {
  readonly #options: RequestOptions;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  readonly #sentAt = performance.now();
  readonly #kept: Buffer[] = [];
  #head: Buffer | undefined;
  #status = 0;
  /** The missing bytes of a body of known length; undefined for a chunked body. */
  #left: number | undefined;
  #bytes = 0;
  #firstMs = Number.NaN;
  #markedMs = Number.NaN;
  #tail = "";

  constructor(options: RequestOptions, resolve: (answer: Answer) => void, reject: (error: Error) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Reads the next bytes. Returns whether they were the last. */
  take(part: Buffer): boolean {
    const body = this.#status === 0 ? this.#takeHead(part) : part;
    if (body === undefined) return false;
    const now = performance.now() - this.#sentAt;
    if (body.length > 0) {
      if (this.#bytes === 0) this.#firstMs = now;
      this.#bytes += body.length;
      const { marker, keep, hear } = this.#options;
      hear?.(body);
      if (marker !== undefined && body.includes(marker)) this.#markedMs = now;
      if (keep === true) this.#kept.push(body);
    }
    if (!this.#isEnd(body)) return false;
    this.#resolve({
      status: this.#status,
      bytes: this.#bytes,
      firstMs: this.#firstMs,
      markedMs: this.#markedMs,
      endMs: now,
      text: Buffer.concat(this.#kept).toString(),
    });
    return true;
  }

  /** The connection was closed. */
  cut(): void {
    this.#reject(new Error(`the answer was cut off after ${this.#bytes} bytes`));
  }

  #takeHead(part: Buffer): Buffer | undefined {
    this.#head = this.#head === undefined ? part : Buffer.concat([this.#head, part]);
    const end = this.#head.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const head = this.#head.toString("latin1", 0, end);
    this.#status = Number(head.slice(9, 12));
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    if (length !== undefined || this.#status === 204) this.#left = Number(length ?? 0);
    return this.#head.subarray(end + 4);
  }

  #isEnd(body: Buffer): boolean {
    if (this.#left !== undefined) {
      this.#left -= body.length;
      return this.#left <= 0;
    }
    const { length } = body;
    if (length === 0) return false;
    // The last chunk may arrive in two parts.
    this.#tail = (this.#tail + body.toString("latin1", Math.max(length - LAST.length, 0))).slice(
      -LAST.length,
    );
    return this.#tail === LAST;
  }
}

const LAST = "\r\n0\r\n\r\n";
