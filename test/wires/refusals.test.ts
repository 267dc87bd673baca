import { createRuntime } from "troupe";
import { serve } from "troupe/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { openWires, WIRES } from "../../src/cli/serve/wires.ts";

// What every wire refuses on each of its routes, in its own words.

const TOKEN = "a-token-of-enough-characters";

let url = "";
let close = async (): Promise<void> => {};

const text = expect.stringMatching(/./) as string;
const rpc = { jsonrpc: "2.0", error: { message: text } };

interface WireRoutes {
  readonly name: string;
  /** How the wire says no. */
  readonly words: unknown;
  /** The status of a body that is not JSON. Default 400. */
  readonly malformed?: number;
  /** The routes that take a body. */
  readonly posts: readonly string[];
  readonly gets: readonly string[];
}

const routes: readonly WireRoutes[] = [
  {
    name: "a2a",
    // JSON-RPC and HTTP have errors of different forms, whose message is in the same place.
    words: { error: { code: expect.any(Number) as number, message: text } },
    posts: ["/a2a/echo", "/a2a/echo/v1/message:send", "/a2a/echo/v1/message:stream"],
    gets: ["/a2a/echo/v1/tasks", "/a2a/echo/v1/tasks/x"],
  },
  {
    name: "ag-ui",
    words: { type: "RUN_ERROR", message: text },
    posts: ["/ag-ui/echo"],
    gets: ["/ag-ui", "/ag-ui/echo/thread"],
  },
  {
    name: "agentic",
    words: { detail: text },
    posts: ["/agentic/echo/process"],
    gets: ["/agentic/echo/getevents/x", "/agentic/_discovery"],
  },
  {
    name: "agentscope",
    words: { error: { code: text, message: text } },
    posts: ["/agentscope/echo/process"],
    gets: ["/agentscope/echo/sessions/x"],
  },
  { name: "mcp", words: rpc, posts: ["/mcp", "/mcp/echo"], gets: ["/mcp", "/mcp/echo"] },
  {
    name: "openai",
    words: { error: { message: text, type: text } },
    posts: ["/v1/chat/completions", "/v1/responses"],
    gets: ["/v1/models", "/v1/models/echo", "/v1/responses/x"],
  },
  {
    name: "tasks",
    malformed: 422,
    words: { message: text },
    posts: ["/ap/v1/agent/tasks", "/echo/ap/v1/agent/tasks"],
    gets: ["/ap/v1/agent/tasks", "/echo/ap/v1/agent/tasks/x"],
  },
  { name: "ui", words: text, posts: ["/ui/echo"], gets: ["/ui", "/ui/echo/chat/stream"] },
];

test("the table has every wire of the package", () => {
  expect(routes.map(({ name }) => name)).toEqual([...WIRES].sort());
});

interface Refused {
  readonly status: number;
  readonly body: unknown;
}

/** Sends a request to each of some paths, and gives the answers. */
async function answersOf(
  paths: readonly string[],
  { method, body, headers }: { readonly method: string; readonly body?: string; readonly headers: object },
): Promise<readonly Refused[]> {
  const answers: Refused[] = [];
  for (const path of paths) {
    const accept = "application/json, text/event-stream";
    const init = { method, headers: { accept, "a2a-version": "1.0", ...headers } };
    const response = await fetch(url + path, { ...init, ...(body !== undefined && { body }) });
    const said = await response.text();
    answers.push({ status: response.status, body: /^[{[]/.test(said) ? JSON.parse(said) : said });
  }
  return answers;
}

/** What is expected of as many routes. */
function refusals(paths: readonly string[], { words }: WireRoutes, status: unknown): readonly object[] {
  return paths.map(() => ({ status, body: words }));
}

const json = { "content-type": "application/json" };
const own = { ...json, authorization: `Bearer ${TOKEN}` };

describe.each(routes)("$name", (wire) => {
  // Each has a server of its own, since a server takes few requests with a wrong token in a minute.
  beforeAll(async () => {
    const runtime = createRuntime({ agents: [echo] });
    const adapters = await openWires(WIRES);
    const server = await serve(runtime, { port: 0, drain: false, token: TOKEN, adapters });
    url = server.url;
    close = async () => {
      await server.close();
      await runtime.close();
    };
  });
  afterAll(() => close());

  const { posts, gets } = wire;

  test("refuses who has no token", async () => {
    const answers = await answersOf(posts, { method: "POST", body: "{}", headers: json });
    expect(answers).toMatchObject(refusals(posts, wire, 401));
    expect(await answersOf(gets, { method: "GET", headers: json })).toMatchObject(refusals(gets, wire, 401));
  });

  test("refuses a page of another origin", async () => {
    const headers = { ...own, origin: "https://evil.example" };
    const answers = await answersOf(posts, { method: "POST", body: "{}", headers });
    expect(answers).toMatchObject(refusals(posts, wire, 403));
    expect(await answersOf(gets, { method: "GET", headers })).toMatchObject(refusals(gets, wire, 403));
  });

  test("refuses a body that is too large, and one that is not JSON", async () => {
    const large = await answersOf(posts, {
      method: "POST",
      body: `"${"x".repeat(5_000_000)}"`,
      headers: own,
    });
    expect(large).toMatchObject(refusals(posts, wire, 413));
    const broken = await answersOf(posts, { method: "POST", body: "{", headers: own });
    expect(broken).toMatchObject(refusals(posts, wire, wire.malformed ?? 400));
  });
});
