import type { AgentScopeObject } from "../../../../src/adapters/agentscope/index.ts";

/** The stream of one response as a client reads it. */
export class AnswerStream {
  readonly response: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  /** Everything that was read. */
  text = "";

  private constructor(response: Response, body: ReadableStream<Uint8Array>) {
    this.response = response;
    this.#reader = body.getReader();
  }

  static of(response: Response): AnswerStream {
    const { status, headers, body } = response;
    const type = headers.get("content-type") ?? "";
    if (status !== 200 || !type.startsWith("text/event-stream") || body === null) {
      throw new Error(`the answer is no stream: ${status} ${type}`);
    }
    return new AnswerStream(response, body);
  }

  /** The frames that were read, without comments. */
  get frames(): readonly string[] {
    return this.text.split("\n\n").filter((frame) => frame !== "" && !frame.startsWith(":"));
  }

  /** The objects that were read. */
  get objects(): readonly AgentScopeObject[] {
    return this.frames.map(
      (frame) => JSON.parse(frame.replace(/^id: .*\n/, "").slice("data: ".length)) as never,
    );
  }

  /** Reads until an object fits. */
  async until(fits: (object: AgentScopeObject) => boolean): Promise<AgentScopeObject> {
    for (;;) {
      const complete = this.text.endsWith("\n\n") ? this.objects : [];
      const found = complete.find(fits);
      if (found !== undefined) return found;
      if (!(await this.#read())) throw new Error(`the stream ended without the object:\n${this.text}`);
    }
  }

  /** Reads until the text contains a part. */
  async untilText(part: string): Promise<void> {
    while (!this.text.includes(part)) {
      if (!(await this.#read())) throw new Error(`the stream ended without ${part}:\n${this.text}`);
    }
  }

  /** Reads to the end. */
  async all(): Promise<readonly AgentScopeObject[]> {
    while (await this.#read());
    return this.objects;
  }

  async #read(): Promise<boolean> {
    const { done, value } = await this.#reader.read();
    if (done) return false;
    this.text += this.#decoder.decode(value, { stream: true });
    return true;
  }
}
