import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A fault of the tiny server. */
export type Fault =
  | "gap in the ids"
  | "two ends"
  | "no end"
  | "end comes first"
  | "named frames"
  | "two data lines"
  | "later readers miss an event"
  | "spaces are lost"
  | "since is ignored"
  | "negative since is taken"
  | "one run for all"
  | "unknown ids are internal errors"
  | "malformed bodies are internal errors"
  | "metadata is said"
  | "no time"
  | "another agent's name"
  | "runs twice"
  | "another body is taken";

/** A server with one agent, echo, and a minimal protocol with one fault. */
export async function serveTiny(fault?: Fault): Promise<{ url: string; close(): void }> {
  const echo = new TinyEcho(fault);
  return listen(createServer((request, response) => void echo.answer(request, response)));
}

/** Listens on a free port of this machine. */
export async function listen(server: Server): Promise<{ url: string; close(): void }> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

type Fields = Record<string, unknown>;

class TinyEcho {
  readonly #fault: Fault | undefined;
  readonly #runs = new Map<string, Fields[]>();
  readonly #requests = new Map<string, { body: string; events: Fields[]; run: string; reads: number }>();

  constructor(fault: Fault | undefined) {
    this.#fault = fault;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://tiny");
    const [route = "", name = ""] = pathname
      .replace(/^\/echo/, "")
      .slice(1)
      .split("/");
    const body = await text(request);
    if (pathname === "/") reply(response, 200, [{ name: "echo", path: "/echo" }]);
    else if (route === "describe") reply(response, 200, DESCRIPTION);
    else if (route === "process") this.#process(response, body);
    else if (route === "getevents") this.#read(response, name, searchParams);
    else this.#refuse(response, 404, "unknown ids are internal errors");
  }

  #process(response: ServerResponse, text: string): void {
    const body = parse(text);
    if (body === undefined) return this.#refuse(response, 400, "malformed bodies are internal errors");
    const known = this.#requests.get(String(body["request_id"]));
    if (known !== undefined && !this.#is("runs twice")) {
      const conflict = known.body !== text && !this.#is("another body is taken");
      return conflict ? reply(response, 409, problem(409)) : reply(response, 200, known.events[0], true);
    }
    const input = String(body["input"]);
    const run = this.#is("one run for all") ? "run_0" : toId(body["run_id"], "run");
    const request = toId(body["request_id"], "req");
    const history = this.#runs.get(run) ?? [];
    const said = this.#is("metadata is said") ? canaryOf(body["request_metadata"]) : "";
    const words = this.#is("spaces are lost")
      ? input.split(/\s+/)
      : (input.match(/^\s+$|(?:^\s+)?\S+\s*/g) ?? []);
    const end = {
      type: "RequestCompleted",
      role: "system",
      finish_reason: "success",
      result: input,
      output: null,
    };
    const bodies: Fields[] = [
      { type: "RequestStarted", role: "system", operation: "chat", input },
      ...words.map((content) => ({ type: "TextOutput", role: "assistant", content, said })),
      ...(this.#is("no end") ? [] : [end]),
      ...(this.#is("two ends") ? [end] : []),
    ];
    if (this.#is("end comes first")) bodies.reverse();
    const gap = this.#is("gap in the ids") ? 1 : 0;
    const events = bodies.map((fields, index) => ({
      id: history.length + index + 1 + (index > 0 ? gap : 0),
      run_id: run,
      request_id: request,
      agent: this.#is("another agent's name") ? "parrot" : "echo",
      depth: 0,
      ...(this.#is("no time") ? {} : { ts: "2026-11-21T08:00:00.000Z" }),
      ...fields,
    }));
    this.#runs.set(run, [...history, ...events]);
    this.#requests.set(request, { body: text, events, run, reads: 0 });
    reply(response, 200, events[0]);
  }

  #read(response: ServerResponse, name: string, query: URLSearchParams): void {
    const request = this.#requests.get(name);
    const found = request?.events ?? this.#runs.get(name);
    if (found === undefined) return this.#refuse(response, 404, "unknown ids are internal errors");
    const wrong = query.getAll("since").length > 1 || !/^\d*$/.test(query.get("since") ?? "");
    if (wrong && !this.#is("negative since is taken")) return reply(response, 400, problem(400));
    const since = this.#is("since is ignored") ? 0 : Number(query.get("since"));
    const late = this.#is("later readers miss an event") && request !== undefined && request.reads++ > 0;
    const events = found.filter(({ id }) => Number(id) > since).filter((_, index) => !(late && index === 1));
    if (query.get("stream") !== "true") return reply(response, 200, events);
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    });
    const eventName = this.#is("named frames") ? "event: message\n" : "";
    for (const event of events) {
      const data = JSON.stringify(event, null, this.#is("two data lines") ? 1 : 0).replaceAll(
        "\n",
        "\ndata: ",
      );
      response.write(`${eventName}id: ${String(event["id"])}\ndata: ${data}\n\n`);
    }
    response.end();
  }

  #is(fault: Fault): boolean {
    return this.#fault === fault;
  }

  #refuse(response: ServerResponse, status: number, internal: Fault): void {
    if (this.#is(internal)) reply(response, 500, { error: "Traceback" });
    else reply(response, status, problem(status));
  }
}

const DESCRIPTION = {
  name: "echo",
  purpose: "Repeats a text.",
  endpoints: [],
  operations: [{ name: "chat", description: "Talks." }],
  tools: [],
};

function parse(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function toId(given: unknown, kind: string): string {
  return typeof given === "string" || typeof given === "number"
    ? String(given)
    : `${kind}_${crypto.randomUUID()}`;
}

function canaryOf(metadata: unknown): unknown {
  return typeof metadata === "object" && metadata !== null && "canary" in metadata ? metadata.canary : "";
}

function problem(status: number): unknown {
  return { type: "about:blank", title: "No", status, code: "not_found", detail: "There is no such thing." };
}

function reply(response: ServerResponse, status: number, body: unknown, replayed = false): void {
  const type = status < 400 ? "application/json" : "application/problem+json";
  response.writeHead(status, { "content-type": type, ...(replayed && { "idempotent-replayed": "true" }) });
  response.end(JSON.stringify(body));
}
