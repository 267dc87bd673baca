import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRuntime, memoryArtifacts } from "troupe";
import { createMetrics } from "troupe/http";
import { serve } from "troupe/node";
import { expect, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { API_HEADERS } from "../../src/http/messages/reply.ts";
import type { ArtifactStore } from "../../src/ports/artifact-store.ts";
import { answerClientError } from "../../src/node/serve.ts";
import { RawClient } from "./raw-client.ts";
import { chat, startServer } from "./server.ts";

const HOST = "Host: localhost";

test.each(["0.0.0.0", "::", "192.0.2.1", "example.test"])(
  "a server that is reachable from outside at %s does not start without a token of 16 characters",
  async (hostname) => {
    const runtime = createRuntime({ agents: [echo] });
    await expect(serve(runtime, { hostname })).rejects.toMatchObject({ code: "forbidden" });
    await expect(serve(runtime, { hostname, token: "fifteen-letters" })).rejects.toMatchObject({
      code: "forbidden",
      message: `${hostname} can be reached from other machines, and the token has only 15 characters`,
    });
    await runtime.close();
  },
);

test.each(["abc", "4100", -1, 65_536, 1.5, Number.NaN])("the port %j is refused", async (port) => {
  const runtime = createRuntime({ agents: [echo] });
  await expect(serve(runtime, { port: port as number })).rejects.toMatchObject({
    code: "invalid_request",
    message: `the port ${JSON.stringify(port)} is not a whole number from 0 to 65535`,
  });
  await runtime.close();
});

test.each([0, 999, 600_001, Number.NaN])("an idle connection is not kept for %j ms", async (keepAliveMs) => {
  const runtime = createRuntime({ agents: [echo] });
  await expect(serve(runtime, { keepAliveMs })).rejects.toMatchObject({
    code: "invalid_request",
    message: `keepAliveMs is ${keepAliveMs}, not from 1000 to 600000`,
  });
  await runtime.close();
});

test("a server says for how long it keeps an idle connection: 5 s, or as it is told", async () => {
  for (const [options, said] of [
    [{}, "timeout=5"],
    [{ keepAliveMs: 90_000 }, "timeout=90"],
  ] as const) {
    await using server = await startServer(options);
    const response = await fetch(`${server.url}/healthz`);
    expect([response.status, response.headers.get("keep-alive")]).toEqual([200, said]);
  }
});

test("with a token it starts, and checks its host name", async () => {
  await using server = await startServer({ hostname: "0.0.0.0", token: "sixteen--letters" });
  const local = server.url.replace("0.0.0.0", "127.0.0.1");
  expect((await fetch(local)).status).toBe(401);
  expect((await fetch(local, { headers: { authorization: "Bearer sixteen--letters" } })).status).toBe(200);
  expect((await fetch(server.url, { headers: { authorization: "Bearer sixteen--letters" } })).status).toBe(
    421,
  );
});

test("a taken port is reported", async () => {
  await using server = await startServer();
  const port = Number(new URL(server.url).port);
  await expect(serve(server.runtime, { port })).rejects.toMatchObject({
    code: "unavailable",
    message: `cannot listen on 127.0.0.1, port ${port}: the port is taken`,
  });
});

test.each([
  ["no HTTP", ["hello"], 400],
  ["no Host", ["GET / HTTP/1.1"], 400],
  ["no Host, in HTTP/1.0", ["GET / HTTP/1.0"], 400],
  ["two of them", ["GET / HTTP/1.1", HOST, "Host: evil.test"], 400],
  ["another Host", ["GET / HTTP/1.1", "Host: evil.test"], 421],
  ["another host in the target", ["GET http://evil.test/ HTTP/1.1", HOST], 421],
  [
    "our host in the target, another in the header",
    ["GET http://localhost/ HTTP/1.1", "Host: evil.test"],
    421,
  ],
  ["a Host that is none", ["GET / HTTP/1.1", "Host: local host"], 400],
  ["a backslash in the path", ["GET /a\\b HTTP/1.1", HOST], 400],
  ["headers of 9 KB", ["GET / HTTP/1.1", HOST, `X: ${"x".repeat(9_000)}`], 431],
  ["two lengths", ["POST /echo/process HTTP/1.1", HOST, "Content-Length: 1", "Content-Length: 2"], 400],
  [
    "a length and chunks",
    ["POST /echo/process HTTP/1.1", HOST, "Content-Length: 5", "Transfer-Encoding: chunked"],
    400,
  ],
  ["an encoding that is none", ["POST /echo/process HTTP/1.1", HOST, "Transfer-Encoding: xchunked"], 400],
  ["a folded header", ["GET / HTTP/1.1", HOST, "X: a", " b"], 400],
  ["a Host that is too long", ["GET / HTTP/1.1", `Host: ${"x".repeat(9_000)}`], 431],
  ["a target that is too long", [`GET /${"x".repeat(9_000)} HTTP/1.1`, HOST], 431],
  ["an expectation", ["GET / HTTP/1.1", HOST, "Expect: miracles"], 417],
  ["an expectation, and another Host", ["GET / HTTP/1.1", "Host: evil.test", "Expect: miracles"], 421],
  ["a tunnel as its aim", ["CONNECT evil.test:443 HTTP/1.1", "Host: evil.test:443"], 405],
  ["a method that is none", ["BREW / HTTP/1.1", HOST], 400],
  ["a version that is none", ["GET / HTTP/9.9", HOST], 400],
  ["TLS", ["\u0016\u0003\u0001\u0002\u0000\u0001"], 400],
])(
  "a request with %s is refused by a problem, which a browser does not keep, sniff or run",
  async (_, lines, status) => {
    await using server = await startServer();
    await using client = new RawClient(server.url);
    client.send(...lines);
    await client.until(/\r\n\r\n[^]*\}\n$/);
    const [head = "", body = ""] = client.text.split("\r\n\r\n");
    const headers = head.toLowerCase();
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z]`));
    expect(headers).toContain("content-type: application/problem+json");
    expect(headers).toContain(`content-length: ${body.length}`);
    for (const [name, value] of Object.entries(API_HEADERS))
      expect(headers).toContain(`${name}: ${value.toLowerCase()}`);
    expect(JSON.parse(body)).toMatchObject({
      status,
      code: CODES[status],
    });
  },
);

const CODES: Readonly<Record<number, string>> = {
  400: "invalid_request",
  405: "method_not_allowed",
  417: "invalid_request",
  421: "misdirected",
  431: "too_large",
};

test("after data that is not HTTP the connection is closed", async () => {
  await using server = await startServer();
  await using client = new RawClient(server.url);
  client.send("hello");
  await client.closed();
  expect(client.text.match(/HTTP\/1\.1 400/g)).toHaveLength(1);
});

test("a refused tunnel is closed, and data sent into it is not a request", async () => {
  await using server = await startServer();
  await using client = new RawClient(server.url);
  client.send("CONNECT localhost:80 HTTP/1.1", HOST);
  client.send("GET /healthz HTTP/1.1", HOST);
  await client.closed();
  expect(client.text).toMatch(/^HTTP\/1\.1 405 /);
  expect(client.text).toContain("Allow: GET, HEAD, POST, DELETE");
  expect(client.text).not.toContain('"status":"ok"');
});

test("a client that expects 100-continue gets it, then its answer", async () => {
  await using server = await startServer();
  await using client = new RawClient(server.url);
  client.send(
    "POST /echo/process HTTP/1.1",
    HOST,
    "Content-Type: application/json",
    "Content-Length: 13",
    "Expect: 100-Continue",
  );
  await client.until("HTTP/1.1 100 Continue\r\n\r\n");
  client.socket.write('{"input":"a"}');
  await client.until("HTTP/1.1 202 Accepted");
  expect((await server.runtime.runs({ limit: 1 })).runs).toHaveLength(1);
});

test("a header counts at any position among many", async () => {
  await using server = await startServer();
  await using client = new RawClient(server.url);
  const others = Array.from({ length: 300 }, (_, index) => `X-${index}: 1`);
  client.send("GET / HTTP/1.1", ...others, "Host: evil.test");
  await client.until('"code":"misdirected"');
  client.send("GET / HTTP/1.1", HOST, ...others, "Origin: http://evil.test");
  await client.until('"code":"forbidden"');
  expect(client.text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 421", "HTTP/1.1 403"]);
});

test("a deliberately slow client gets a 408 and is disconnected", async () => {
  const server = createServer(
    { headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 10 },
    (incoming, outgoing) => incoming.resume().once("end", () => outgoing.end("in time")),
  );
  server.on("clientError", answerClientError);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const part of [
    "GET / HT",
    "GET / HTTP/1.1\r\nHost: a",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{",
  ]) {
    await using client = new RawClient(url);
    client.socket.write(part);
    await client.closed();
    expect(client.text).toMatch(/^HTTP\/1\.1 408 /);
    expect(client.text).toContain('"code":"request_timeout"');
  }
  server.close();
});

test("a running answer is not corrupted by data that its client sends", async () => {
  await using server = await startServer();
  const { request_id } = await chat(`${server.url}/ticker/process?wait=true`, { input: "2 600000" });
  await using client = new RawClient(server.url);
  client.send(`GET /getevents/${String(request_id)}?stream=true HTTP/1.1`, HOST);
  await client.until('"TextOutput"');
  client.send("hello");
  await client.closed();
  expect(client.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  await expect.poll(() => server.streams()).toBe(0);
});

test("a body above the limit is refused as soon as its size is known", async () => {
  await using server = await startServer();
  const head = ["POST /echo/process HTTP/1.1", HOST, "Content-Type: application/json"];
  await using announced = new RawClient(server.url);
  announced.send(...head, "Content-Length: 100000000");
  await announced.until('"code":"too_large"');
  await using chunked = new RawClient(server.url);
  chunked.send(...head, "Transfer-Encoding: chunked");
  chunked.socket.write(`${(2_000_000).toString(16)}\r\n`);
  chunked.socket.write("a".repeat(1_100_000));
  await chunked.until('"code":"too_large"');
  expect([announced.text, chunked.text].map((text) => text.slice(0, 13))).toEqual([
    "HTTP/1.1 413 ",
    "HTTP/1.1 413 ",
  ]);
});

test.each([
  [
    "the rest of the body and another request",
    ["a".repeat(1_100_000), "\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ],
  ["bytes that are not HTTP", ["a".repeat(1_100_000), "hello\r\n\r\n"]],
  ["the end of its connection", ["a".repeat(1_100_000), undefined]],
])("a body above the limit has one answer, also when its client then sends %s", async (_, [body, after]) => {
  await using server = await startServer();
  await using client = new RawClient(server.url);
  client.send(
    "POST /echo/process HTTP/1.1",
    HOST,
    "Content-Type: application/json",
    "Transfer-Encoding: chunked",
  );
  client.socket.write(`${(1_100_000).toString(16)}\r\n${body}`);
  await client.until('"code":"too_large"');
  if (after === undefined) client.socket.end();
  else client.socket.write(after);
  await client.closed();
  expect(client.text).toMatch(/^HTTP\/1\.1 413 [^]*\r\nConnection: close\r\n/i);
  expect(client.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

test.each([
  ["without a token", "/echo/process", 401],
  ["of an unknown path", "/nothing", 404],
])(
  "a request %s that is answered before its body has arrived is the last of its connection",
  async (_, path, status) => {
    const token = "0123456789abcdef";
    await using server = await startServer({ token });
    await using client = new RawClient(server.url);
    const authorization = status === 401 ? [] : [`Authorization: Bearer ${token}`];
    client.send(`POST ${path} HTTP/1.1`, HOST, ...authorization, "Content-Length: 50");
    await client.until("\n");
    client.socket.write("a".repeat(50));
    client.send("GET /healthz HTTP/1.1", HOST);
    await client.closed();
    expect(client.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\r\nConnection: close\r\n`, "i"));
    expect(client.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  },
);

test.each(["/echo/process", "/artifacts"])(
  "a client that sends all of a large body to %s before it reads gets the answer, not a reset connection",
  async (path) => {
    await using server = await startServer({ fileLimitBytes: 100_000 });
    for (let round = 0; round < 10; round += 1) {
      const pieces = Array.from({ length: 200 }, () => Buffer.alloc(65_536, "a"));
      const answer = await fetch(`${server.url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: ReadableStream.from(pieces),
        duplex: "half",
      });
      expect(answer.status).toBe(413);
      await answer.text();
    }
  },
);

test("a request whose body has arrived leaves its connection open", async () => {
  await using server = await startServer();
  await using client = new RawClient(server.url);
  client.send("POST /echo/process HTTP/1.1", HOST, "Content-Type: application/json", "Content-Length: 11");
  client.socket.write('{"input":1}');
  client.send("POST /artifacts HTTP/1.1", HOST, "Transfer-Encoding: chunked");
  client.socket.write("3\r\nabc\r\n0\r\n\r\n");
  client.send("GET /healthz HTTP/1.1", HOST);
  await client.until('"status":"ok"');
  expect(client.text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 400", "HTTP/1.1 201", "HTTP/1.1 200"]);
  expect(client.text).not.toMatch(/connection: close/i);
});

test("an incomplete body leaves nothing behind", async () => {
  await using server = await startServer();
  const client = new RawClient(server.url);
  client.send("POST /echo/process HTTP/1.1", HOST, "Content-Type: application/json", "Content-Length: 50");
  client.socket.write('{"input":"a"');
  await once(client.socket, "connect");
  client.socket.end();
  await client.closed();
  expect((await server.runtime.runs({ limit: 10 })).runs).toEqual([]);
});

test.each([
  ["a space in the Host", ["HEAD / HTTP/1.1", "Host: a b"]],
  ["a port that is too large", ["HEAD / HTTP/1.1", "Host: 127.0.0.1:99999"]],
  ["user information in the Host", ["HEAD / HTTP/1.1", "Host: a@b"]],
  ["an open bracket in the Host", ["HEAD / HTTP/1.1", "Host: ["]],
  ["an empty Host", ["HEAD / HTTP/1.1", "Host:"]],
  ["another Host", ["HEAD / HTTP/1.1", "Host: evil.test"], 421],
  ["two Hosts", ["HEAD / HTTP/1.1", HOST, "Host: evil.test"]],
  ["no Host", ["HEAD / HTTP/1.0"]],
  ["a star as its target", ["HEAD * HTTP/1.1", HOST]],
  ["a backslash in its path", ["HEAD /\\x HTTP/1.1", HOST]],
  ["an absolute target that is no URL", ["HEAD http://[/ HTTP/1.1", HOST]],
  ["an absolute target with a backslash", ["HEAD http://localhost/\\ HTTP/1.1", HOST]],
  ["a target of two slashes", ["HEAD // HTTP/1.1", "Host: a b"]],
])(
  "a HEAD request with %s is refused without a body, and the server keeps running",
  async (_, lines, status = 400) => {
    await using server = await startServer();
    await using client = new RawClient(server.url);
    client.send(...lines, "Connection: close");
    await client.closed();
    expect(client.text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\r\n\r\n$`));
    expect(client.text).toContain("x-content-type-options: nosniff");
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  },
);

test("HEAD returns the headers of an answer and no body", async () => {
  await using server = await startServer();
  await using client = new RawClient(server.url);
  for (const path of ["/", "/echo/describe", "/nothing"]) {
    client.text = "";
    client.send(`HEAD ${path} HTTP/1.1`, HOST);
    client.send("GET /healthz HTTP/1.1", HOST);
    await client.until('"status":"ok"');
    expect(client.text).toMatch(/^HTTP\/1\.1 [^]*\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n\{"status":"ok"/);
  }
});

test("HEAD of a stream has no length, because the stream has none", async () => {
  await using server = await startServer();
  const { request_id: id } = await chat(`${server.url}/echo/process?wait=completed`, { input: "a" });
  await using client = new RawClient(server.url);
  client.send(`HEAD /getevents/${String(id)}?stream=true&since=0 HTTP/1.1`, HOST);
  client.send("GET /healthz HTTP/1.1", HOST);
  await client.until('"status":"ok"');
  const [head, next] = client.text.split("\r\n\r\n");
  expect(head).toContain("content-type: text/event-stream");
  expect(head).not.toMatch(/^content-length:/im);
  expect(next).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
});

test("a JSON answer ends with a line break, which is included in its length", async () => {
  await using server = await startServer();
  const started = await chat(`${server.url}/echo/process?wait=completed`, { input: "naïve" });
  for (const path of ["/", `/request/${String(started["request_id"])}`, "/nothing"]) {
    const answer = await fetch(`${server.url}${path}`);
    const text = await answer.text();
    expect(text).toMatch(/^[^\n]+\n$/);
    expect(answer.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
  }
  await using client = new RawClient(server.url);
  client.send("hello");
  await client.closed();
  expect(client.text).toMatch(/\}\n$/);
});

test("a 204 has no body, and its connection stays open", async () => {
  await using server = await startServer();
  const end = await chat(`${server.url}/echo/process?wait=completed`, { input: "hello" });
  await using client = new RawClient(server.url);
  client.send(`GET /getevents/${String(end["request_id"])}?stream=true HTTP/1.1`, HOST, "Last-Event-ID: 3");
  client.send("GET /healthz HTTP/1.1", HOST);
  await client.until('"status":"ok"');
  expect(client.text).toMatch(/^HTTP\/1\.1 204 No Content\r\n/);
});

test("a file is uploaded and downloaded in chunks", async () => {
  await using server = await startServer();
  const bytes = Buffer.alloc(5_000_000, "abcdefghij");
  const sent = await fetch(`${server.url}/artifacts?name=big`, { method: "POST", body: bytes });
  const { url } = (await sent.json()) as { url: string };
  const got = await fetch(`${server.url}${url}`);
  expect(got.headers.get("content-length")).toBe("5000000");
  expect(bytes.equals(Buffer.from(await got.arrayBuffer()))).toBe(true);
});

test.each([
  ["with a length", ["Content-Length: 100"], "half"],
  ["in chunks", ["Transfer-Encoding: chunked"], "ff\r\nhalf"],
])(
  "a file %s whose client disconnects is not a server fault, and nothing of it is kept",
  async (_, headers, part) => {
    const faults: unknown[] = [];
    const given = Promise.withResolvers<unknown>();
    const store = memoryArtifacts();
    const put: ArtifactStore["put"] = async (artifact) => {
      const stored = store.put(artifact);
      stored.then(given.resolve, given.resolve);
      return stored;
    };
    const runtime = createRuntime({ agents: [echo], artifacts: { ...store, put } });
    const metrics = createMetrics({ log: (...fault) => void faults.push(fault) });
    const server = await serve(runtime, { metrics });
    await using client = new RawClient(server.url);
    client.send("POST /artifacts HTTP/1.1", HOST, ...headers, "Expect: 100-continue");
    await client.until("100 Continue");
    client.socket.write(part);
    client.socket.destroy();
    expect(await given.promise).toMatchObject({
      code: "invalid_request",
      message: "the body ended too early",
    });
    await server.close();
    expect(faults).toEqual([]);
    expect(await store.size()).toBe(0);
    await runtime.close();
  },
);

test("a file above the limit is refused while it is still being sent", async () => {
  await using server = await startServer({ fileLimitBytes: 100_000 });
  await using client = new RawClient(server.url);
  client.send("POST /artifacts HTTP/1.1", HOST, "Transfer-Encoding: chunked");
  client.socket.write(`${(1_000_000).toString(16)}\r\n${"a".repeat(200_000)}`);
  await client.until('"code":"too_large"');
  expect(client.text).toMatch(/^HTTP\/1\.1 413 /);
});

test("a server that closes ends its streams properly and releases all connections", async () => {
  const runtime = createRuntime({ agents: [echo] });
  const server = await serve(runtime);
  const started = await chat(`${server.url}/echo/process?wait=completed`, { input: "hello" });
  await using reader = new RawClient(server.url);
  await using idle = new RawClient(server.url);
  reader.send(`GET /getevents/${String(started["run_id"])}?stream=true&follow=true HTTP/1.1`, HOST);
  idle.send("GET / HTTP/1.1", HOST);
  await Promise.all([reader.until('"RequestCompleted"'), idle.until("echo")]);
  await server.close({ graceMs: 60_000 });
  await Promise.all([reader.closed(), idle.closed()]);
  expect(reader.text).toMatch(/retry: 1000\n\n\r\n0\r\n\r\n$/);
  expect((await runtime.runs({ limit: 1 })).runs).toHaveLength(1);
  await runtime.close();
});
