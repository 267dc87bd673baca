import { once } from "node:events";
import { createServer } from "node:http";
import { clusterRouter, createRuntime, defineAgent, memoryArtifacts, memoryLog } from "troupe";
import type { Router, Runtime, Transport } from "troupe";
import { httpTransport, nodeEnvironment } from "troupe/node";
import type { HttpTransportOptions } from "troupe/node";
import { collect } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { Signer } from "../../src/node/cluster/signature.ts";
import type { Json } from "../../src/protocol/json.ts";
import { findFreeUrl } from "../machine/free-port.ts";
import { RawClient } from "./raw-client.ts";

async function transport(options: Partial<HttpTransportOptions> = {}): Promise<Transport> {
  return httpTransport({ url: await findFreeUrl(), ...options });
}

/** Listens for the duration of a test. */
async function listen(to: Transport, receive: (message: Json) => Promise<Json>): Promise<void> {
  const stop = await to.listen(receive);
  onTestFinished(stop);
}

const SECRET = "a secret of nodes";

const never = new AbortController().signal;

test("a message goes to the node with the address, and its answer comes back", async () => {
  const [a, b] = [await transport({ secret: SECRET }), await transport({ secret: SECRET })];
  await listen(b, async (message) => ({ got: message }));
  expect(await a.send(b.url, { text: "é€😀" }, never)).toEqual({ got: { text: "é€😀" } });
});

test("a node with another secret is refused, and both sides learn it", async () => {
  const faults: string[] = [];
  const fault = (message: string): void => void faults.push(message);
  const [a, b] = [
    await transport({ secret: `${SECRET} one`, fault }),
    await transport({ secret: `${SECRET} two`, fault }),
  ];
  let received = 0;
  await listen(b, async () => (received += 1));
  await expect(a.send(b.url, null, never)).rejects.toMatchObject({ code: "unauthorized" });
  expect(received).toBe(0);
  expect(faults).toEqual([
    expect.stringContaining("give all nodes the same secret"),
    expect.stringContaining("its secret differs; give all nodes the same secret"),
  ]);
});

test("a secret is replaced while nodes work: each step knows that of the step before and after it", async () => {
  const steps = [
    ["old secret of nodes"],
    ["old secret of nodes", SECRET],
    [SECRET, "old secret of nodes"],
    [SECRET],
  ];
  const nodes = await Promise.all(steps.map(async (secret) => transport({ secret })));
  for (const node of nodes) await listen(node, async () => "taken");
  const reaches = async (from: number, to: number): Promise<boolean> =>
    (nodes[from] as Transport).send((nodes[to] as Transport).url, null, never).then(
      () => true,
      () => false,
    );
  for (const from of steps.keys())
    for (const to of steps.keys())
      expect([from, to, await reaches(from, to)]).toEqual([from, to, Math.abs(from - to) < 2]);
});

test("a message that is old, or was sent to another node, is refused", async () => {
  const b = await transport({ secret: SECRET });
  await listen(b, async () => "taken");
  const send = async (at: number, to = b.url): Promise<number> => {
    const headers = { "x-troupe-signature": new Signer(SECRET).sign("{}", to, at) };
    return (await fetch(`${b.url}/messages`, { method: "POST", body: "{}", headers })).status;
  };
  expect(await send(Date.now() - 10_000)).toBe(200);
  expect(await send(Date.now() - 120_000)).toBe(401);
  expect(await send(Date.now(), "http://127.0.0.1:4200")).toBe(401);
});

test("what is not a message of a node gets a problem", async () => {
  const b = await transport();
  await listen(b, async () => null);
  const post = (body: string): Promise<Response> => fetch(`${b.url}/messages`, { method: "POST", body });
  expect((await fetch(b.url)).status).toBe(404);
  const unsigned = await post("{}");
  expect([unsigned.status, await unsigned.json()]).toEqual([401, expect.objectContaining({ status: 401 })]);
});

test("a message above the limit does not arrive", async () => {
  const [a, b] = [await transport({ secret: SECRET }), await transport({ secret: SECRET })];
  let received = 0;
  await listen(b, async () => (received += 1));
  await expect(a.send(b.url, "x".repeat(33 * 1_048_576), never)).rejects.toThrow(/status 413|fetch failed/);
  expect(received).toBe(0);
});

test("a message that no node has signed is refused before its body is read", async () => {
  const b = await transport({ secret: SECRET });
  await listen(b, async () => "taken");
  const ask = async (...headers: readonly string[]): Promise<string> => {
    await using client = new RawClient(b.url);
    // The body is never sent.
    client.send(
      "POST /messages HTTP/1.1",
      `host: ${new URL(b.url).host}`,
      "content-length: 30000000",
      ...headers,
    );
    await client.until("\r\n");
    return client.text;
  };
  const [own, other] = [new Signer(SECRET), new Signer("another secret")];
  expect(await ask()).toMatch(/^HTTP\/1.1 401 /);
  for (const signature of [
    other.sign("{}", b.url, Date.now()),
    own.sign("{}", b.url, Date.now() - 120_000),
    own.sign("{}", "http://127.0.0.1:4200", Date.now()),
    "...",
  ])
    expect(await ask(`x-troupe-signature: ${signature}`)).toMatch(/^HTTP\/1.1 401 /);
});

test("a body other than the signed one is refused", async () => {
  const b = await transport({ secret: SECRET });
  await listen(b, async () => "taken");
  const headers = { "x-troupe-signature": new Signer(SECRET).sign("{}", b.url, Date.now()) };
  const { status } = await fetch(`${b.url}/messages`, { method: "POST", body: "[]", headers });
  expect(status).toBe(401);
});

test(
  "a node takes no message above its limit of connections, and takes messages again when some have ended",
  { tags: "long" },
  async () => {
    const [a, b] = [await transport({ secret: SECRET }), await transport({ secret: SECRET })];
    await listen(b, async () => "taken");
    const clients: RawClient[] = [];
    while (clients.length < 2_000) {
      const some = Array.from({ length: 100 }, () => new RawClient(b.url));
      await Promise.all(some.map(({ socket }) => once(socket, "connect")));
      clients.push(...some);
    }
    await expect(a.send(b.url, null, never)).rejects.toThrow("fetch failed");
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
    await expect.poll(() => a.send(b.url, null, never).catch(() => "refused")).toBe("taken");
  },
);

test("an answer above the limit, or one without an end, is given up", { tags: "long" }, async () => {
  const a = await transport({ secret: SECRET });
  const url = await findFreeUrl();
  let sentBytes = 0;
  // Another program has the port of a node that has ended.
  const server = createServer((_request, response) => {
    const chunk = Buffer.alloc(1_048_576, "x");
    const send = (): void => {
      while (!response.destroyed && response.write(chunk)) sentBytes += chunk.byteLength;
    };
    response.on("drain", send);
    send();
  });
  await once(server.listen(Number(new URL(url).port), "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await expect(a.send(url, null, never)).rejects.toMatchObject({
    code: "unavailable",
    message: `node ${url} has answered a message with more than 33554432 bytes`,
  });
  expect(sentBytes).toBeLessThan(64 * 1_048_576);
});

test("a message of a page whose host name leads to this node is refused", async () => {
  const faults: string[] = [];
  const b = await transport({ fault: (message) => void faults.push(message) });
  let received = 0;
  await listen(b, async () => (received += 1));
  const ask = async (host: string): Promise<string> => {
    await using client = new RawClient(b.url);
    const signature = new Signer("").sign("{}", b.url, Date.now());
    client.send("POST /messages HTTP/1.1", host, "content-length: 2", `x-troupe-signature: ${signature}`);
    client.socket.write("{}");
    await client.until("\r\n\r\n");
    return client.text;
  };
  const { host, port } = new URL(b.url);
  expect(await ask(`host: evil.example:${port}`)).toMatch(/^HTTP\/1.1 421 /);
  expect(received).toBe(0);
  expect(await ask(`host: ${host}`)).toMatch(/^HTTP\/1.1 200 /);
  expect(faults).toEqual([]);
});

test("an address that other machines reach needs a secret, and a secret has 16 characters", () => {
  for (const url of ["http://127.0.0.1:4200", "http://10.0.0.1:4200"])
    expect(() => httpTransport({ url, secret: "x".repeat(15) })).toThrow("has only 15 characters");
  for (const url of ["http://10.0.0.1:4200", "http://node.example:4200", "http://[::]:4200"])
    expect(() => httpTransport({ url })).toThrow("need a secret");
  expect(() => httpTransport({ url: "http://127.0.0.1:4200", host: "0.0.0.0" })).toThrow("need a secret");
  expect(httpTransport({ url: "http://10.0.0.1:4200", secret: SECRET }).url).toBe("http://10.0.0.1:4200");
  for (const url of ["", "10.0.0.1:4200", "https://a:1", "http://a", "http://a:1/path"])
    expect(() => httpTransport({ url, secret: SECRET })).toThrow("is not the address of a node");
  expect(() => httpTransport({ url: "http://me:hidden@a:1", secret: SECRET })).toThrow(
    "has no user and no password",
  );
});

test("an address that is in use is named", async () => {
  const a = await transport();
  await listen(a, async () => null);
  await expect(httpTransport({ url: a.url }).listen(async () => null)).rejects.toMatchObject({
    code: "unavailable",
    details: { hint: "another process listens there; choose another port" },
  });
});

test("two nodes on one log answer for each other over HTTP, and one continues when the other stops", async () => {
  const log = memoryLog();
  const artifacts = memoryArtifacts();
  const counter = defineAgent({
    name: "counter",
    purpose: "Counts the turns of its run.",
    chat: (_input, turn) => {
      const count = Number(turn.memory.get() ?? 0) + 1;
      turn.memory.set(count);
      return String(count);
    },
  });
  const start = async (node: string): Promise<readonly [runtime: Runtime, router: Router]> => {
    const nodeLog = log.openNode(node);
    const environment = nodeEnvironment();
    const own = await transport({ secret: SECRET });
    const router = clusterRouter({ log: nodeLog, transport: own, environment });
    return [createRuntime({ agents: [counter], log: nodeLog, artifacts, router }), router];
  };
  const [[a, ofA], [b, ofB]] = [await start("a"), await start("b")];
  await Promise.all([a.ready(), b.ready()]);
  const count = async (runtime: Runtime): Promise<unknown> => {
    const events = await collect(runtime, "counter", { type: "ChatRequest", input: "", key: "one" });
    const end = events.at(-1);
    return end?.type === "RequestCompleted" ? end.result : end;
  };
  expect(await count(a)).toBe("1");
  const known = (): unknown => [ofA, ofB].map((router) => router.members().map(({ isAlive }) => isAlive));
  await expect.poll(known).toEqual([
    [true, true],
    [true, true],
  ]);
  expect(await count(b)).toBe("2");
  expect(ofB.figures?.().forwarded).toBe(1);
  expect(await count(a)).toBe("3");
  await a.close();
  expect(await count(b)).toBe("4");
  await b.close();
});
