import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

/** A client that sends and receives raw bytes. */
export class RawClient implements AsyncDisposable {
  readonly socket: Socket;
  /** All received text. */
  text: string = "";

  constructor(url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname);
    this.socket.setEncoding("latin1");
    this.socket.on("data", (text: string) => {
      this.text += text;
    });
    this.socket.on("error", () => {});
  }

  send(...lines: readonly string[]): void {
    this.socket.write(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  }

  /** Waits until the server has sent something. */
  async until(wanted: string | RegExp): Promise<void> {
    const isHere = (): boolean =>
      typeof wanted === "string" ? this.text.includes(wanted) : wanted.test(this.text);
    while (!isHere()) {
      if (this.socket.closed)
        throw new Error(`the server closed before ${String(wanted)} came: ${this.text}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.socket.once("data", resolve).once("close", resolve);
      await promise;
      this.socket.off("data", resolve).off("close", resolve);
    }
  }

  /** Waits until the server has closed the connection. */
  async closed(): Promise<void> {
    if (!this.socket.closed) await once(this.socket, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
    await this.closed();
  }
}

/** The bodies of the chunked answers in a text; fails if the chunks are not well-formed. */
export function unchunk(text: string): string[] {
  const bodies: string[] = [];
  for (let rest = text; rest !== "";) {
    rest = rest.slice(rest.indexOf("\r\n\r\n") + 4);
    let body = "";
    for (;;) {
      const [line, length = ""] = /^([0-9a-f]+)\r\n/.exec(rest) ?? [];
      if (line === undefined) throw new Error(`no chunk: ${rest.slice(0, 100)}`);
      const start = line.length;
      const end = start + Number.parseInt(length, 16);
      if (rest.slice(end, end + 2) !== "\r\n")
        throw new Error(`no end of a chunk: ${rest.slice(end, end + 100)}`);
      body += rest.slice(start, end);
      rest = rest.slice(end + 2);
      if (start === end) break;
    }
    bodies.push(Buffer.from(body, "latin1").toString());
  }
  return bodies;
}
