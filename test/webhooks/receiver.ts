import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { Webhook } from "standardwebhooks";
import { createRuntime, defineAgent } from "troupe";
import type { Agent, Runtime } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import type { SqliteLogOptions } from "troupe/storage/sqlite";
import type { ManualEnvironment } from "troupe/testing";
import { createWebhooks } from "troupe/webhooks";
import type { WebhookOptions } from "troupe/webhooks";
import { expect } from "vitest";
import * as z from "zod";

/** The secret of the server and of the receiver. */
export const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** Asks, and ends with the answer. */
export const asker: Agent = defineAgent({
  name: "asker",
  purpose: "Asks once and ends.",
  async chat(input, turn) {
    const { ok } = await turn.waitForInput(z.object({ ok: z.boolean() }));
    await turn.text(`${input} ${String(ok)}`);
  },
});

/** Ends at once. */
export const speaker: Agent = defineAgent({
  name: "speaker",
  purpose: "Speaks.",
  async chat(input, turn) {
    await turn.text(input);
  },
});

/** A message as it has arrived. */
export interface Received {
  readonly id: string;
  readonly type: string;
  readonly runId: string;
  readonly event: number;
}

/** A receiver of webhooks. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** Those that were taken. */
  readonly taken: Received[];
  attempts: number;
  /** Ends all connections, and refuses new ones until `revive`. */
  kill(): Promise<void>;
  revive(): Promise<void>;
}

/** A real receiver that checks every signature; `answer` gives the status of an attempt. */
export async function startReceiver(answer: (attempt: number) => number = () => 204): Promise<Receiver> {
  const verifier = new Webhook(SECRET);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      receiver.attempts += 1;
      const body = Buffer.concat(chunks).toString();
      const message = verifier.verify(body, request.headers as Record<string, string>) as {
        readonly type: string;
        readonly data: { readonly run_id: string; readonly event_id: number };
      };
      const status = answer(receiver.attempts);
      if (status === 0) {
        request.socket.destroy();
        return;
      }
      if (status < 300) {
        const { type, data } = message;
        receiver.taken.push({
          id: String(request.headers["webhook-id"]),
          type,
          runId: data.run_id,
          event: data.event_id,
        });
      }
      response.writeHead(status).end();
    });
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  const kill = async (): Promise<void> => {
    server.closeAllConnections();
    await promisify(server.close.bind(server))();
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    taken: [],
    attempts: 0,
    kill,
    revive: () => listen(port),
    [Symbol.asyncDispose]: kill,
  };
  return receiver;
}

/** A server with webhooks. */
export interface Started extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly url: string;
}

/** A server with webhooks on a data directory. */
export async function start(
  directory: string,
  endpoints: readonly WebhookOptions[],
  environment: ManualEnvironment,
  options: SqliteLogOptions = {},
): Promise<Started> {
  const hooks = createWebhooks(endpoints);
  const runtime = createRuntime({
    agents: [asker, speaker, hooks.agent],
    log: sqliteLog(directory, options),
    environment,
    // While a request is on its way, the time that a test lets pass counts as time in which the turn works.
    limits: { turnMs: 1e12 },
  });
  await runtime.ready();
  const server = await serve(runtime, { drain: false, listeners: [hooks] });
  return {
    runtime,
    url: server.url,
    async [Symbol.asyncDispose]() {
      await server.close({ graceMs: 0 });
      await runtime.close();
    },
  };
}

/** Lets time pass in steps until something is true. */
export async function pass(
  environment: ManualEnvironment,
  isDone: () => boolean | Promise<boolean>,
  stepMs: number = 1_000,
): Promise<void> {
  await expect
    .poll(
      async () => {
        await environment.advance(stepMs);
        return isDone();
      },
      { interval: 10 },
    )
    .toBe(true);
}
