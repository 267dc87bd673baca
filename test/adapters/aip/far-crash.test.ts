import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Agent, Runtime } from "troupe";
import type { Event, RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { payments } from "../../../agents/payments.ts";
import { aipAgent, aipToolbox } from "../../../src/adapters/aip/index.ts";
import { speaker, worker } from "./peers/agents.ts";
import { start } from "./peers/start.ts";

/** A process whose agent calls another one; it can die and start again on the same log. */
class Process implements AsyncDisposable {
  runtime: Runtime;
  readonly #agents: () => readonly Agent[];
  #log = memoryLog();
  readonly #dead: Runtime[] = [];

  constructor(makeFar: () => Agent, operation = "chat") {
    this.#agents = () => {
      const far = makeFar();
      const boss = defineAgent({
        name: "boss",
        purpose: "Has others work.",
        tools: [far],
        async chat(input, turn) {
          const asked = operation === "chat" ? { input } : {};
          const answer = (await turn.call(
            far as Agent<never>,
            operation as never,
            asked as never,
          )) as unknown;
          await turn.text(`got ${JSON.stringify(answer)}`);
        },
      });
      return [boss];
    };
    this.runtime = this.#start();
  }

  /** Nothing that the process still does gets into the log. */
  die(): void {
    this.#dead.push(this.runtime);
    this.#log = this.#log.reopen();
  }

  async restart(): Promise<void> {
    if (!this.#dead.includes(this.runtime)) this.die();
    this.runtime = this.#start();
    await this.runtime.ready();
  }

  async end(
    requestId: RequestId,
  ): Promise<{ readonly end: Event | undefined; readonly events: readonly Event[] }> {
    const feed = await this.runtime.follow(await this.runtime.resolve(requestId), {
      after: 0,
      filter: { level: "all" },
    });
    const events: Event[] = [];
    for await (const page of feed.pages) events.push(...page.events.map((text) => JSON.parse(text) as Event));
    return { events, end: events.at(-1) };
  }

  #start(): Runtime {
    return createRuntime({ agents: this.#agents(), log: this.#log });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const runtime of [...this.#dead, this.runtime]) await runtime.close();
  }
}

test.each([
  ["session", "chat", (gateway: string) => aipAgent({ gateway, id: "worker" })],
  ["tool call", "worker.sleep", (gateway: string) => aipToolbox({ gateway, id: "troupe", name: "tools" })],
])(
  "a %s that was sent before a crash ends as interrupted, and is not sent again",
  async (_name, operation, make) => {
    await using there = await start([worker]);
    await using near = new Process(() => make(there.gateway.address), operation);
    const { requestId } = await near.runtime.process("boss", { type: "ChatRequest", input: "work" });
    const runs = async () => (await there.runtime.runs({ agent: "worker", limit: 10 })).runs;
    await expect.poll(async () => (await runs()).map(({ status }) => status)).toEqual(["running"]);
    await near.restart();
    const { end, events } = await near.end(requestId);
    expect(events.find(({ type }) => type === "ToolError")).toMatchObject({ code: "interrupted" });
    expect(end).toMatchObject({ type: "RequestCompleted", finish_reason: "error" });
    expect(await runs()).toHaveLength(1);
  },
);

test("a session that was not sent before a crash is sent afterwards", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  await using near = new Process(() => aipAgent({ gateway: address, id: "speaker" }));
  const connected = once(silent, "connection");
  const { requestId } = await near.runtime.process("boss", { type: "ChatRequest", input: "hello" });
  const [socket] = (await connected) as [{ destroy(): void }];
  near.die();
  silent.close();
  socket.destroy();
  await using there = await start([speaker], { host: address });
  await near.restart();
  const { events } = await near.end(requestId);
  expect(events.flatMap((event) => (event.type === "TextOutput" ? event.content : []))).toEqual([
    "hello",
    'got {"output":"hello"}',
  ]);
  expect((await there.runtime.runs({ agent: "speaker", limit: 10 })).runs).toHaveLength(1);
});

test("26 a question of a session that a crash has ended is closed, and the call ends as interrupted", async () => {
  await using there = await start([payments]);
  await using near = new Process(() => aipAgent({ gateway: there.gateway.address, id: "payments" }));
  const { requestId } = await near.runtime.process("boss", { type: "ChatRequest", input: "pay 30 to bob" });
  expect((await near.end(requestId)).end).toMatchObject({ type: "WaitForInput" });
  await near.restart();
  const answer = { type: "ResumeWithInput", request_id: requestId, request_keys: { answer: "yes" } } as const;
  await expect(near.runtime.process("boss", answer)).rejects.toMatchObject({ code: "conflict" });
  await expect.poll(async () => (await near.runtime.status(requestId)).status).toBe("completed");
  const { end, events } = await near.end(requestId);
  expect(events.find(({ type }) => type === "ToolError")).toMatchObject({ code: "interrupted" });
  expect(end).toMatchObject({ type: "RequestCompleted", finish_reason: "error" });
});
