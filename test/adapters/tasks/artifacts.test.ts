import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import * as agents from "./agents.ts";
import type { Artifact } from "./schemas.ts";
import { TestServer } from "./server.ts";

test("17: an upload without a file, or of another media type, is 422; to an unknown task 404", async () => {
  await using server = await TestServer.start([echo]);
  const { task_id: id } = await server.createTask();
  const empty = new FormData();
  empty.set("relative_path", "x");
  for (const init of [
    { body: empty },
    { body: "{}", headers: { "content-type": "application/json" } },
    { body: "x", headers: { "content-type": "multipart/form-data" } },
    { body: "x", headers: { "content-type": "multipart/form-data; boundary=b" } },
    {},
  ]) {
    expect((await server.send("POST", `/${id}/artifacts`, init)).status).toBe(422);
  }
  expect((await server.upload("nope", { bytes: "x", name: "x" })).status).toBe(404);
  expect((await server.task(id)).artifacts).toEqual([]);
});

test.each([
  ["0 bytes", 0, "empty.bin", undefined],
  ["1 byte", 1, "one.bin", "a"],
  ["5 MiB", 5 * 1_048_576, "five.bin", "deep/er/folder"],
  ["a name in UTF-8", 100, "Übersicht – 世界 'a' (1).txt", "Ordner/ä ö"],
])("18 and 19: an upload of %s comes back exactly", async (_, size, name, folder) => {
  await using server = await TestServer.start([echo], { durable: true });
  const { task_id: id } = await server.createTask();
  const bytes = randomBytes(size);
  const artifact = await server.uploaded(id, { bytes, name, ...(folder !== undefined && { folder }) });
  expect(artifact).toEqual({
    artifact_id: artifact.artifact_id,
    agent_created: false,
    file_name: name,
    relative_path: folder ?? null,
  });
  expect((await server.artifacts(id)).artifacts).toEqual([artifact]);
  const answer = await server.get(`/${id}/artifacts/${artifact.artifact_id}`);
  expect(answer.headers.get("content-type")).toBe("application/octet-stream");
  expect(answer.headers.get("content-length")).toBe(String(size));
  const [, encoded = ""] =
    /^attachment;.*filename\*=UTF-8''(.+)$/.exec(answer.headers.get("content-disposition") ?? "") ?? [];
  expect(decodeURIComponent(encoded)).toBe(name);
  expect(bytes.equals(Buffer.from(await answer.arrayBuffer()))).toBe(true);
});

test("18: the folder may stand before or behind the file", async () => {
  await using server = await TestServer.start([echo]);
  const { task_id: id } = await server.createTask();
  const part = (head: string, body: string) =>
    `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
  const file = part('name="file"; filename="a.txt"', "text");
  const folder = part('name="relative_path"', "in/it");
  for (const form of [file + folder, folder + file]) {
    const answer = await server.send("POST", `/${id}/artifacts`, {
      headers: { "content-type": "multipart/form-data; boundary=b" },
      body: `${form}--b--\r\n`,
    });
    expect(await answer.json()).toMatchObject({ file_name: "a.txt", relative_path: "in/it" });
  }
});

test.each(["/etc", "../x", "a/../../b", "..", "a\\b", "C:/x", "a\u0000b", "a\nb", "x".repeat(2_000)])(
  "18: the folder %j is 422, and nothing is stored",
  async (folder) => {
    await using server = await TestServer.start([echo]);
    const { task_id: id } = await server.createTask();
    expect((await server.upload(id, { bytes: "x", name: "x", folder })).status).toBe(422);
    expect((await server.task(id)).artifacts).toEqual([]);
  },
);

test.each([
  ["../../etc/passwd", "passwd"],
  ["C:\\Users\\a.txt", "a.txt"],
  ["..", "file"],
  ["a/..", "file"],
  ["/", "file"],
  ["x".repeat(300), "x".repeat(255)],
])("18: a file that a client calls %j is called %j", async (name, expected) => {
  await using server = await TestServer.start([echo]);
  const { task_id: id } = await server.createTask();
  const artifact = await server.uploaded(id, { bytes: "x", name });
  expect(artifact).toMatchObject({ file_name: expected, relative_path: null });
});

test("20: a file of the agent is in its step, in the task and in the list, and can be downloaded", async () => {
  await using server = await TestServer.start([agents.publisher]);
  const { task_id: id } = await server.createTask();
  const uploaded = await server.uploaded(id, { bytes: "mine", name: "mine.txt" });
  const first = await server.step(id);
  const second = await server.step(id, { input: "yes" });
  const files = [...first.artifacts, ...second.artifacts];
  expect(files).toMatchObject([
    { agent_created: true, file_name: "a.txt", relative_path: "out" },
    // A folder outside is not shown, because clients would write there.
    { agent_created: true, file_name: "b.html", relative_path: null },
  ]);
  expect((await server.task(id)).artifacts).toEqual([uploaded, ...files]);
  expect((await server.artifacts(id)).artifacts).toEqual([uploaded, ...files]);
  const texts = files.map((file: Artifact) => server.bytes(id, file.artifact_id));
  expect((await Promise.all(texts)).map(String)).toEqual(["first", "second"]);
  const page = await server.get(`/${id}/artifacts/${files[1]?.artifact_id}`);
  expect(page.headers.get("content-type")).toBe("application/octet-stream");
});

test("a file that is uploaded or made over the native protocol is an artifact of the task", async () => {
  await using server = await TestServer.start([echo]);
  const { task_id: id } = await server.createTask();
  const native = await fetch(`${server.url}/artifacts?name=there.txt&run_id=${id}`, {
    method: "POST",
    body: "there",
  });
  const { artifact_id: artifactId } = (await native.json()) as { readonly artifact_id: string };
  expect((await server.artifacts(id)).artifacts).toMatchObject([
    { artifact_id: artifactId, agent_created: false },
  ]);
  expect(String(await server.bytes(id, artifactId))).toBe("there");
});

test("a turn has at most 100 new files; one more is 422 until it has begun", { tags: "long" }, async () => {
  await using server = await TestServer.start([agents.mirror], { again: true });
  const { task_id: id } = await server.createTask();
  const upload = () => server.upload(id, { bytes: "x", name: "x" });
  for (let count = 0; count < 100; count += 1) expect((await upload()).status).toBe(200);
  expect((await upload()).status).toBe(422);
  const { output } = await server.step(id);
  expect((JSON.parse(output ?? "") as { readonly files: unknown[] }).files).toHaveLength(100);
  expect((await upload()).status).toBe(200);
});
