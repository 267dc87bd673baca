import { once } from "node:events";
import { request as send } from "node:http";
import { promisify } from "node:util";
import { createRuntime } from "troupe";
import type { ArtifactStore, Runtime } from "troupe";
import { readForm, readJson, reply } from "troupe/http";
import type { Adapter } from "troupe/http";
import { serve } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { echo } from "../../agents/echo.ts";
import { memoryArtifacts } from "../../src/storage/memory/artifacts.ts";
import { RawClient } from "../node/raw-client.ts";

const LIMIT = 3_000_000;

/** POST /b/json answers with the optional body, POST /b/file stores the file of a form and answers with its name. */
function bodies(chunks: number[]): Adapter {
  return {
    name: "bodies",
    roots: ["b"],
    owns: (path) => path.startsWith("/b/"),
    toRefusal: ({ code, message }) => ({ body: JSON.stringify({ code, message }) }),
    addRoutes(app, host, { agent }) {
      const { bodyLimitBytes } = host;
      if (agent !== undefined) return;
      app.post("/b/json", async (c) => {
        const value = await readJson(c, bodyLimitBytes, { optional: true });
        return reply(c, JSON.stringify({ value: value === undefined ? "none" : value }));
      });
      app.post("/b/file", async (c) => {
        const form = await readForm(c, { file: "file", limitBytes: LIMIT });
        const name = async (): Promise<string> => {
          const fields = await form.fields();
          return [fields.get("folder"), form.fileName].filter((part) => part !== undefined).join("/");
        };
        const body = counted(form.body, chunks);
        const stored = await host
          .as(c)
          .runtime.upload({ name, mimeType: form.mimeType, body, limitBytes: LIMIT });
        return reply(c, JSON.stringify(stored));
      });
    },
  };
}

interface Started {
  readonly runtime: Runtime;
  readonly artifacts: ArtifactStore;
  readonly url: string;
  /** The sizes of the pieces in which files were read. */
  readonly chunks: readonly number[];
}

/** All items of an iterable. */
async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function* counted(body: AsyncIterable<Uint8Array>, sizes: number[]): AsyncIterable<Uint8Array> {
  for await (const chunk of body) {
    sizes.push(chunk.byteLength);
    yield chunk;
  }
}

async function start(): Promise<Started> {
  const artifacts = memoryArtifacts();
  const runtime = createRuntime({ agents: [echo], artifacts });
  const chunks: number[] = [];
  const server = await serve(runtime, { adapters: [bodies(chunks)], drain: false });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await runtime.close();
  });
  return { runtime, artifacts, url: server.url, chunks };
}

const FORM = "multipart/form-data; boundary=B";
const file = (text: string, more = ""): string =>
  `--B\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n${text}\r\n${more}--B--\r\n`;
const FOLDER = '--B\r\nContent-Disposition: form-data; name="folder"\r\n\r\nnotes/ä\r\n';

async function post(url: string, type: string, body: string): Promise<{ status: number; answer: Answer }> {
  const answer = await fetch(url, { method: "POST", headers: { "content-type": type }, body });
  return { status: answer.status, answer: (await answer.json()) as Answer };
}

interface Answer {
  readonly artifactId?: string;
  readonly code?: string;
  readonly message?: string;
}

/** What is stored under an id. */
async function stored(runtime: Runtime, { artifactId = "" }: Answer): Promise<[string, string, string]> {
  const { info, body } = await runtime.artifact(artifactId);
  const chunks = await collect(body);
  return [info.name, info.mimeType, Buffer.concat(chunks).toString()];
}

test.each([
  ["no body and no type", undefined, {}, "none"],
  ["no body and a type", undefined, { "content-type": "application/json" }, "none"],
  [
    "an empty body in chunks",
    "",
    { "transfer-encoding": "chunked", "content-type": "application/json" },
    "none",
  ],
  ["null", "null", { "content-type": "application/json" }, null],
  ["an object", '{"a":1}', { "content-type": "application/json" }, { a: 1 }],
])("an optional body: %s", async (_, body, headers, expected) => {
  const { url } = await start();
  const request = send(`${url}/b/json`, { method: "POST", headers });
  request.end(body);
  const [incoming] = (await once(request, "response")) as [AsyncIterable<Uint8Array>];
  const answer = JSON.parse(Buffer.concat(await collect(incoming)).toString()) as unknown;
  expect(answer).toEqual({ value: expected });
});

test("an optional body that is there is checked as any other", async () => {
  const { url } = await start();
  expect(await post(`${url}/b/json`, "text/plain", "{}")).toMatchObject({ status: 415 });
  expect(await post(`${url}/b/json`, "application/json", "{")).toMatchObject({ status: 400 });
});

test("the file of a form is stored with the fields before and behind it", async () => {
  const { url, runtime } = await start();
  const behind = await post(`${url}/b/file`, FORM, file("hello\r\n--not\r\n", FOLDER));
  expect(await stored(runtime, behind.answer)).toEqual(["notes/ä/a.txt", "text/plain", "hello\r\n--not\r\n"]);
  const before = await post(`${url}/b/file`, FORM, `a preamble\r\n${FOLDER}${file("")}an epilogue`);
  expect(await stored(runtime, before.answer)).toEqual(["notes/ä/a.txt", "text/plain", ""]);
});

test.each([
  ['filename="a \\"b\\" \\\\ c"', 'a "b" \\ c'],
  ["filename=\"a.txt\"; filename*=UTF-8''%E6%BC%A2.txt", "漢.txt"],
  ["filename=\"a.txt\"; filename*=UTF-8''%E6%BC", "a.txt"],
  ["filename=plain.txt", "plain.txt"],
  ["x=1", undefined],
])("the name of the file in %s is %j", async (parameter, name) => {
  const { url, runtime } = await start();
  const body = `--B\r\ncontent-disposition: FORM-DATA; NAME="file"; ${parameter}\r\n\r\nhello\r\n--B--`;
  const { answer } = await post(`${url}/b/file`, FORM, body);
  expect(await stored(runtime, answer)).toEqual([name ?? "", "application/octet-stream", "hello"]);
});

test("a form made by fetch arrives unchanged, with any name and any bytes", async () => {
  const { url, runtime } = await start();
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256));
  const form = new FormData();
  form.set("file", new File([bytes], 'grüße "漢字".bin', { type: "image/png" }));
  const answer = await fetch(`${url}/b/file`, { method: "POST", body: form });
  const { artifactId = "" } = (await answer.json()) as Answer;
  const { info, body } = await runtime.artifact(artifactId);
  expect(info).toMatchObject({ mimeType: "image/png", sizeBytes: 70_000 });
  expect(info.name).toContain("漢字");
  expect(Buffer.compare(Buffer.concat(await collect(body)), bytes)).toBe(0);
});

test("a form may be cut into packets anywhere", { tags: "long" }, async () => {
  const { url, runtime } = await start();
  const bytes = Buffer.from(file("one\r\n--A-two\r\n", FOLDER));
  for (let at = 1; at < bytes.length; at += 1) {
    const request = send(`${url}/b/file`, { method: "POST", headers: { "content-type": FORM } });
    const response = once(request, "response");
    request.flushHeaders();
    await promisify((sent: () => void) => request.write(bytes.subarray(0, at), sent))();
    request.end(bytes.subarray(at));
    const [incoming] = (await response) as [AsyncIterable<Uint8Array>];
    const answer = JSON.parse(Buffer.concat(await collect(incoming)).toString()) as Answer;
    expect([at, await stored(runtime, answer)]).toEqual([
      at,
      ["notes/ä/a.txt", "text/plain", "one\r\n--A-two\r\n"],
    ]);
  }
});

test("a large file is read in pieces of at most 64 KiB, and one above the limit is refused", async () => {
  const { url, runtime, chunks } = await start();
  const large = await post(`${url}/b/file`, FORM, file("x".repeat(LIMIT)));
  expect((await stored(runtime, large.answer))[2]).toHaveLength(LIMIT);
  expect(chunks.length).toBeGreaterThan(LIMIT / 65_536);
  expect(Math.max(...chunks)).toBeLessThanOrEqual(65_536 + 1);
  expect(await post(`${url}/b/file`, FORM, file("x".repeat(LIMIT + 1)))).toMatchObject({
    status: 413,
    answer: { code: "too_large" },
  });
});

test("a file whose reader waits is not read ahead", async () => {
  const { url, chunks } = await start();
  await using client = new RawClient(url);
  client.send("POST /b/file HTTP/1.1", "Host: localhost", `Content-Type: ${FORM}`, "Content-Length: 500");
  client.socket.write(file("begin"));
  await expect.poll(() => chunks).toEqual([5]);
  client.socket.destroy();
  expect(await post(`${url}/b/file`, FORM, file("next"))).toMatchObject({ status: 200 });
});

test.each([
  ["another media type", "application/json", "{}", 415, "the body must be multipart/form-data"],
  ["no boundary", "multipart/form-data; a=b", file(""), 400, "the Content-Type of the form has no boundary"],
  ["no file", FORM, `${FOLDER}--B--\r\n`, 422, "the form has no file named file"],
  ["no part", FORM, "--B--\r\n", 422, "the form has no file named file"],
  ["no boundary in the body", FORM, "hello", 400, "the form ended too early"],
  ["no last boundary", FORM, file("hello").slice(0, -6), 400, "the form ended too early"],
  [
    "a line that only starts like the boundary",
    FORM,
    file("hello\r\n--Boo\r\n\r\n"),
    400,
    "the form has a line that only starts like its boundary",
  ],
  [
    "a part without a name",
    FORM,
    "--B\r\nContent-Disposition: form-data\r\n\r\nx\r\n--B--",
    400,
    "the form has a part without a name",
  ],
  [
    "a large header",
    FORM,
    `--B\r\nX: ${"x".repeat(90_000)}\r\n\r\nx\r\n--B--`,
    400,
    "the form has a part with too large a header",
  ],
  ["two files", FORM, file("a", file("b").slice(0, -7)), 422, "the form has more than one file named file"],
  [
    "an invalid header",
    FORM,
    "--B\r\n:\r\n\r\nx\r\n--B--",
    400,
    "the form has a part with an invalid header",
  ],
  [
    "a large field",
    FORM,
    file("", `${FOLDER.trimEnd()}${"x".repeat(70_000)}\r\n`),
    413,
    "a field of the form is larger than 65536 bytes",
  ],
  ["many parts", FORM, file("", FOLDER.repeat(101)), 413, "the form has more than 100 parts"],
])("a form with %s is refused and stores nothing", async (_, type, body, status, message) => {
  const { url, artifacts } = await start();
  expect(await post(`${url}/b/file`, type, body)).toMatchObject({ status, answer: { message } });
  expect(await artifacts.removeUnattached(0)).toBe(0);
});
