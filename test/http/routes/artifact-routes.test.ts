import { createRuntime, defineAgent, memoryArtifacts } from "troupe";
import { createApp, createMetrics } from "troupe/http";
import { expect, test } from "vitest";
import { bodyOf, post, startApp } from "../server.ts";
import type { App } from "../server.ts";

async function upload(
  app: App,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream,
  { query = "", type }: { readonly query?: string; readonly type?: string } = {},
): Promise<Response> {
  const headers = new Headers(type === undefined ? {} : { "content-type": type });
  return app.request(`/artifacts${query}`, { method: "POST", headers, body, duplex: "half" });
}

test("a file is downloaded unchanged, as an attachment with its name", async () => {
  await using server = await startApp();
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  const sent = await upload(server.app, bytes, {
    query: "?name=R%C3%A9sum%C3%A9%20(1)'*.pdf",
    type: "application/pdf",
  });
  expect(sent.status).toBe(201);
  const { url, artifact_id: id } = await bodyOf(sent);
  expect(url).toBe(`/artifacts/${String(id)}`);
  expect(sent.headers.get("location")).toBe(url);

  const got = await server.app.request(String(url));
  expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes);
  expect(Object.fromEntries(got.headers)).toMatchObject({
    "content-type": "application/pdf",
    "content-length": "60000",
    "content-disposition": `attachment; filename="artifact"; filename*=UTF-8''R%C3%A9sum%C3%A9%20%281%29%27%2A.pdf`,
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
  });
});

test.each([
  ["text/html", "application/octet-stream"],
  ["image/svg+xml", "application/octet-stream"],
  ["text/xml", "application/octet-stream"],
  ["application/x-anything", "application/octet-stream"],
  ["text/plain", "text/plain; charset=utf-8"],
  ["text/markdown", "text/markdown; charset=utf-8"],
  ["text/csv; header=present", "text/csv; charset=utf-8"],
  ["TEXT/PLAIN; charset=latin1", "text/plain; charset=utf-8"],
  ["image/png", "image/png"],
  ["application/json", "application/json"],
])("a file of type %s is sent as %s", async (type, given) => {
  await using server = await startApp();
  const { url } = await bodyOf(await upload(server.app, "<script>alert(1)</script>", { type }));
  const got = await server.app.request(String(url));
  expect(got.headers.get("content-type")).toBe(given);
  expect(got.headers.get("content-disposition")).toMatch(/^attachment;/);
});

test("a file without a name or a type is a file of bytes", async () => {
  await using server = await startApp();
  const { url } = await bodyOf(await upload(server.app, new Uint8Array([1, 2, 3])));
  const got = await server.app.request(String(url));
  expect(got.headers.get("content-type")).toBe("application/octet-stream");
  expect(got.headers.get("content-disposition")).toContain("UTF-8''file");
});

test.each(["no type", "text", "text/plain; a\tb"])("%j is not a media type", async (type) => {
  await using server = await startApp();
  expect((await upload(server.app, "a", { type })).status).toBe(400);
});

test("a file above the limit is refused and not stored, also without a content length", async () => {
  const stored: string[] = [];
  const artifacts = memoryArtifacts();
  const runtime = createRuntime({
    agents: [defineAgent({ name: "quiet", purpose: "Is quiet.", chat: () => "" })],
    artifacts: {
      ...artifacts,
      put: async (artifact) => {
        const info = await artifacts.put(artifact);
        stored.push(info.name);
        return info;
      },
    },
  });
  const app = createApp(runtime, { fileLimitBytes: 10_000 });
  expect((await upload(app, new Uint8Array(10_000), { query: "?name=fits" })).status).toBe(201);
  expect((await upload(app, new Uint8Array(10_001), { query: "?name=known" })).status).toBe(413);
  const endless = ReadableStream.from(
    (function* chunks() {
      for (;;) yield new Uint8Array(1_000);
    })(),
  );
  expect((await upload(app, endless, { query: "?name=endless" })).status).toBe(413);
  expect(stored).toEqual(["fits"]);
  await runtime.close();
});

test("a file can be attached to a request, or belong to a run", async () => {
  await using server = await startApp();
  const { artifact_id } = await bodyOf(await upload(server.app, "a,b", { type: "text/csv" }));
  const request = { input: "hello", attachments: [artifact_id] };
  const started = await bodyOf(await post(server.app, "/echo/process?wait=true", request));
  expect(started["attachments"]).toEqual([artifact_id]);
  const query = `?run_id=${String(started["run_id"])}&name=table.csv`;
  expect((await upload(server.app, "a,b", { query, type: "text/csv" })).status).toBe(201);
  const history = await server.app.request(
    `/events/${String(started["run_id"])}?since=0&types=ArtifactUploaded`,
  );
  expect(await history.text()).toContain('"name":"table.csv"');
});

test("an unknown file is a 404", async () => {
  await using server = await startApp();
  expect((await server.app.request("/artifacts/none")).status).toBe(404);
});

test("a client that disconnects during a download is not a fault of the server", async () => {
  const artifacts = memoryArtifacts();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const runtime = createRuntime({
    agents: [defineAgent({ name: "quiet", purpose: "Is quiet.", chat: () => "" })],
    artifacts: {
      ...artifacts,
      async *read(artifactId) {
        try {
          yield* artifacts.read(artifactId);
          ask();
          await gone;
        } finally {
          leave();
        }
      },
    },
  });
  const faults: string[] = [];
  const app = createApp(runtime, { metrics: createMetrics({ log: (message) => faults.push(message) }) });
  const { url } = await bodyOf(await upload(app, "all of it"));
  const reader = (await app.request(String(url))).body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("all of it");

  const end = reader?.read();
  await asked;
  const canceled = reader?.cancel();
  go();
  await Promise.all([left, end, canceled]);

  expect(faults).toEqual([]);
  await runtime.close();
});

test("HEAD of a file returns its size", async () => {
  await using server = await startApp();
  const { url } = await bodyOf(await upload(server.app, "hello"));
  const answer = await server.app.request(String(url), { method: "HEAD" });
  expect(answer.headers.get("content-length")).toBe("5");
  expect(await answer.text()).toBe("");
});
