import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** A fault of a connection after a number of answer bytes. */
export interface Fault {
  readonly afterBytes: number;
  /**
   * `reset` cuts the connection, `end` closes it properly, `stall` forwards nothing more, `garbage` first
   * sends invalid data, if an event stream is being sent: at the end of another body it could be a whole, wrong answer.
   */
  readonly kind: "reset" | "end" | "stall" | "garbage";
}

/** A proxy to a server, with planned faults. */
export class FaultProxy implements AsyncDisposable {
  /** The faults of the next connections, in order. */
  readonly faults: (Fault | undefined)[] = [];
  /** The number of connections made. */
  connections = 0;
  /** Whether connections are accepted and cut at once. */
  isDown = false;
  readonly #target: URL;
  readonly #server = createServer((socket) => this.#accept(socket));
  readonly #sockets = new Set<Socket>();

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Cuts all open connections. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Forwards to another server from now on. */
  lead(target: string): void {
    this.#target.href = target;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.reset();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(near: Socket): void {
    this.connections += 1;
    if (this.isDown) {
      near.resetAndDestroy();
      return;
    }
    const fault = this.faults.shift();
    const far = connect(Number(this.#target.port), this.#target.hostname);
    let bytes = 0;
    let answers = "";
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on("data", (chunk: Buffer) => {
      answers += chunk.toString("latin1");
      if (fault === undefined || bytes + chunk.length <= fault.afterBytes) {
        bytes += chunk.length;
        near.write(chunk);
        return;
      }
      near.write(chunk.subarray(0, Math.max(fault.afterBytes - bytes, 0)), () =>
        strike(near, fault.kind === "garbage" && !isStreaming(answers) ? { ...fault, kind: "reset" } : fault),
      );
      far.removeAllListeners("data");
      far.pause();
    });
  }
}

/** Whether the newest of these answers is an event stream. */
function isStreaming(answers: string): boolean {
  return /^HTTP\/1\.1 .*[^]*?^content-type: text\/event-stream/im.test(
    answers.slice(Math.max(answers.lastIndexOf("HTTP/1.1 "), 0)),
  );
}

function strike(socket: Socket, { kind }: Fault): void {
  switch (kind) {
    case "reset":
      socket.resetAndDestroy();
      return;
    case "end":
      socket.end();
      return;
    case "garbage":
      socket.end("\0\u0001 this is not HTTP \r\n\r\n{{{");
      return;
    case "stall":
      return;
    default: {
      const never: never = kind;
      return never;
    }
  }
}
