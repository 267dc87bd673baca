/** @module-tag long */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";
import { chat, startServer } from "./server.ts";

const SIZE = 24 * 1024 * 1024;

/** Uploads a file. Returns the path of its download. */
async function upload(url: string): Promise<string> {
  const response = await fetch(`${url}/artifacts?name=a`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: new Uint8Array(SIZE),
  });
  return ((await response.json()) as { readonly url: string }).url;
}

/** Starts requests on one connection. Returns the server's side of it, when the first bytes have arrived. */
async function download(client: RawClient, path: string, times: number = 1): Promise<Socket> {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const seen = (message: unknown): void => resolve((message as { readonly socket: Socket }).socket);
  subscribe("http.server.request.start", seen);
  for (let n = 0; n < times; n += 1) client.send(`GET ${path} HTTP/1.1`, "Host: localhost");
  await once(client.socket, "data");
  unsubscribe("http.server.request.start", seen);
  return promise;
}

test("a download whose reader stops reading is closed", async () => {
  await using server = await startServer({ streams: { stallMs: 500 } });
  await using client = new RawClient(server.url);
  const socket = await download(client, await upload(server.url));
  client.socket.pause();
  if (!socket.closed) await once(socket, "close");
  client.socket.resume();
  await client.closed();
  expect(client.text.length).toBeLessThan(SIZE);
});

test("a connection on which answers wait for a reader that stops reading is closed", async () => {
  await using server = await startServer({ streams: { stallMs: 500 } });
  const { request_id } = await chat(`${server.url}/flood/process?wait=completed`, { input: "10 90000" });
  await using client = new RawClient(server.url);
  const socket = await download(client, `/getevents/${String(request_id)}?since=0`, 60);
  client.socket.pause();
  if (!socket.closed) await once(socket, "close");
  client.socket.resume();
  await client.closed();
  expect(client.text.split("HTTP/1.1 200 OK").length).toBeLessThan(60);
});

test("a slow reader that keeps reading gets the whole file", async () => {
  await using server = await startServer({ streams: { stallMs: 4_000 } });
  await using client = new RawClient(server.url);
  await download(client, await upload(server.url));
  const startedMs = performance.now();
  // Each pause is much shorter than the limit; all of them together are longer.
  while (performance.now() - startedMs < 5_000) {
    client.socket.pause();
    await delay(100);
    client.socket.resume();
    await once(client.socket, "data");
  }
  while (client.text.length < SIZE) await once(client.socket, "data");
  expect(client.text.length).toBeGreaterThan(SIZE);
});
