import { setTimeout } from "node:timers/promises";

/** What clients have got. */
export interface LoadReport {
  readonly requests: number;
  readonly turns: number;
  /** Streams that ended before their turn, and that their clients continued. */
  readonly resumed: number;
  /** Requests that failed, streams that were cut or had a gap, turns that ended otherwise than they should. */
  readonly failures: readonly string[];
}

interface Frame {
  readonly id: number;
  readonly event: Readonly<Record<string, unknown>>;
}

/** Clients of one address that send requests of all kinds, none of them twice, until `isOver`. */
export class Load {
  readonly #url: string;
  readonly #failures: string[] = [];
  #requests = 0;
  #turns = 0;
  #resumed = 0;

  constructor(url: string) {
    this.#url = url;
  }

  get requests(): number {
    return this.#requests;
  }

  get report(): LoadReport {
    return {
      requests: this.#requests,
      turns: this.#turns,
      resumed: this.#resumed,
      failures: this.#failures,
    };
  }

  /** Runs clients until it is over; each finishes its turn. */
  async run(clients: number, isOver: () => boolean): Promise<void> {
    const kinds = [this.#streamed, this.#polled, this.#awaited, this.#asked];
    const client = async (number: number): Promise<void> => {
      for (let turn = number; !isOver(); turn += 1) {
        const kind = kinds[turn % kinds.length] ?? this.#streamed;
        try {
          await kind.call(this);
        } catch (thrown) {
          this.#failures.push(
            `${new Date().toISOString()} ${kind.name}: ${String(thrown)}${causeOf(thrown)}`,
          );
        }
        this.#turns += 1;
        await setTimeout(PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  }

  /** A turn whose texts are read as a stream. */
  async #streamed(): Promise<void> {
    const frames = await this.#stream("/speaker/stream_request", { type: "ChatRequest", input: "" });
    await this.#follow("speaker", frames);
  }

  /** A turn whose events are read by polling. */
  async #polled(): Promise<void> {
    const { request_id: id } = await this.#post("speaker", { type: "ChatRequest", input: "" });
    const texts: string[] = [];
    for (let since = 0; ;) {
      const events = (await this.#json(
        `/speaker/getevents/${String(id)}?since=${since}`,
      )) as readonly Readonly<Record<string, unknown>>[];
      for (const event of events) {
        since = Number(event["id"]);
        if (event["type"] === "TextOutput") texts.push(String(event["content"]));
      }
      if (events.some(({ type }) => type === "RequestCompleted")) break;
      await setTimeout(POLL_MS);
    }
    expectTexts(texts);
  }

  /** A turn whose client waits for its result. */
  async #awaited(): Promise<void> {
    const { request_id: id } = await this.#post(
      "quick",
      { type: "ChatRequest", input: "" },
      "?wait=completed",
    );
    const status = (await this.#json(`/quick/request/${String(id)}`)) as Readonly<Record<string, unknown>>;
    if (status["status"] !== "completed" && status["status"] !== "running")
      throw new Error(`a quick turn is ${String(status["status"])}`);
    await this.#json("/quick/runs?limit=5");
  }

  /** A turn that asks, is answered and then read to its end. */
  async #asked(): Promise<void> {
    const frames = await this.#stream("/asker/stream_request", { type: "ChatRequest", input: "" });
    const id = String(frames[0]?.event["request_id"]);
    while (!frames.some(({ event }) => event["type"] === "WaitForInput"))
      await this.#resume("asker", id, frames);
    await this.#post("asker", { type: "ResumeWithInput", request_id: id, request_keys: { ok: "yes" } });
    await this.#follow("asker", frames);
  }

  /** Reads a turn to its end, with a new connection where a stream has ended. */
  async #follow(agent: string, frames: Frame[]): Promise<void> {
    const id = String(frames[0]?.event["request_id"]);
    while (!frames.some(({ event }) => event["type"] === "RequestCompleted"))
      await this.#resume(agent, id, frames);
    const end = frames.at(-1)?.event;
    if (end?.["finish_reason"] !== "success") throw new Error(`a turn ended with ${JSON.stringify(end)}`);
    if (agent === "speaker")
      expectTexts(
        frames.flatMap(({ event }) => (event["type"] === "TextOutput" ? [String(event["content"])] : [])),
      );
  }

  async #resume(agent: string, id: string, frames: Frame[]): Promise<void> {
    this.#resumed += 1;
    const more = await this.#stream(
      `/${agent}/getevents/${id}?stream=true`,
      undefined,
      frames.at(-1)?.id ?? 0,
    );
    if (more.some((frame) => frame.id <= (frames.at(-1)?.id ?? 0))) throw new Error("an event came twice");
    frames.push(...more);
  }

  /** Reads a stream to its end; one that is cut throws. */
  async #stream(path: string, body?: object, after = 0): Promise<Frame[]> {
    const headers = { ...(after > 0 && { "last-event-id": String(after) }) };
    const response = await this.#ask(path, body, headers);
    const text = await response.text();
    return text.split("\n\n").flatMap((frame) => {
      const lines = new Map(frame.split("\n").map((line) => splitLine(line)));
      const data = lines.get("data");
      if (data === undefined || !data.startsWith("{")) return [];
      return [{ id: Number(lines.get("id")), event: JSON.parse(data) as Frame["event"] }];
    });
  }

  async #post(agent: string, body: object, query = ""): Promise<Readonly<Record<string, unknown>>> {
    const response = await this.#ask(`/${agent}/process${query}`, body);
    return (await response.json()) as Readonly<Record<string, unknown>>;
  }

  async #json(path: string): Promise<unknown> {
    return (await this.#ask(path)).json();
  }

  async #ask(path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    this.#requests += 1;
    const response = await fetch(this.#url + path, {
      ...(body && { method: "POST", body: JSON.stringify(body) }),
      headers: { ...(body && { "content-type": "application/json" }), ...headers },
    });
    if (!response.ok) throw new Error(`${path} was answered by ${response.status}: ${await response.text()}`);
    return response;
  }
}

/** The texts that the speaker says. */
const TEXTS = Array.from({ length: 20 }, (_, index) => `${index}\n`);

const PAUSE_MS = 50;
const POLL_MS = 250;

function expectTexts(texts: readonly string[]): void {
  if (texts.join("") !== TEXTS.join(""))
    throw new Error(`a turn has a gap: ${JSON.stringify(texts.join(""))}`);
}

function splitLine(line: string): [string, string] {
  const at = line.indexOf(":");
  return [line.slice(0, at), line.slice(at + 1).trimStart()];
}

function causeOf(thrown: unknown): string {
  return thrown instanceof Error && thrown.cause instanceof Error ? ` (${thrown.cause.message})` : "";
}
