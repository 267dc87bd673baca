import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { createRuntime, defineAgent, operation } from "troupe";
import type { Event, Runtime } from "troupe";
import { createClient, remoteAgent } from "troupe/client";
import { createApp } from "troupe/http";
import { serve } from "troupe/node";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";

/** Hono's adapter replaces them by its own, as in a program of a user. */
const { Request: ownRequest, Response: ownResponse } = globalThis;
afterAll(() => {
  Object.assign(globalThis, { Request: ownRequest, Response: ownResponse });
});

const writer = defineAgent({
  name: "writer",
  purpose: "Writes a file.",
  async chat(input, turn) {
    await turn.artifact({ name: "note.txt", mimeType: "text/plain", data: input });
    return "written";
  },
});

const PREFIX = "/team/agents";

/** The ways to serve below a prefix; each gives the origin. */
const MOUNTS: readonly (readonly [string, (runtime: Runtime) => Promise<string>])[] = [
  [
    "app.route of Hono",
    (runtime) => listen(getRequestListener(new Hono().route(PREFIX, createApp(runtime)).fetch)),
  ],
  [
    "app.route of Hono, twice",
    (runtime) => {
      const inner = new Hono().route("/agents", createApp(runtime));
      return listen(getRequestListener(new Hono().route("/team", inner).fetch));
    },
  ],
  [
    "app.route of Hono below a parameter",
    (runtime) => listen(getRequestListener(new Hono().route("/:team/agents", createApp(runtime)).fetch)),
  ],
  ["app.use of Express", (runtime) => listen(below(PREFIX, getRequestListener(createApp(runtime).fetch)))],
  ["a trusted proxy", (runtime) => listenAsProxy(runtime, { "x-forwarded-prefix": PREFIX })],
  [
    "a trusted proxy whose prefix ends in a slash",
    (runtime) => listenAsProxy(runtime, { "x-forwarded-prefix": `${PREFIX}/` }),
  ],
];

test.each(MOUNTS)(
  "below the prefix of %s every path that the server gives leads back to it",
  async (_, mount) => {
    const runtime = createRuntime({ agents: [writer] });
    onTestFinished(() => runtime.close());
    const origin = await mount(runtime);
    const base = `${origin}${PREFIX}`;
    const get = async (path: string): Promise<Response> => fetch(new URL(path, origin));
    const listed = (await (await fetch(base)).json()) as { path: string }[];
    expect(listed).toEqual([{ name: "writer", path: `${PREFIX}/writer` }]);
    expect(await (await fetch(`${base}?format=pairs`)).json()).toEqual([["writer", `${PREFIX}/writer`]]);
    expect((await get(`${listed[0]?.path}/describe`)).status).toBe(200);

    const asked = await fetch(`${base}/writer/process`, post({ input: "hello" }));
    expect(asked.status).toBe(202);
    const location = asked.headers.get("location") ?? "";
    const streamed = await (await get(`${location}?stream=true&since=0`)).text();
    const polled = (await (await get(location)).json()) as { type: string; url?: string }[];
    const url = polled.find(({ type }) => type === "ArtifactGenerated")?.url ?? "";
    expect(url).toMatch(new RegExp(`^${PREFIX}/artifacts/`));
    expect(streamed).toContain(`"url":"${url}"`);
    expect(await (await get(url)).text()).toBe("hello");

    const uploaded = await fetch(`${base}/artifacts?name=a`, { method: "POST", body: "uploaded" });
    const file = (await uploaded.json()) as { url: string };
    expect(uploaded.headers.get("location")).toBe(file.url);
    expect(await (await get(file.url)).text()).toBe("uploaded");

    const { run_id: runId } = (await asked.json()) as { run_id: string };
    const added = await fetch(`${base}/artifacts?run_id=${runId}`, { method: "POST", body: "added" });
    const { url: addedUrl } = (await added.json()) as { url: string };
    const history = (await (await get(`${PREFIX}/getevents/${runId}?since=0`)).json()) as typeof polled;
    expect(history.find(({ type }) => type === "ArtifactUploaded")?.url).toBe(addedUrl);
    expect(await (await get(addedUrl)).text()).toBe("added");
    const forked = await fetch(`${base}/runs/${runId}/fork`, post({ after: 0 }));
    expect((await get(forked.headers.get("location") ?? "")).status).toBe(200);
    const [, next] = /<(.+)>/.exec((await fetch(`${base}/runs?limit=1`)).headers.get("link") ?? "") ?? [];
    expect((await get(next ?? "/none")).status).toBe(200);
    for (const path of ["healthz", "readyz", "metrics"])
      expect((await fetch(`${base}/${path}`)).status).toBe(200);
  },
);

test("below a prefix, results that contain a path of a file stay as they are", async () => {
  const linker = defineAgent({
    name: "linker",
    purpose: "Returns an object that looks like a file.",
    operations: {
      link: operation({ description: "Returns it.", input: z.object({}), run: () => FILE_LIKE }),
    },
  });
  const runtime = createRuntime({ agents: [linker] });
  onTestFinished(() => runtime.close());
  const app = new Hono().route(PREFIX, createApp(runtime));
  const request = post({ operation: "link", input: {}, wait: "completed" });
  const asked = await app.request(`${PREFIX}/linker/process`, request);
  const { request_id: id, output } = (await asked.json()) as { request_id: string; output: unknown };
  expect(output).toEqual(FILE_LIKE);
  const polled = await app.request(`${PREFIX}/linker/getevents/${id}?since=0`);
  expect(((await polled.json()) as { output?: unknown }[]).at(-1)?.output).toEqual(FILE_LIKE);
  const streamed = await app.request(`${PREFIX}/linker/getevents/${id}?since=0&stream=true`);
  expect(await streamed.text()).toContain(JSON.stringify(FILE_LIKE));
});

const FILE_LIKE = { type: "ArtifactGenerated", url: "/artifacts/art_1" };

const ALL: typeof MOUNTS = [
  ...MOUNTS,
  ["a proxy that says nothing", (runtime) => listenAsProxy(runtime, {})],
  [
    "app.mount of Hono",
    (runtime) => listen(getRequestListener(new Hono().mount(PREFIX, createApp(runtime).fetch).fetch)),
  ],
];

test.each(ALL)("below the prefix of %s the client and a remote agent get files", async (_, mount) => {
  const runtime = createRuntime({ agents: [writer] });
  onTestFinished(() => runtime.close());
  const url = `${await mount(runtime)}${PREFIX}/writer`;
  const client = createClient(url);
  const events: Event[] = [];
  for await (const event of client.agent().chat("hello")) events.push(event);
  const artifact = events.find((event) => event.type === "ArtifactGenerated");
  expect(await (await client.artifact(artifact?.url ?? "")).text()).toBe("hello");
  const uploaded = await client.upload({ name: "a", mimeType: "text/plain", data: "uploaded" });
  expect(await (await client.artifact(uploaded.url)).text()).toBe("uploaded");

  const near = createRuntime({ agents: [remoteAgent(url, { name: "far" })] });
  onTestFinished(() => near.close());
  const receipt = await near.process("far", { type: "ChatRequest", input: "from afar" });
  const end = await near.acknowledgement(receipt, { until: "completed", timeoutMs: 30_000 });
  expect(JSON.parse(end ?? "{}")).toMatchObject({ finish_reason: "success" });
});

test.each(["//evil.test", '/a"b', "/a b", "https://evil.test", "/a?b", "a", "/<script>"])(
  "the forwarded prefix %j is ignored, and any is where no proxy is trusted",
  async (prefix) => {
    const runtime = createRuntime({ agents: [writer] });
    onTestFinished(() => runtime.close());
    const list = async (trustProxy: boolean, forwarded: string): Promise<unknown> => {
      const headers = { "x-forwarded-prefix": forwarded };
      return (await createApp(runtime, { trustProxy }).request("http://localhost/", { headers })).json();
    };
    expect(await list(true, prefix)).toEqual([{ name: "writer", path: "/writer" }]);
    expect(await list(false, PREFIX)).toEqual([{ name: "writer", path: "/writer" }]);
  },
);

function post(body: unknown): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

/** What answers a request of Node. */
type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => unknown;

async function listen(listener: Listener): Promise<string> {
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What `app.use(prefix, listener)` of Express does with a request. */
function below(prefix: string, listener: Listener): Listener {
  return (incoming, outgoing) => {
    const { url = "" } = incoming;
    if (!url.startsWith(prefix)) {
      outgoing.writeHead(404).end();
      return;
    }
    const rest = url.slice(prefix.length);
    listener(
      Object.assign(incoming, { baseUrl: prefix, url: rest.startsWith("/") ? rest : `/${rest}` }),
      outgoing,
    );
  };
}

/** A proxy that removes the prefix. */
async function listenAsProxy(runtime: Runtime, headers: Record<string, string>): Promise<string> {
  const server = await serve(runtime, { trustProxy: true });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const { port } = new URL(server.url);
  return listen(
    below(PREFIX, (incoming, outgoing) => {
      const path = incoming.url;
      const options = { port, path, method: incoming.method, headers: { ...incoming.headers, ...headers } };
      const onward = send(options, (answer: IncomingMessage) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on("error", () => outgoing.destroy());
      incoming.pipe(onward);
    }),
  );
}
