import { setTimeout } from "node:timers/promises";

/** The agents that the clients use. */
export const AGENTS = `import { defineAgent } from "troupe";
import { z } from "zod";
export const speaker = defineAgent({
  name: "speaker", purpose: "Says fifty words in a second.",
  async chat(_input, turn) {
    for (let word = 0; word < 50; word += 1) {
      await turn.sleep(20);
      await turn.text("word " + word + " ");
    }
    return "said";
  },
});
export const asker = defineAgent({
  name: "asker", purpose: "Asks.",
  async chat(_input, turn) {
    const { ok } = await turn.waitForInput({ ok: "Is it right?" });
    return ok;
  },
});
export const filer = defineAgent({
  name: "filer", purpose: "Publishes a file.",
  async chat(input, turn) {
    await turn.artifact({ name: "file.txt", mimeType: "text/plain", data: input.padEnd(30_000, ".") });
    return "filed";
  },
});
export const counter = defineAgent({
  name: "counter", purpose: "Counts.", memorySchema: z.number().default(0),
  operations: (own) => ({
    add: own({ input: z.object({}), run(_input, turn) { turn.memory.set(turn.memory.get() + 1); return turn.memory.get(); } }),
  }),
});
`;

type Body = Readonly<Record<string, unknown>>;

/**
 * Clients of servers that hold one log, which may be killed: each request has an id and is repeated until a server has answered it,
 * so every turn ends exactly once.
 */
export class Clients {
  readonly faults: string[] = [];
  turns = 0;
  readonly #name: string;
  readonly #addresses: readonly string[];
  #adds = 0;

  constructor(name: string, addresses: readonly string[]) {
    this.#name = name;
    this.#addresses = addresses;
  }

  /** Works until it is over; each client finishes its turn. */
  async run(clients: number, isOver: () => boolean): Promise<void> {
    const kinds = [this.#speak, this.#ask, this.#file, this.#count, this.#list];
    const work = async (client: number): Promise<void> => {
      for (let turn = client; !isOver(); turn += 1) {
        const id = `${this.#name}-${client}-${turn}`;
        try {
          await (kinds[turn % kinds.length] ?? this.#speak).call(this, id);
          this.turns += 1;
        } catch (thrown) {
          this.faults.push(`${id}: ${String(thrown)}`);
        }
        await setTimeout(PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: clients }, (_, client) => work(client)));
    const { result } = await this.#end("counter", {
      type: "OperationRequest",
      operation: "add",
      input: {},
      key: "one",
      request_id: `${this.#name}-last`,
    });
    if (Number(result) !== this.#adds + 1)
      this.faults.push(`${this.#name}: the counter has ${JSON.stringify(result)} after ${this.#adds} adds`);
  }

  async #speak(id: string): Promise<void> {
    await this.#expect("speaker", { type: "ChatRequest", input: "", request_id: id }, "said");
    const frames = await this.#text(`/getevents/${id}?stream=true&since=0`);
    const ids = Array.from(frames.matchAll(/^id: ?(\d+)$/gm), ([, number]) => Number(number));
    if (ids.some((number, index) => index > 0 && number <= (ids[index - 1] as number)))
      throw new Error(`a stream has events in the wrong order: ${ids.join(" ")}`);
    const words = Array.from(frames.matchAll(/word (\d+) /g), ([, word]) => Number(word));
    if (words.length !== 50 || words.some((word, index) => word !== index))
      throw new Error(`a stream has the words ${words.join(" ")}`);
  }

  async #ask(id: string): Promise<void> {
    await this.#json("/asker/process?wait=true", { type: "ChatRequest", input: "", request_id: id });
    await this.#json("/asker/process", {
      type: "ResumeWithInput",
      request_id: id,
      request_keys: { ok: "yes" },
    });
    await this.#text(`/getevents/${id}?stream=true&since=0`);
    const { result } = (await this.#json(`/request/${id}`)) as Body;
    if (result !== "yes") throw new Error(`the answer was ${JSON.stringify(result)}`);
  }

  #file(id: string): Promise<void> {
    return this.#expect("filer", { type: "ChatRequest", input: id, request_id: id }, "filed");
  }

  async #count(id: string): Promise<void> {
    await this.#end("counter", {
      type: "OperationRequest",
      operation: "add",
      input: {},
      key: "one",
      request_id: id,
    });
    this.#adds += 1;
  }

  async #list(): Promise<void> {
    await this.#json("/runs?limit=20");
    await this.#json("/statistics");
  }

  async #expect(agent: string, body: Body, result: string): Promise<void> {
    const end = await this.#end(agent, body);
    if (end["result"] !== result) throw new Error(`the turn ended with ${JSON.stringify(end)}`);
  }

  async #end(agent: string, body: Body): Promise<Body> {
    const until = performance.now() + MOST_AWAY_MS;
    for (;;) {
      const end = (await this.#json(`/${agent}/process?wait=completed`, body)) as Body;
      // A turn that moves to another node can outlast the wait of the server, which then answers with its ids.
      if (end["result"] !== undefined || performance.now() > until) return end;
    }
  }

  async #json(path: string, body?: Body): Promise<unknown> {
    return JSON.parse(await this.#text(path, body));
  }

  /** Asks one of the servers, and another time while it is away or starts. */
  async #text(path: string, body?: Body): Promise<string> {
    const until = performance.now() + MOST_AWAY_MS;
    for (;;) {
      const address = this.#addresses[Math.floor(Math.random() * this.#addresses.length)] as string;
      try {
        const response = await fetch(`http://${address}${path}`, {
          ...(body && { method: "POST", body: JSON.stringify(body) }),
          headers: body ? { "content-type": "application/json" } : {},
        });
        const text = await response.text();
        if (response.ok) return text;
        if (response.status !== 503) throw new Refused(`${path} was answered by ${response.status}: ${text}`);
      } catch (error) {
        if (error instanceof Refused) throw error;
      }
      if (performance.now() > until)
        throw new Refused(`${path} was not answered for ${MOST_AWAY_MS / 1_000} s`);
      await setTimeout(PAUSE_MS);
    }
  }
}

class Refused extends Error {
  override readonly name = "Refused";
}

const PAUSE_MS = 100;
const MOST_AWAY_MS = 60_000;
