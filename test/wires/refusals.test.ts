import fc from "fast-check";
import { createRuntime } from "troupe";
import type { Adapter } from "troupe/http";
import { serve } from "troupe/node";
import { createWebhooks } from "troupe/webhooks";
import { describe, expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { openWires, WIRES } from "../../src/cli/serve/wires.ts";

// What every wire refuses on each of its routes, in its own words. The routes are those that the adapters add themselves.

const TOKEN = "a-token-of-enough-characters";

const text = expect.stringMatching(/./) as string;

interface WireWords {
  readonly name: string;
  /** How the wire says no. */
  readonly words: unknown;
  /** The status of a body that is not JSON. Default 400. */
  readonly malformed?: number;
  /** The routes with POST that read no body. */
  readonly bodiless?: RegExp;
  /** The routes that take a form with a file. */
  readonly forms?: RegExp;
  /** The routes that a pattern of the adapter stands for. */
  readonly more?: readonly string[];
}

const wires: readonly WireWords[] = [
  {
    name: "a2a",
    // JSON-RPC and HTTP have errors of different forms, whose message is in the same place.
    words: { error: { code: expect.any(Number) as number, message: text } },
    bodiless: /:cancel$|:subscribe$/,
    more: [
      "POST /a2a/echo/v1/message:send",
      "POST /a2a/echo/v1/message:stream",
      "GET /a2a/echo/v1/tasks",
      "GET /a2a/echo/v1/tasks/x",
      "POST /a2a/echo/v1/tasks/x:cancel",
      "GET /a2a/echo/v1/tasks/x:subscribe",
      "POST /a2a/echo/v1/tasks/x:subscribe",
      "POST /a2a/echo/v1/tasks/x/pushNotificationConfigs",
      "GET /a2a/echo/v1/tasks/x/pushNotificationConfigs",
      "GET /a2a/echo/v1/tasks/x/pushNotificationConfigs/y",
      "DELETE /a2a/echo/v1/tasks/x/pushNotificationConfigs/y",
    ],
  },
  { name: "ag-ui", words: { type: "RUN_ERROR", message: text }, bodiless: /\/stop$/ },
  { name: "agentic", words: { detail: text } },
  { name: "agentscope", words: { error: { code: text, message: text } } },
  { name: "mcp", words: { jsonrpc: "2.0", error: { message: text } } },
  { name: "openai", words: { error: { message: text, type: text } }, bodiless: /\/cancel$/ },
  { name: "tasks", malformed: 422, words: { message: text }, forms: /\/artifacts$/ },
  { name: "ui", words: text, bodiless: /\/stop$/ },
];

test("the table has every wire of the package", () => {
  expect(wires.map(({ name }) => name)).toEqual([...WIRES].sort());
});

/** A route as `POST /path`. */
interface Route {
  readonly method: string;
  readonly path: string;
}

interface Served extends AsyncDisposable {
  readonly url: string;
  /** The routes of the wire, whose parameters are the id of a run. */
  readonly routes: readonly Route[];
  readonly adapter: Adapter;
}

/** Serves an agent over all wires, and notes the routes that one of them adds. */
async function start({ name, more = [] }: WireWords): Promise<Served> {
  const hooks = createWebhooks([]);
  const runtime = createRuntime({ agents: [echo, hooks.agent], defaultAgent: "echo" });
  const added = new Set<string>();
  const adapters = (await openWires(WIRES, { push: hooks.push })).map((adapter): Adapter => ({
    ...adapter,
    addRoutes(app, host, place) {
      const before = app.routes.length;
      adapter.addRoutes(app, host, place);
      if (adapter.name !== name || (place.agent ?? "echo") !== "echo") return;
      for (const { method, path } of app.routes.slice(before)) added.add(`${method} ${path}`);
    },
  }));
  const adapter = adapters.find((one) => one.name === name);
  if (adapter === undefined) throw new Error(`there is no wire ${name}`);
  const { url, close } = await serve(runtime, {
    port: 0,
    drain: false,
    token: TOKEN,
    adapters,
    listeners: [hooks],
    fileLimitBytes: 1_048_576,
  });
  const run = await runtime.createRun("echo", {});
  const patterns = [...added].filter((one) => !one.includes("/:path{"));
  expect(patterns.length === added.size).toBe(more.length === 0);
  const routes = [...patterns, ...more].map((one) => {
    const [method = "", path = ""] = one.split(" ");
    return { method, path: path.replaceAll(/(?<=\/):\w+(?:\{[^}]*\})?/g, run) };
  });
  return {
    url,
    routes: routes.filter(({ path }) => adapter.owns(path)),
    adapter,
    async [Symbol.asyncDispose]() {
      await close();
      await runtime.close();
    },
  };
}

interface Refused {
  readonly route: string;
  readonly status: number;
  readonly body: unknown;
}

/** Sends a request to each of some routes, and gives the answers. */
async function answersOf(
  url: string,
  routes: readonly Route[],
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<readonly Refused[]> {
  const answers: Refused[] = [];
  for (const { method, path } of routes) {
    const accept = "application/json, text/event-stream";
    const sent = body ?? (method === "POST" ? "{}" : undefined);
    const init = { method, headers: { accept, "a2a-version": "1.0", ...JSON_TYPE, ...headers } };
    const response = await fetch(url + path, { ...init, ...(sent !== undefined && { body: sent }) });
    const said = await response.text();
    const answered = /^[{[]/.test(said) ? (JSON.parse(said) as unknown) : said;
    answers.push({ route: `${method} ${path}`, status: response.status, body: answered });
  }
  return answers;
}

/** What is expected of some routes. */
function refusals(routes: readonly Route[], { words }: WireWords, status: number): readonly object[] {
  return routes.map(({ method, path }) => ({ route: `${method} ${path}`, status, body: words }));
}

const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "multipart/form-data; boundary=edge" };
const own = { authorization: `Bearer ${TOKEN}` };

/** A server takes few requests with a wrong token in a minute. */
const TOKENLESS = 8;

/** How many random bodies each wire gets. */
const BODIES = Number(process.env["WIRE_BODIES"] ?? 40);

describe.each(wires)("$name", (wire) => {
  const { bodiless = /^$/, forms = /^$/, malformed = 400 } = wire;

  test("refuses who has no token, on each route that is not open", async () => {
    for (let index = 0, isLeft = true; isLeft; index += TOKENLESS) {
      await using server = await start(wire);
      const closed = server.routes.filter(({ path }) => server.adapter.open?.(path) !== true);
      const some = closed.slice(index, index + TOKENLESS);
      expect(await answersOf(server.url, some, {})).toMatchObject(refusals(some, wire, 401));
      isLeft = index + TOKENLESS < closed.length;
      expect(closed.length).toBeGreaterThan(0);
    }
  });

  test("refuses a page of another origin, on each route", async () => {
    await using server = await start(wire);
    const headers = { ...own, origin: "https://evil.example" };
    const answers = await answersOf(server.url, server.routes, headers);
    expect(answers).toMatchObject(refusals(server.routes, wire, 403));
  });

  test(
    "refuses a body that is too large, and one that is not JSON, on each route that reads one",
    { tags: "long" },
    async () => {
      await using server = await start(wire);
      const readers = server.routes.filter(({ method, path }) => method === "POST" && !bodiless.test(path));
      const uploads = readers.filter(({ path }) => forms.test(path));
      const posts = readers.filter((route) => !uploads.includes(route));
      const long = "x".repeat(5_000_000);
      const large = await answersOf(server.url, posts, own, `"${long}"`);
      expect(large).toMatchObject(refusals(posts, wire, 413));
      const file = `--edge\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${long}\r\n--edge--\r\n`;
      const form = await answersOf(server.url, uploads, { ...own, ...FORM_TYPE }, file);
      expect(form).toMatchObject(refusals(uploads, wire, 413));
      const broken = await answersOf(server.url, readers, own, "{");
      expect(broken).toMatchObject(refusals(readers, wire, malformed));
      const brokenForm = await answersOf(server.url, uploads, { ...own, ...FORM_TYPE }, "--edge");
      expect(brokenForm).toMatchObject(refusals(uploads, wire, malformed));
    },
  );

  test(
    "has no fault for any body, on each route that reads one",
    { tags: "long", timeout: 300_000 + BODIES * 100 },
    async () => {
      await using server = await start(wire);
      const posts = server.routes.filter(({ method }) => method === "POST");
      const value = fc.oneof(fc.jsonValue(), fc.constantFrom("hello", "NEW", true, 0, [], {}, null));
      const body = fc.oneof(value, fc.dictionary(fc.constantFrom(...NAMES), value));
      const sent = fc.record({ route: fc.constantFrom(...posts), body });
      await fc.assert(
        fc.asyncProperty(sent, async ({ route, body: given }) => {
          const [answer] = await answersOf(server.url, [route], own, JSON.stringify(given));
          expect(answer?.status).not.toBe(500);
        }),
        { numRuns: BODIES },
      );
    },
  );
});

/** Names of fields of the wires. */
const NAMES = [
  "additional_input",
  "continue_result",
  "id",
  "input",
  "jsonrpc",
  "message",
  "messages",
  "method",
  "model",
  "params",
  "password",
  "prompt",
  "runId",
  "session_id",
  "stream",
  "thread_id",
  "threadId",
  "tools",
  "trigger",
  "user_id",
];
