import { once } from "node:events";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** How the requests to a poisonous server end. */
export type Ending = "success" | "error" | "waiting" | "refusal" | "lost";

/** A server that speaks the protocol and has `POISON` in every text that it sends. */
export interface PoisonousServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * What a terminal must never get: sequences that write to the clipboard, move the cursor, hide text or change the title,
 * in both encodings; a carriage return and a line break, a bell, marks that turn the direction of the text, and
 * characters that nobody sees.
 */
const POISON: string =
  "\u001b]52;c;cm0gLXJm\u0007\u001b[20;1H\u001b[8m\u001b]0;t\u001b\\\u009b31m\u009d52;c;eA\u009c\r\n" +
  "poison\u0008\u0000\u007f\u0085\u2028\u202efdp\u2066\u200e\u061c\ufeff\u{e0001}";

/** Starts the server. Its agent is `payments` with the operation `pay`, its run `run_1`, its request `req_1`. */
export async function startPoisonous(ending: Ending): Promise<PoisonousServer> {
  /** Whether events of a request that is lost were sent. */
  let isBegun = false;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const { pathname: path, searchParams: query } = new URL(request.url ?? "/", "http://localhost");
      answer(response, `${request.method} ${path}`, query);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };

  function answer(response: ServerResponse, asked: string, query: URLSearchParams): void {
    const isList = asked === "GET /";
    if (ending === "lost" && asked.includes("/getevents")) {
      if (isBegun) return refuse(response);
      isBegun = true;
      return stream(response, manyEvents());
    }
    if (ending === "refusal" && !isList) return refuse(response);
    const events = toEvents(ending);
    if (isList)
      return json(response, [{ name: "payments" }, { name: "$(touch${IFS}caught)" }, { name: POISON }]);
    if (asked.endsWith("/describe")) return json(response, DESCRIPTION);
    if (asked.endsWith("/process")) return json(response, events[0]);
    if (asked.includes("/getevents")) {
      return query.has("since") ? json(response, events) : stream(response, events);
    }
    if (asked.includes("/request/")) return json(response, { ...STATUS, agent: "payments" });
    if (asked === "GET /runs" && query.has("stream"))
      return stream(response, [ROW, { ...ROW, removed: true }]);
    if (asked.endsWith("/runs")) return json(response, [ROW]);
    if (asked.endsWith("/waits")) return json(response, events.filter(isWait));
    if (asked.endsWith("/fork")) return json(response, { run_id: POISON });
    if (asked.includes("/artifacts/")) {
      return void response.writeHead(200, { "content-type": "text/plain" }).end(POISON);
    }
    return json(response, poisoned({ status: "ready" }));
  }
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function stream(response: ServerResponse, events: readonly object[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map((event, at) => `id: ${at + 1}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}

function refuse(response: ServerResponse): void {
  const problem = {
    code: POISON,
    title: POISON,
    type: POISON,
    detail: POISON,
    hint: POISON,
    [POISON]: POISON,
    errors: [{ path: POISON, message: `${POISON} is wrong` }],
  };
  response.writeHead(422, { "content-type": "application/problem+json" }).end(JSON.stringify(problem));
}

/** An object with the poison as each value that is a text, and under a key of its own. */
function poisoned(fields: object): object {
  return { ...fields, [POISON]: POISON };
}

const SCHEMA = {
  type: "object",
  required: [POISON, "choice"],
  properties: {
    [POISON]: { type: "string", description: POISON, default: POISON },
    choice: { enum: [POISON, "other"], description: POISON },
    constant: { const: POISON },
    typed: { type: POISON },
  },
};

const DESCRIPTION = {
  ...poisoned({ name: "payments", purpose: POISON, version: POISON, tools: [POISON], endpoints: [POISON] }),
  operations: [
    { name: "pay", description: POISON, input_schema: SCHEMA, output_schema: SCHEMA },
    { name: "free", description: POISON, input_schema: { type: "object" }, output_schema: SCHEMA },
    { name: POISON, description: POISON, input_schema: {}, output_schema: {} },
  ],
};

const ADDRESS = { run_id: POISON, request_id: POISON, agent: POISON, parent_call_id: POISON, depth: 0 };
const STATUS = { run_id: POISON, request_id: POISON, status: POISON };
const AT = "2026-01-01T00:00:00.000Z";

const ROW = {
  run_id: POISON,
  agent: POISON,
  status: POISON,
  key: POISON,
  turns: POISON,
  queued: 0,
  updated_at: AT,
  initial_input: POISON,
  last_turn: { started_at: AT, ended_at: AT, error_code: POISON },
};

/** More events than a client keeps, so that it must ask for them again. */
function manyEvents(): readonly object[] {
  const told = { ...ADDRESS, request_id: "req_1", role: "assistant", ts: AT, depth: 1 };
  const texts = Array.from({ length: 12_000 }, (_, at) => ({
    ...told,
    id: at + 2,
    type: "TextOutput",
    content: "a",
  }));
  return [{ ...told, id: 1, type: "RequestStarted", operation: "free", input: {}, depth: 0 }, ...texts];
}

function isWait(event: object): boolean {
  return (event as { readonly type: string }).type === "WaitForInput";
}

/** The events of the request, of each type that commands show, and of one that they do not know. */
function toEvents(ending: Ending): readonly object[] {
  const call = { tool_call_id: "c1.1", call_id: "c1.1", function_name: POISON };
  const wait = {
    wait_id: 9,
    call_id: "c1.2",
    request_keys: { [POISON]: POISON, choice: POISON },
    schema: SCHEMA,
  };
  const file = { name: POISON, artifact_id: POISON, url: POISON, mime_type: POISON, size_bytes: 1 };
  const bodies: readonly object[] = [
    { type: "RequestStarted", operation: POISON, input: { [POISON]: POISON }, sender: { agent: POISON } },
    { type: "TextOutput", content: POISON, branch: POISON },
    { type: "ReasoningOutput", content: POISON, call_id: "c1.1" },
    { type: "ToolCall", ...call, args: { [POISON]: POISON }, callee: { kind: "agent", name: POISON } },
    { type: "ToolTextOutput", ...call, content: POISON },
    { type: "ToolResult", ...call, text_result: POISON, result: POISON },
    { type: "ToolCall", ...call, tool_call_id: "c1.3", args: POISON },
    { type: "ToolError", ...call, tool_call_id: "c1.3", content: POISON, code: POISON },
    { type: "MessageReceived", message_id: POISON, name: POISON, body: POISON },
    { type: "ArtifactGenerated", ...file },
    { type: "Custom", name: POISON, body: POISON },
    { type: `Unknown${POISON}`, [POISON]: POISON },
    { type: "WaitForInput", ...wait },
    ...(ending === "waiting"
      ? []
      : [{ type: "ResumeWithInput", wait_id: 9, request_keys: { [POISON]: POISON } }]),
    ...(ending === "waiting" ? [] : [toEnd(ending)]),
  ];
  return bodies.map((body, at) => ({ id: at + 1, ts: AT, role: POISON, ...ADDRESS, ...body }));
}

function toEnd(ending: Ending): object {
  const end = { type: "RequestCompleted", result: POISON, usage: { [POISON]: POISON } };
  return ending === "error"
    ? { ...end, finish_reason: "error", output: null, error: { code: POISON, message: POISON } }
    : { ...end, finish_reason: "success", output: { output: { [POISON]: POISON } } };
}
