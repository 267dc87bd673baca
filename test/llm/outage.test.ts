/** @module-tag long */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { RequestStatus } from "troupe/protocol";
import { expect, test, vi } from "vitest";
import { ServerProcess } from "../flows/server.ts";

const PROGRAM = fileURLToPath(new URL("outage-server.ts", import.meta.url));

/** How long the model is away; `OUTAGE_SECONDS=60` for the whole test. */
const OUTAGE_MS = Number(process.env["OUTAGE_SECONDS"] ?? 4) * 1_000;

const TURNS = 200;
const CONCURRENCY = 20;

/** A server with OpenAI's API that can go away; it counts the requests that it answers at once. */
class ModelServer implements AsyncDisposable {
  most = 0;
  answered = 0;
  readonly #server = createServer((request, response) => {
    this.#running += 1;
    this.most = Math.max(this.most, this.#running);
    response.on("close", () => {
      this.#running -= 1;
    });
    request.resume();
    request.on("end", () => {
      const timer = setTimeout(() => {
        this.answered += 1;
        const chunk = { id: "1", object: "chat.completion.chunk", created: 1, model: "small" };
        const choice = (delta: object, finish_reason: string | null): string =>
          `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(`${choice({ content: "Here." }, null)}${choice({}, "stop")}data: [DONE]\n\n`);
      }, 50);
      response.on("close", () => clearTimeout(timer));
    });
  });
  #running = 0;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}/v1`;
  }

  async start(): Promise<void> {
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

test(
  "200 turns over HTTP survive an outage of their model with a kill in the middle, and the model is not flooded when it is back",
  { timeout: OUTAGE_MS + 120_000 },
  async () => {
    await using model = new ModelServer();
    await model.start();
    vi.stubEnv("MODEL_URL", model.url);
    vi.stubEnv("MODEL_CONCURRENCY", String(CONCURRENCY));
    await using server = await ServerProcess.create(PROGRAM);
    let url = await server.start();
    const ids = Array.from({ length: TURNS }, (_, index) => `turn-${index}`);
    const ask = async (id: string): Promise<void> => {
      const body = JSON.stringify({ type: "ChatRequest", input: "Where are you?", request_id: id });
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${url}/clerk/process`, { method: "POST", headers, body });
      expect(response.status).toBe(202);
    };
    const statusOf = async (id: string): Promise<RequestStatus> =>
      (await (await fetch(`${url}/request/${id}`)).json()) as RequestStatus;

    await Promise.all(ids.slice(0, TURNS / 2).map(ask));
    await vi.waitFor(() => expect(model.answered).toBeGreaterThan(10), { timeout: 30_000 });
    await model.stop();
    await Promise.all(ids.slice(TURNS / 2).map(ask));
    await pause(OUTAGE_MS / 2);
    url = await server.restart();
    await pause(OUTAGE_MS / 2);
    const left = await statusOf(ids.at(-1) ?? "");
    expect(left).toMatchObject({ status: "running" });

    model.most = 0;
    await model.start();
    const open = new Set(ids);
    await vi.waitFor(
      async () => {
        for (const id of open) {
          const status = await statusOf(id);
          if (status.status !== "completed") break;
          expect(status).toMatchObject({ finish_reason: "success", result: "Here." });
          open.delete(id);
        }
        expect(open.size).toBe(0);
      },
      { timeout: 90_000, interval: 200 },
    );
    expect(model.most).toBeLessThanOrEqual(CONCURRENCY);
  },
);
