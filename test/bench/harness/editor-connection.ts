import { connect } from "node:net";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Answer, RequestOptions } from "./connection.ts";

/**
 * A client of the Agent Client Protocol with minimal cost: a request is a prompt. Every ten of them have a connection and a session
 * of their own.
 */
export class EditorConnection {
  readonly #port: number;
  readonly #waiting = new Map<number, (line: string) => void>();
  #socket: Socket | undefined;
  #ids = 0;
  #sessionId = "";
  #prompts = 0;
  /** Gets the lines that answer nothing. */
  #hear: (line: string) => void = () => {};

  constructor(port: number) {
    this.#port = port;
  }

  /** Prompts, and resolves when the prompt is answered. */
  async request(text: string, { keep = false }: RequestOptions = {}): Promise<Answer> {
    if (this.#prompts % SESSION_PROMPTS === 0) {
      this.close();
      await this.#open();
    }
    this.#prompts += 1;
    const sentAt = performance.now();
    const kept: string[] = [];
    let bytes = 0;
    let firstMs = Number.NaN;
    this.#hear = (line) => {
      if (!line.includes(MARK)) return;
      if (bytes === 0) firstMs = performance.now() - sentAt;
      bytes += line.length;
      if (keep) kept.push(line);
    };
    const prompt = [{ type: "text", text }];
    const end = await this.#call("session/prompt", { sessionId: this.#sessionId, prompt });
    const endMs = performance.now() - sentAt;
    return { status: 200, bytes, firstMs, markedMs: endMs, endMs, text: [...kept, end].join("\n") };
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #open(): Promise<void> {
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    this.#socket = socket;
    createInterface(socket).on("line", (line) => {
      const [, id] = /^\{"jsonrpc":"2\.0","id":(\d+),/.exec(line) ?? [];
      if (id === undefined) this.#hear(line);
      else this.#waiting.get(Number(id))?.(line);
    });
    await this.#call("initialize", { protocolVersion: 1 });
    const { result } = JSON.parse(await this.#call("session/new", { cwd: "/", mcpServers: [] })) as {
      readonly result: { readonly sessionId: string };
    };
    this.#sessionId = result.sessionId;
  }

  async #call(method: string, params: object): Promise<string> {
    const id = (this.#ids += 1);
    const line = await new Promise<string>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
    this.#waiting.delete(id);
    if (line.includes('"error":')) throw new Error(`${method} was refused: ${line}`);
    return line;
  }
}

const SESSION_PROMPTS = 10;

/** What frames of texts have. */
const MARK = "agent_message_chunk";
