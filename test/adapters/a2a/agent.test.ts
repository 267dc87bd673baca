// Agents elsewhere that speak A2A, as local actors.
import { createServer } from "node:http";
import type { Server } from "node:http";
import { DefaultRequestHandler, InMemoryTaskStore, UnauthenticatedUser } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler } from "@a2a-js/sdk/server/express";
import express from "express";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRuntime, defineAgent, memoryArtifacts, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import { a2aAgent } from "troupe/adapters/a2a";
import type { A2aAgentOptions } from "troupe/adapters/a2a";
import type { Event, RequestId } from "troupe/protocol";
import { calculator } from "../../../agents/calculator.ts";
import { echo } from "../../../agents/echo.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { ticker } from "../../../agents/ticker.ts";
import { A2aServer } from "./server.ts";
import { listen, Stranger, strangersCard } from "./stranger.ts";

const scribe = defineAgent({
  name: "scribe",
  purpose: "Writes a file.",
  async chat(input, turn) {
    await turn.text("here: ");
    await turn.artifact({ name: "note.txt", mimeType: "text/plain", data: input });
  },
});

const stubborn = defineAgent({
  name: "stubborn",
  purpose: "Fails.",
  chat() {
    throw new Error("no");
  },
});

const TOKEN = "a-token-of-enough-characters";

let far: A2aServer;
beforeAll(async () => {
  far = await A2aServer.start([echo, interviewer, ticker, calculator, scribe, stubborn], {
    serve: { token: TOKEN },
    durable: true,
  });
});
afterAll(() => far[Symbol.asyncDispose]());

/** A runtime here with an agent elsewhere. */
function near(name: string, options: A2aAgentOptions = {}): Runtime & AsyncDisposable {
  const agent = a2aAgent(`${far.url}/a2a/${name}`, { token: TOKEN, ...options });
  const runtime = createRuntime({ agents: [agent] });
  return Object.assign(runtime, { [Symbol.asyncDispose]: () => runtime.close() });
}

/** Follows a request until it ends or waits. */
async function eventsOf(runtime: Runtime, requestId: RequestId): Promise<readonly Event[]> {
  const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
  const events: Event[] = [];
  for await (const page of feed.pages) events.push(...page.events.map((text) => JSON.parse(text) as Event));
  return events;
}

async function ask(runtime: Runtime, agent: string, input: string): Promise<readonly Event[]> {
  const { requestId } = await runtime.process(agent, { type: "ChatRequest", input });
  return eventsOf(runtime, requestId);
}

function textIn(events: readonly Event[]): string {
  return events.map((event) => (event.type === "TextOutput" ? event.content : "")).join("");
}

describe("an agent of a server of ours", () => {
  test("streams its text, which is logged as it arrives", async () => {
    await using runtime = near("ticker");
    const events = await ask(runtime, "ticker", "3 1");
    expect(events.filter(({ type }) => type === "TextOutput")).toHaveLength(3);
    expect(textIn(events)).toBe("1\n2\n3\n");
    expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
  });

  test("has the skills of its card as operations", async () => {
    await using runtime = near("ticker");
    const { requestId } = await runtime.process("ticker", {
      type: "OperationRequest",
      operation: "count",
      input: { to: 2, every_ms: 0 },
    });
    expect(textIn(await eventsOf(runtime, requestId))).toBe("1\n2\n");
    const { operations, purpose } = runtime.describe("ticker");
    expect(operations.map(({ name }) => name)).toEqual(["chat", "count"]);
    expect(purpose).toBe(ticker.purpose);
    await expect(
      runtime.process("ticker", { type: "OperationRequest", operation: "nothing", input: {} }),
    ).rejects.toMatchObject({ code: "not_found" });
  });

  test("asks two questions here, whose answers go there", async () => {
    await using runtime = near("interviewer");
    const { requestId } = await runtime.process("interviewer", { type: "ChatRequest", input: "go" });
    const asked = await eventsOf(runtime, requestId);
    const waits = asked.filter((event) => event.type === "WaitForInput");
    expect(waits).toHaveLength(2);
    for (const [wait, value] of [
      [waits[1], "blue"],
      [waits[0], "Ann"],
    ] as const) {
      const [key = ""] = Object.keys(wait?.request_keys ?? {});
      await expect(
        runtime.process("interviewer", {
          type: "ResumeWithInput",
          request_id: requestId,
          wait_id: wait?.wait_id ?? 0,
          request_keys: { [key]: 7 },
        }),
      ).rejects.toMatchObject({ code: "unprocessable" });
      await runtime.process("interviewer", {
        type: "ResumeWithInput",
        request_id: requestId,
        wait_id: wait?.wait_id ?? 0,
        request_keys: { [key]: value },
      });
    }
    const whole = await eventsOf(runtime, requestId);
    expect(textIn(whole)).toBe("Ann likes blue.");
    expect(whole.filter(({ type }) => type === "WaitForInput")).toHaveLength(2);
  });

  test("gives its files, which are stored here", async () => {
    await using runtime = near("scribe");
    const events = await ask(runtime, "scribe", "hello");
    const file = events.find((event) => event.type === "ArtifactGenerated");
    const { body } = await runtime.artifact(file?.artifact_id ?? "");
    expect(await new Response(ReadableStream.from(body)).text()).toBe("hello");
    expect(file?.url).toMatch(/^\/artifacts\//);
  });

  test("fails with what it says, and with the reason if it is not reached", async () => {
    await using failing = near("stubborn");
    expect((await ask(failing, "stubborn", "x")).at(-1)).toMatchObject({
      finish_reason: "error",
      error: { code: "agent_error", message: "agent stubborn failed: no" },
    });
    await using refused = near("echo", { token: "wrong-token-of-some-length" });
    expect((await ask(refused, "echo", "x")).at(-1)).toMatchObject({
      error: { message: "agent echo refuses the credentials (status 401)" },
    });
    const nobody = a2aAgent("http://127.0.0.1:1/a2a/nobody", { limits: { answerMs: 1 } });
    await using away = Object.assign(createRuntime({ agents: [nobody] }), {
      [Symbol.asyncDispose]: async () => {},
    });
    expect((await ask(away, "nobody", "x")).at(-1)).toMatchObject({
      error: { message: "agent nobody cannot be reached" },
    });
    await away.close();
  });

  test("gets a message once whose first answer was lost", async () => {
    let lost = 0;
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const response = await globalThis.fetch(input, init);
      if (init?.method !== "POST" || lost > 0) return response;
      lost += 1;
      await response.body?.cancel();
      throw new TypeError("terminated");
    };
    await using runtime = near("echo", { fetch });
    const before = (await far.runtime.runs({ agent: "echo", limit: 1, total: true })).total ?? 0;
    expect(textIn(await ask(runtime, "echo", "once"))).toBe("once");
    expect(lost).toBe(1);
    expect((await far.runtime.runs({ agent: "echo", limit: 1, total: true })).total).toBe(before + 1);
  });

  test("is canceled with its caller", async () => {
    await using runtime = near("ticker");
    const { requestId } = await runtime.process("ticker", { type: "ChatRequest", input: "2 60000" });
    const feed = await runtime.follow(await runtime.resolve(requestId), {});
    for await (const { events } of feed.pages)
      if (events.some((text) => text.includes('"TextOutput"'))) break;
    await runtime.process("ticker", { type: "CancelRequest", request_id: requestId });
    const [run] = (await far.runtime.runs({ agent: "ticker", limit: 1 })).runs;
    const [there] = await far.runtime.requests(run?.run_id ?? "");
    const end = await eventsOf(far.runtime, there?.request_id ?? "");
    expect(end.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "canceled" });
  });

  test("is not followed to another host, by its card, a redirect or a file", async () => {
    const hits: string[] = [];
    const decoy = createServer((request, response) => {
      hits.push(request.url ?? "");
      if (request.url?.endsWith("card.json") === true) {
        const card = {
          name: "x",
          supportedInterfaces: [
            { url: `${far.url}/a2a/echo`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
          ],
        };
        response.end(JSON.stringify(card));
        return;
      }
      response.writeHead(302, { location: `${far.url}/` }).end();
    });
    const url = await listen(decoy);
    const agents = [a2aAgent(url, { name: "card" }), a2aAgent(`${url}/moved.json`, { name: "moved" })];
    const runtime = createRuntime({ agents });
    expect((await ask(runtime, "card", "x")).at(-1)).toMatchObject({
      error: { message: expect.stringContaining("which is not that of its card") as string },
    });
    expect((await ask(runtime, "moved", "x")).at(-1)).toMatchObject({
      error: { message: expect.stringContaining("redirect") as string },
    });
    await runtime.close();
    decoy.close();
  });

  test.each(["no stream breaks", "its server restarts"])(
    "goes on with the same task after a restart here, when %s",
    async (how) => {
      const log = memoryLog();
      const artifacts = { ...memoryArtifacts(), close: async () => {} };
      const engine = { ...log, close: async () => {} };
      const agent = (): ReturnType<typeof a2aAgent> =>
        a2aAgent(`${far.url}/a2a/ticker`, { token: TOKEN, limits: { pollMs: 20 } });
      const first = createRuntime({ agents: [agent()], log: engine, artifacts });
      const { requestId } = await first.process("ticker", { type: "ChatRequest", input: "3 300" });
      const feed = await first.follow(await first.resolve(requestId), {});
      for await (const { events } of feed.pages)
        if (events.some((text) => text.includes('"TextOutput"'))) break;
      await first.close();
      if (how === "its server restarts") await far.restart({ port: Number(new URL(far.url).port) });
      const second = createRuntime({ agents: [agent()], log: engine, artifacts });
      await second.ready();
      const events = await eventsOf(second, requestId);
      expect(textIn(events)).toBe("1\n2\n3\n");
      expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
      const [run] = (await far.runtime.runs({ agent: "ticker", limit: 1 })).runs;
      expect(await far.runtime.requests(run?.run_id ?? "")).toHaveLength(1);
      await second.close();
    },
  );
});

describe.each([true, false])(
  "an agent made with the package of the protocol, whose card says streaming: %s",
  (streaming) => {
    let server: Server;
    let url = "";
    const executor = new Stranger();
    beforeAll(async () => {
      const app = express();
      server = createServer(app);
      url = await listen(server);
      const card = strangersCard(url, streaming);
      const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
      app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
      app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: async () => new UnauthenticatedUser() }));
    });
    afterAll(() => void server.close());

    function create(): Runtime & AsyncDisposable {
      const agent = a2aAgent(url, { name: "stranger", limits: { pollMs: 10 } });
      const runtime = createRuntime({ agents: [agent] });
      return Object.assign(runtime, { [Symbol.asyncDispose]: () => runtime.close() });
    }

    test("says artifacts in pieces, and gives files and data", async () => {
      await using runtime = create();
      const events = await ask(runtime, "stranger", "talk");
      expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
      expect(textIn(events)).toContain("one two");
      expect(textIn(events)).toContain("far.txt: http://files.example/far.txt");
      const file = events.find((event) => event.type === "ArtifactGenerated");
      const { body } = await runtime.artifact(file?.artifact_id ?? "");
      expect(await new Response(ReadableStream.from(body)).text()).toBe("bytes");
    });

    test("answers without a task", async () => {
      await using runtime = create();
      const events = await ask(runtime, "stranger", "hi");
      expect([textIn(events), events.at(-1)]).toMatchObject(["hello", { finish_reason: "success" }]);
    });

    test("asks for a text, and is told it", async () => {
      await using runtime = create();
      const { requestId } = await runtime.process("stranger", { type: "ChatRequest", input: "ask" });
      const [wait] = (await eventsOf(runtime, requestId)).filter((event) => event.type === "WaitForInput");
      expect(wait?.request_keys).toEqual({ answer: "Which one?" });
      await runtime.process("stranger", {
        type: "ResumeWithInput",
        request_id: requestId,
        request_keys: { answer: "that one" },
      });
      const events = await eventsOf(runtime, requestId);
      expect([textIn(events), events.at(-1)]).toMatchObject(["got that one", { finish_reason: "success" }]);
    });

    test("says why it fails", async () => {
      await using runtime = create();
      expect((await ask(runtime, "stranger", "fail")).at(-1)).toMatchObject({
        error: { message: "agent stranger failed: too bad" },
      });
    });

    test("is canceled", async () => {
      await using runtime = create();
      const { requestId } = await runtime.process("stranger", { type: "ChatRequest", input: "wait" });
      await executor.waiting();
      await runtime.process("stranger", { type: "CancelRequest", request_id: requestId });
      await executor.canceled();
      expect((await eventsOf(runtime, requestId)).at(-1)).toMatchObject({ finish_reason: "canceled" });
    });
  },
);
