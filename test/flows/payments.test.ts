/** @module-tag long */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { ServerProcess } from "./server.ts";

const CUSTOMERS = 50;
const EACH = 20;

/** A payment provider that makes the payment of a key once, and answers a repeated key with the first answer. */
class Provider {
  readonly paid: Map<string, string> = new Map();
  readonly keys: string[] = [];
  #reached: { readonly count: number; readonly resolve: () => void } | undefined;

  async start(): Promise<string> {
    const server = createServer((request, response) => {
      void text(request).then((payment) => {
        const key = String(request.headers["idempotency-key"]);
        this.keys.push(key);
        if (!this.paid.has(key)) this.paid.set(key, payment);
        response.end("paid");
        if (this.#reached && this.paid.size >= this.#reached.count) this.#reached.resolve();
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  /** Resolves when a number of payments was made. */
  async reaches(count: number): Promise<void> {
    if (this.paid.size >= count) return;
    await new Promise<void>((resolve) => {
      this.#reached = { count, resolve };
    });
  }
}

/** Sends the request of a customer, which makes one turn however often it is sent. */
async function ask(url: string, customer: string, query = ""): Promise<string> {
  const response = await fetch(`${url}/payer/process${query}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: customer, request_id: `pays-${customer}` }),
  });
  return response.text();
}

test("1,000 payments of 50 runs are each made once by a provider that knows keys, over six kills", async () => {
  const provider = new Provider();
  process.env["PROVIDER"] = await provider.start();
  onTestFinished(() => void delete process.env["PROVIDER"]);
  await using server = await ServerProcess.create(new URL("payments-server.ts", import.meta.url).pathname);
  let url = await server.start();
  const customers = Array.from({ length: CUSTOMERS }, (_, index) => `customer-${index}`);
  await Promise.all(customers.map((customer) => ask(url, customer)));
  for (let kill = 1; kill <= 6; kill += 1) {
    await provider.reaches(kill * 150);
    url = await server.restart();
  }
  for (const customer of customers)
    expect(await ask(url, customer, "?wait=completed")).toContain(`${customer} has paid`);
  const wanted = customers.flatMap((customer) =>
    Array.from({ length: EACH }, (_, number) => JSON.stringify({ customer, number })),
  );
  expect([...provider.paid.values()].sort()).toEqual(wanted.sort());
  for (const key of provider.keys) expect(key).toMatch(/^[\w.-]{1,128}$/u);
});
