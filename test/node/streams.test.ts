/** @module-tag long */
import { once } from "node:events";
import { EventSource } from "eventsource";
import { expect, test } from "vitest";
import { RawClient, unchunk } from "./raw-client.ts";
import { chat, startServer } from "./server.ts";
import { collectGarbage } from "../machine/garbage.ts";

const HOST = "Host: localhost";

function request(path: string, body: unknown): string[] {
  const text = JSON.stringify(body);
  return [
    `POST ${path} HTTP/1.1`,
    HOST,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "",
    text,
  ];
}

/** Sends a request whose body has no line break at its end. */
function sendAll(client: RawClient, ...requests: readonly (readonly string[])[]): void {
  client.socket.write(requests.map((lines) => lines.join("\r\n")).join(""));
}

test("a stream has well-formed chunks, and its connection serves the next request", async () => {
  await using server = await startServer();
  await using client = new RawClient(server.url);
  sendAll(client, request("/echo/stream_request", { input: "grüße, 漢字!" }));
  await client.until("0\r\n\r\n");
  const [first = ""] = unchunk(client.text);
  expect(first).toMatch(/^retry: 1000\n\nid: 1\ndata: \{.*\}\n\nid: 2\n/);
  expect(first).toContain('"result":"grüße, 漢字!"');
  client.text = "";
  client.send("GET /echo/describe HTTP/1.1", HOST);
  await client.until('"name":"echo"');
  expect(client.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
});

test("pipelined requests in one segment are answered in order", async () => {
  await using server = await startServer();
  await using client = new RawClient(server.url);
  const words = ["one", "two", "three", "four"];
  sendAll(client, ...words.map((input) => request("/echo/stream_request", { input })));
  await client.until('"result":"four"');
  await client.until(/four[^]*0\r\n\r\n$/);
  const bodies = unchunk(client.text);
  expect(bodies.map((body) => /"result":"(\w+)"/.exec(body)?.[1])).toEqual(words);
});

test("an HTTP/1.0 client gets the frames without chunks, until the connection closes", async () => {
  await using server = await startServer();
  const { request_id } = await chat(`${server.url}/echo/process?wait=completed`, { input: "hello" });
  await using client = new RawClient(server.url);
  client.send(`GET /getevents/${String(request_id)}?stream=true HTTP/1.0`, HOST);
  await client.closed();
  expect(client.text).toMatch(/\r\n\r\nretry: 1000\n\nid: 1\ndata: \{/);
  expect(client.text).toMatch(/"result":"hello".*\}\n\n$/);
  expect(client.text).not.toContain("Transfer-Encoding");
});

test("a stream is open before its first event", async () => {
  await using server = await startServer();
  const { request_id, id } = await chat(`${server.url}/payments/process?wait=completed`, {
    input: "pay 3 to bob",
  });
  await using client = new RawClient(server.url);
  client.send(`GET /getevents/${String(request_id)}?stream=true&since=${String(id)} HTTP/1.1`, HOST);
  await client.until("\r\n\r\n");
  expect(client.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
});

test("an idle stream sends heartbeats with its position", async () => {
  await using server = await startServer({ streams: { heartbeatMs: 40 } });
  const { request_id, id } = await chat(`${server.url}/payments/process?wait=completed`, {
    input: "pay 3 to bob",
  });
  await using client = new RawClient(server.url);
  client.send(`GET /getevents/${String(request_id)}?stream=true&follow=true HTTP/1.1`, HOST);
  const beat = `\r\nid: ${String(id)}\n\n\r\n`;
  await client.until(`${beat}7${beat}`);
  expect(await server.streams()).toBe(1);
});

test("a stream at its maximum age ends properly and tells its reader to reconnect", async () => {
  await using server = await startServer({ streams: { lifeMs: 40 } });
  const { request_id } = await chat(`${server.url}/ticker/process?wait=true`, { input: "2 600000" });
  await using client = new RawClient(server.url);
  client.send(`GET /getevents/${String(request_id)}?stream=true HTTP/1.1`, HOST);
  await client.until("0\r\n\r\n");
  const [body = ""] = unchunk(client.text);
  expect(body).toMatch(/^retry: 1000\n\nid: 1\ndata: [^]*\n\nretry: 1000\n\n$/);
  expect((await server.runtime.status(String(request_id) as never)).status).toBe("running");
});

test("an EventSource that is disconnected reconnects without gaps, and stops at the end", async () => {
  await using server = await startServer({ streams: { lifeMs: 100 } });
  const { request_id } = await chat(`${server.url}/ticker/process?wait=true`, { input: "20 100" });
  const source = new EventSource(`${server.url}/getevents/${String(request_id)}?stream=true`);
  const ids: number[] = [];
  source.addEventListener("message", ({ lastEventId }) => ids.push(Number(lastEventId)));
  const over = Promise.withResolvers<void>();
  source.addEventListener("error", () => {
    if (source.readyState === source.CLOSED) over.resolve();
  });
  await over.promise;
  expect(ids).toEqual(Array.from({ length: 22 }, (_, index) => index + 1));
});

test("a reader that disconnects frees its stream and does not affect the turn", async () => {
  await using server = await startServer();
  const { request_id } = await chat(`${server.url}/ticker/process?wait=true`, { input: "2 600000" });
  const clients = Array.from({ length: 5 }, () => new RawClient(server.url));
  for (const client of clients)
    client.send(`GET /getevents/${String(request_id)}?stream=true HTTP/1.1`, HOST);
  await Promise.all(clients.map((client) => client.until('"TextOutput"')));
  expect(await server.streams()).toBe(5);
  for (const client of clients) client.socket.resetAndDestroy();
  await expect.poll(() => server.streams()).toBe(0);
  expect((await server.runtime.status(String(request_id) as never)).status).toBe("running");
});

test("a reader that stops reading is disconnected, and the others get everything", async () => {
  await using server = await startServer({ streams: { stallMs: 20_000 } });
  const { request_id } = await chat(`${server.url}/flood/process?wait=true`, { input: "100 200000" });
  const path = `/getevents/${String(request_id)}?stream=true&since=0`;
  await using stalled = new RawClient(server.url);
  stalled.socket.pause();
  stalled.send(`GET ${path} HTTP/1.1`, HOST);
  const [first, second] = await Promise.all(
    [1, 2].map(async () => (await fetch(`${server.url}${path}`)).text()),
  );
  expect(first).toContain('"RequestCompleted"');
  expect(first?.length).toBeGreaterThan(20_000_000);
  expect(second === first).toBe(true);
  await expect.poll(() => server.streams()).toBe(0);
  stalled.socket.resume();
  await stalled.closed();
  expect(stalled.text).not.toContain('"RequestCompleted"');
});

test("readers that stop reading cost only their position", { tags: "long" }, async () => {
  // None of them is disconnected before the last one is connected, on a loaded machine too.
  await using server = await startServer({ streams: { stallMs: 250_000 } });
  const { request_id } = await chat(`${server.url}/flood/process?wait=completed`, { input: "100 100000" });
  const used = (): number => {
    // Garbage of the tests before says nothing.
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = used();
  const clients = Array.from({ length: 20 }, () => new RawClient(server.url));
  for (const { socket } of clients) {
    await once(socket, "connect");
    socket.pause();
    socket.write(`GET /getevents/${String(request_id)}?stream=true&since=0 HTTP/1.1\r\n${HOST}\r\n\r\n`);
  }
  await expect.poll(() => server.streams()).toBe(20);
  // When one more reader has read everything, the others were written to as far as they accept it.
  const text = await (
    await fetch(`${server.url}/getevents/${String(request_id)}?stream=true&since=0`)
  ).text();
  expect(text.length).toBeGreaterThan(10_000_000);
  // If each of them were written to without backpressure, it would be 200 MB.
  expect(used() - before).toBeLessThan(100_000_000);
  for (const client of clients) client.socket.destroy();
  await expect.poll(() => server.streams()).toBe(0);
});
