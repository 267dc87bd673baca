import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listen } from "./tiny-server.ts";

/** What the draft leaves open. */
export interface DraftChoices {
  /** Whether the server takes the `request_id` of the client, or makes its own. */
  readonly ids?: "client" | "server";
  /** Whether `process` with `wait` answers with an event; otherwise it too answers with a status only. */
  readonly events?: boolean;
  /** Whether a stream stays open while the request waits for input. */
  readonly stays?: boolean;
}

/**
 * Serves one agent, echo, literally as the draft describes it, and with nothing else: run ids are numbers, `process` without
 * `wait` answers with a status, there is no state of a request, and positions are only known as `since`. It repeats a text;
 * to "ask" it asks first.
 */
export async function serveDraft(choices: DraftChoices = {}): Promise<{ url: string; close(): void }> {
  const echo = new DraftEcho(choices);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://draft");
    const [, agent = "", route = "", id = ""] = pathname.split("/");
    const body = await text(request);
    if (pathname === "/") send(response, [["echo", "/echo"]]);
    else if (agent !== "echo") response.writeHead(404).end();
    else if (route === "describe") send(response, DESCRIPTION);
    else if (route === "process") echo.process(response, JSON.parse(body) as Fields, searchParams);
    else if (route === "getevents") echo.read(response, id, searchParams);
    else response.writeHead(404).end();
  };
  return listen(createServer((request, response) => void answer(request, response)));
}

type Fields = Readonly<Record<string, unknown>>;

interface Turn {
  readonly requestId: string;
  readonly run: Fields[];
  readonly runId: number;
  readonly events: Fields[];
  readonly streams: Set<ServerResponse>;
}

class DraftEcho {
  readonly #choices: DraftChoices;
  readonly #runs = new Map<number, Fields[]>();
  readonly #turns = new Map<string, Turn>();

  constructor(choices: DraftChoices) {
    this.#choices = choices;
  }

  process(response: ServerResponse, request: Fields, query: URLSearchParams): void {
    const event = this.#take(request);
    const isWaiting = query.get("wait") === "true" && this.#choices.events !== false;
    if (event === undefined) response.writeHead(404).end();
    else if (isWaiting) send(response, event);
    else response.writeHead(200).end();
  }

  read(response: ServerResponse, id: string, query: URLSearchParams): void {
    const turn = this.#turns.get(id);
    if (turn === undefined) return void response.writeHead(404).end();
    const since = Number(query.get("since"));
    const events = turn.events.filter((event) => Number(event["id"]) > since);
    if (query.get("stream")?.toLowerCase() !== "true") return send(response, events);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) response.write(toFrame(event));
    if (this.#isOver(turn)) response.end();
    else turn.streams.add(response);
  }

  /** The event that acknowledges a request. */
  #take(request: Fields): Fields | undefined {
    const { type, input, request_id: given } = request;
    switch (type) {
      case "ChatRequest": {
        const turn = this.#start(request);
        const started = this.#say(turn, "RequestStarted", "system");
        if (input === "ask")
          this.#say(turn, "WaitForInput", "assistant", { request_keys: { name: "Your name?" } });
        else this.#end(turn, String(input));
        return started;
      }
      case "ResumeWithInput": {
        const turn = this.#turns.get(String(given));
        if (turn === undefined) return undefined;
        const { name } = request["request_keys"] as Fields;
        return this.#end(turn, `hello ${String(name)}`);
      }
      case "CancelRequest": {
        const turn = this.#turns.get(String(given));
        return turn && this.#say(turn, "RequestCompleted", "system", { finish_reason: "canceled" });
      }
      case "ConfigureRequest":
        return { type: "RequestCompleted", finish_reason: "success" };
      default:
        return undefined;
    }
  }

  #start({ request_id: given, run_id: continued }: Fields): Turn {
    const runId = continued === undefined ? this.#runs.size + 1 : Number(continued);
    const requestId = this.#choices.ids === "server" ? crypto.randomUUID() : String(given);
    const run = this.#runs.get(runId) ?? [];
    this.#runs.set(runId, run);
    const turn = { requestId, run, runId, events: [], streams: new Set<ServerResponse>() };
    this.#turns.set(requestId, turn);
    return turn;
  }

  #end(turn: Turn, said: string): Fields {
    const first = this.#say(turn, "TextOutput", "assistant", { content: said });
    this.#say(turn, "RequestCompleted", "system", { finish_reason: "success", result: said });
    return first;
  }

  #say(turn: Turn, type: string, role: string, fields: Fields = {}): Fields {
    const { requestId, runId, run, events, streams } = turn;
    const id = run.length + 1;
    const event = {
      id,
      run_id: runId,
      request_id: requestId,
      agent: "echo",
      type,
      role,
      depth: 0,
      ...fields,
    };
    run.push(event);
    events.push(event);
    for (const stream of streams) stream.write(toFrame(event));
    if (!this.#isOver(turn)) return event;
    for (const stream of streams) stream.end();
    streams.clear();
    return event;
  }

  #isOver({ events }: Turn): boolean {
    const type = events.at(-1)?.["type"];
    return type === "RequestCompleted" || (type === "WaitForInput" && this.#choices.stays !== true);
  }
}

const DESCRIPTION = {
  name: "echo",
  purpose: "Repeats a text.",
  endpoints: ["describe", "process", "getevents"],
  operations: [{ name: "chat", description: "send a chat request" }],
  tools: [],
};

function toFrame(event: Fields): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

function send(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
