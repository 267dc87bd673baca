import { createRuntime, defineAgent, operation } from "troupe";
import type { Agent, Runtime } from "troupe";
import { createClient, httpAgent } from "troupe/client";
import type { HttpAgentOptions } from "troupe/client";
import type { Event } from "troupe/protocol";
import { collect } from "troupe/testing";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { ofType, requestOf, textsOf, theOne } from "../../agents/events.ts";
import { ServerProcess } from "../../flows/server.ts";
import { findFreeUrl } from "../../machine/free-port.ts";
import { systemClock } from "../../../src/client/wire/clock.ts";
import { say, startEndpoint } from "./endpoint.ts";
import { shortened } from "../../machine/long.ts";

const NEAR = fileURLToPath(new URL("near-server.ts", import.meta.url));

afterEach(() => {
  vi.unstubAllEnvs();
});

function runtimeOf(...agents: readonly Agent[]): Runtime {
  const runtime = createRuntime({ agents });
  onTestFinished(() => runtime.close());
  return runtime;
}

const OWN = { name: "far", purpose: "Speaks elsewhere." };

/** Asks an agent of an endpoint with these options. */
function chat(options: Partial<HttpAgentOptions> & { readonly url: string }): Promise<readonly Event[]> {
  return collect(runtimeOf(httpAgent({ ...OWN, ...options })), "far", { type: "ChatRequest", input: "hi" });
}

const endOf = (events: readonly Event[]): Event | undefined => events.at(-1);

describe("the answer of an endpoint", () => {
  const event = (json: object): string => `data: ${JSON.stringify(json)}\n\n`;
  test.each([
    ["plain text", "text/plain", "Hello, Ada.", ["Hello, Ada."], {}],
    ["a text as JSON", "application/json", '"Hello."', ["Hello."], {}],
    ["a text as an event", "application/json", '{"type":"text","text":"Hello."}', ["Hello."], {}],
    ["an output", "application/json; charset=utf-8", '{"degrees":4}', [], { output: { degrees: 4 } }],
    ["an output with a text", "application/json", '{"output":"Hello."}', [], { result: "Hello." }],
    ["nothing", "application/json", "", [], { result: "" }],
    [
      "lines of JSON",
      "application/x-ndjson",
      '{"type":"text","text":"It is "}\r\n\n"cold."\n{"type":"output","output":{"degrees":4}}',
      ["It is ", "cold."],
      { output: { degrees: 4 } },
    ],
    [
      "server-sent events",
      "text/event-stream",
      `: hello\n\n${event({ type: "text", text: "It is " })}data: 4 degrees\n\ndata: 5\n\ndata: "."\n\ndata: [DONE]\n\n`,
      ["It is ", "4 degrees", "5", "."],
      { result: "It is 4 degrees5." },
    ],
  ])("%s is understood", async (_, type, body, texts, end) => {
    const events = await chat({ url: (await startEndpoint(say(type, body))).url });
    expect(textsOf(events)).toEqual(texts);
    expect(endOf(events)).toMatchObject({ finish_reason: "success", ...end });
  });

  test("reasoning is no text, and long texts and halves of characters fit into events", async () => {
    const long = "ä𝄞".repeat(100_000);
    const lines = [
      { type: "reasoning", text: "Hm." },
      { type: "text", text: long },
      { type: "text", text: "\ud800" },
    ];
    const body = lines.map((line) => JSON.stringify(line)).join("\n");
    const events = await chat({ url: (await startEndpoint(say("application/jsonl", body))).url });
    expect(ofType(events, "ReasoningOutput").map(({ content }) => content)).toEqual(["Hm."]);
    expect(textsOf(events).join("")).toBe(`${long}\uFFFD`);
    expect(endOf(events)).toMatchObject({ finish_reason: "success" });
  });

  test("texts are streamed while the answer goes on", async () => {
    const said = Promise.withResolvers<void>();
    const { url } = await startEndpoint(async (response) => {
      response.writeHead(200, { "content-type": "text/plain" }).write("one ");
      await said.promise;
      response.end("two");
    });
    const runtime = runtimeOf(httpAgent({ ...OWN, url }));
    const { requestId } = await runtime.process("far", { type: "ChatRequest", input: "hi" });
    const feed = await runtime.follow(await runtime.resolve(requestId), {});
    const texts: string[] = [];
    for await (const page of feed.pages) {
      texts.push(...textsOf(page.events.map((text) => JSON.parse(text) as Event)));
      if (texts.length > 0) said.resolve();
    }
    expect(texts).toEqual(["one ", "two"]);
  });

  test("an endpoint is asked with its input and a key, and a program may make another request", async () => {
    const endpoint = await startEndpoint((response, _sent, number) =>
      say("application/json", number === 1 ? '{"sum":5}' : '"done"')(response),
    );
    const common = { url: endpoint.url, token: "secret", headers: { "x-team": "north" } };
    const adder = httpAgent({
      ...common,
      name: "adder",
      purpose: "Adds.",
      operations: {
        add: operation({
          input: z.object({ a: z.number(), b: z.number().default(3) }),
          output: z.object({ sum: z.number() }),
        }),
      },
    });
    const putter = httpAgent({
      ...common,
      name: "putter",
      purpose: "Puts.",
      toRequest: (input, { runId }) => ({
        method: "PUT",
        headers: { "content-type": "text/plain", "x-run": runId, authorization: "own" },
        body: `said: ${input as string}`,
      }),
    });
    const runtime = runtimeOf(adder, putter);
    expect(await runtime.ask(adder, "add", { a: 2 })).toEqual({ sum: 5 });
    expect(await runtime.ask(putter, "chat", { input: "hi" })).toEqual({ output: "done" });
    const [added, put] = endpoint.sent;
    expect(added).toMatchObject({
      method: "POST",
      headers: { authorization: "Bearer secret", "x-team": "north", "content-type": "application/json" },
    });
    expect(JSON.parse(added?.body ?? "")).toEqual({ input: { a: 2, b: 3 }, operation: "add" });
    expect(added?.headers["idempotency-key"]).toMatch(/^run_[\w-]+\.c\d/);
    expect(put).toMatchObject({
      method: "PUT",
      body: "said: hi",
      headers: { authorization: "own", "x-run": expect.stringMatching(/^run_/) as unknown },
    });
  });

  test("a program may read the answer itself", async () => {
    const body = 'data: {"choices":[{"delta":{"content":"Hello"}}]}\n\n';
    const { url } = await startEndpoint(say("text/event-stream", body));
    const events = await chat({
      url,
      async *toEvents(response) {
        const text = await response.text();
        const [data] = z
          .object({ choices: z.array(z.object({ delta: z.object({ content: z.string() }) })) })
          .parse(JSON.parse(text.slice("data: ".length))).choices;
        yield data?.delta.content ?? "";
        yield { type: "output", output: { status: response.status } };
      },
    });
    expect(textsOf(events)).toEqual(["Hello"]);
    expect(endOf(events)).toMatchObject({ output: { status: 200 } });
  });

  test("it may ask the caller, whose answers come with the next request", async () => {
    const endpoint = await startEndpoint((response, { body }) => {
      const { answers } = JSON.parse(body) as { readonly answers?: { readonly size: string } };
      const wait = { type: "wait", questions: { size: "Which size?" }, state: { basket: 7 } };
      say("application/x-ndjson", answers ? '"Ordered."' : `"Well. "\n${JSON.stringify(wait)}`)(response);
    });
    const runtime = runtimeOf(httpAgent({ ...OWN, url: endpoint.url }));
    const asked = await collect(runtime, "far", { type: "ChatRequest", input: "a shirt" });
    const wait = theOne(asked, "WaitForInput");
    expect(wait).toMatchObject({ request_keys: { size: "Which size?" } });
    const events = await collect(runtime, "far", {
      type: "ResumeWithInput",
      request_id: requestOf(asked),
      request_keys: { size: "L" },
    });
    expect(endOf(events)).toMatchObject({ finish_reason: "success", result: "Well. Ordered." });
    expect(JSON.parse(endpoint.sent[1]?.body ?? "")).toEqual({
      input: "a shirt",
      answers: { size: "L" },
      state: { basket: 7 },
    });
    const keys = endpoint.sent.map(({ headers }) => headers["idempotency-key"]);
    expect(new Set(keys).size).toBe(2);
  });
});

describe("an endpoint fails its turn, without its address, when it", () => {
  const error = (message: string, code = "agent_error"): object => ({
    finish_reason: "error",
    error: { code, message },
  });
  test.each<[string, string | Uint8Array, string, Partial<HttpAgentOptions>]>([
    ["sends a huge line", "x".repeat(3_000), "sends a line of more than 2000 characters", {}],
    [
      "sends a huge answer",
      '"x"\n'.repeat(1_000),
      "sends more than 1000 bytes",
      { limits: { bytes: 1_000 } },
    ],
    ["sends what is not JSON", "{no", String.raw`sends what is not JSON: "{no"`, {}],
    ["sends invalid UTF-8", new Uint8Array([0xff, 0xfe]), 'sends what is not JSON: "\uFFFD\uFFFD"', {}],
    [
      "sends an unknown event",
      '{"type":"dance"}',
      "sends an event of an unknown form, which only a `toEvents` of the agent can read",
      {},
    ],
  ])("%s", async (_, body, message, options) => {
    const { url } = await startEndpoint(say("application/x-ndjson", body));
    const events = await chat({ url, limits: { lineCharacters: 2_000 }, ...options });
    expect(endOf(events)).toMatchObject(error(`the endpoint of agent far ${message}`));
  });

  test.each<[string, number, string, string]>([
    ["refuses a request", 422, "answers 422", "model_rejected"],
    ["refuses a token", 401, "answers 401", "model_denied"],
    ["redirects", 302, "answers with a redirect, which is not followed", "agent_error"],
    ["fails", 500, "answers 500", "agent_error"],
    ["may have done it", 504, "answers 504", "agent_error"],
  ])("%s", async (_, status, message, code) => {
    const endpoint = await startEndpoint((response) =>
      response.writeHead(status, { location: "http://127.0.0.1:1/secret" }).end("at 10.0.0.7"),
    );
    const events = await chat({ url: endpoint.url });
    expect(endOf(events)).toMatchObject(error(`the endpoint of agent far ${message}`, code));
    expect(JSON.stringify(events)).not.toMatch(/127\.0\.0\.1|10\.0\.0\.7/);
    expect(endpoint.sent).toHaveLength(1);
  });

  test("says that it has failed", async () => {
    const body = '"I try. "\n{"type":"error","message":"out of stock"}';
    const { url } = await startEndpoint(say("application/x-ndjson", body));
    expect(endOf(await chat({ url }))).toMatchObject(error("out of stock"));
  });

  test("is not there, after some attempts", { tags: "long", timeout: 60_000 }, async () => {
    const events = await chat({ url: await findFreeUrl() });
    expect(endOf(events)).toMatchObject(
      error("the endpoint of agent far cannot be reached (it was away for 5 s)", "model_unavailable"),
    );
    expect(ofType(events, "CompletionCall").length).toBeGreaterThan(1);
  });

  test("breaks off in the middle", async () => {
    const endpoint = await startEndpoint((response) => {
      response.writeHead(200, { "content-type": "text/plain" }).write("Hel");
      setImmediate(() => response.destroy());
    });
    expect(endOf(await chat({ url: endpoint.url }))).toMatchObject(
      error("the endpoint of agent far has broken off"),
    );
    expect(endpoint.sent).toHaveLength(1);
  });

  test.each([
    ["before its answer", 1],
    ["in the middle of it", 3],
  ] as const)("sends nothing %s", async (when, waits) => {
    // Each wait has a timer: for the answer, for its first part, for its second part. This one ends the last of them.
    const timer = vi.spyOn(systemClock, "timer").mockImplementation(() => () => {});
    onTestFinished(() => {
      timer.mockRestore();
    });
    const reached = Promise.withResolvers<void>();
    const { url, abandoned } = await startEndpoint((response) => {
      reached.resolve();
      if (when !== "before its answer")
        response.writeHead(200, { "content-type": "text/plain" }).write("Hel");
    });
    const chatting = chat({ url, silenceMs: 500 });
    await reached.promise;
    await expect.poll(() => timer.mock.calls.length).toBe(waits);
    const [ms, fire] = timer.mock.lastCall ?? [];
    expect(ms).toBe(500);
    fire?.();
    expect(endOf(await chatting)).toMatchObject(error("the endpoint of agent far sends nothing for 500 ms"));
    await abandoned;
  });

  test("never ends", async () => {
    const { url, abandoned } = await startEndpoint((response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const timer = setInterval(() => response.write("x"), 5);
      response.on("close", () => clearInterval(timer));
    });
    const events = await chat({ url, timeoutMs: 100 });
    expect(endOf(events)).toMatchObject(error("far did not end within 100 ms"));
    await abandoned;
  });
});

test("a request that may be sent again is sent again with the same key, and its new texts replace the old", async () => {
  const endpoint = await startEndpoint((response, _sent, number) => {
    response.writeHead(200, { "content-type": "text/plain" });
    if (number === 2) return response.end("whole");
    response.write("half");
    return setImmediate(() => response.destroy());
  });
  const events = await chat({ url: endpoint.url, effect: "idempotent" });
  expect(endOf(events)).toMatchObject({ finish_reason: "success", result: "whole" });
  expect(new Set(endpoint.sent.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
});

test("an endpoint that is busy is asked again when it says", async () => {
  const endpoint = await startEndpoint((response, _sent, number) =>
    number === 1 ? response.writeHead(503, { "retry-after": "0" }).end() : response.end("here"),
  );
  expect(endOf(await chat({ url: endpoint.url }))).toMatchObject({ result: "here" });
});

test("a cancel closes the connection, also while code that reads the answer does not end", async () => {
  const { url, abandoned } = await startEndpoint((response) => {
    response.writeHead(200, { "content-type": "text/plain" }).write("one ");
  });
  const deaf = httpAgent({
    ...OWN,
    name: "deaf",
    url,
    // oxlint-disable-next-line require-yield -- it hears nothing
    async *toEvents() {
      await new Promise(() => {});
    },
  });
  const caller = defineAgent({
    name: "caller",
    purpose: "Calls both.",
    chat: async (_input, turn) =>
      void (await turn.all([
        (branch) => branch.call(far, "chat", { input: "" }),
        (branch) => branch.call(deaf, "chat", { input: "" }),
      ])),
  });
  const far = httpAgent({ ...OWN, url });
  const runtime = runtimeOf(caller, far, deaf);
  const { requestId } = await runtime.process("caller", { type: "ChatRequest", input: "hi" });
  const feed = await runtime.follow(await runtime.resolve(requestId), {});
  const events: Event[] = [];
  for await (const page of feed.pages) {
    events.push(...page.events.map((text) => JSON.parse(text) as Event));
    if (ofType(events, "TextOutput").length > 0)
      await runtime.process("caller", { type: "CancelRequest", request_id: requestId });
  }
  expect(endOf(events)).toMatchObject({ finish_reason: "canceled" });
  await abandoned;
});

test.each(
  shortened(
    [
      ["once", { finish_reason: "error", error: { code: "interrupted" } }, 1],
      ["again", { finish_reason: "success", result: "It is done." }, 2],
    ] as const,
    1,
  ),
)(
  "after kill -9 of the server in the middle, the agent `%s` ends as it declares, and an answered request is not sent again",
  { tags: "long" },
  async (agent, end, times) => {
    const endpoint = await startEndpoint((response, { body }, number) => {
      if ((JSON.parse(body) as { readonly input: string }).input !== "work") return response.end("before");
      response.writeHead(200, { "content-type": "text/plain" }).write("It is ");
      return number > 2 ? response.end("done.") : undefined;
    });
    vi.stubEnv("TROUPE_ENDPOINT", endpoint.url);
    await using server = await ServerProcess.create(NEAR);
    const client = createClient(await server.start());
    await client.agent(agent).chat("before");
    const call = client.agent(agent).chat("work");
    for await (const event of call) if (event.type === "TextOutput") break;
    const { requestId } = call;
    const restarted = createClient(await server.restart());
    const events: Event[] = [];
    for await (const event of restarted.request(requestId)) events.push(event);
    expect(endOf(events)).toMatchObject(end);
    // The first of them was complete when the server died.
    expect(endpoint.sent).toHaveLength(1 + times);
  },
);

test("an address with credentials, or of another kind, is refused when the agent is defined", () => {
  for (const url of ["http://ada:pw@example.com/", "ftp://example.com/", "nowhere"])
    expect(() => httpAgent({ ...OWN, url })).toThrow(/URL/);
});
