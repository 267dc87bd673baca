import { defineAgent, operation } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../../../agents/echo.ts";
import * as agents from "./harness/agents.ts";
import { anyText, lastOf, textsOf } from "./harness/objects.ts";
import { say, TestServer } from "./harness/server.ts";

/** What the agent `mirror` got. */
async function mirrored(server: TestServer, body: object): Promise<Record<string, unknown>> {
  const last = lastOf(await (await server.open(body)).all());
  return JSON.parse(textsOf(last).join("")) as Record<string, unknown>;
}

test.each([
  ["an empty object", {}, "input"],
  ["an input that is no list", { input: "hello" }, "input"],
  ["a content that is no list", { input: [{ content: "hello" }] }, "input.0.content"],
  ["an unknown type of content", { input: [{ content: [{ type: "smell" }] }] }, "input.0.content.0.type"],
  ["an unknown role", { input: [{ role: "boss", content: [] }] }, "input.0.role"],
  ["an n out of range", { input: [], n: 9 }, "n"],
  ["an id with other letters", { input: [], id: "a/b" }, "id"],
  ["a body that is no object", [], "the body"],
  [
    "a broken data URL",
    { input: [{ content: [{ type: "image", image_url: "data:nothing" }] }] },
    "image_url",
  ],
  ["a text with NUL", say("a\u0000b"), "input"],
  ["an unknown dialect", say("a"), "dialect", "?dialect=cobol"],
  [
    "more files than a request can have",
    { input: [{ content: Array.from({ length: 101 }, () => ({ type: "file", file_data: "YQ==" })) }] },
    "input",
  ],
])("18: %s is 422, names the field, and asks no agent", async (_, body, field, query = "") => {
  await using server = await TestServer.start([agents.mirror]);
  const answer = await server.post(`/agentscope/process${query}`, body);
  expect(answer.status).toBe(422);
  expect(answer.headers.get("content-type")).toBe("application/json");
  const { error } = (await answer.json()) as {
    readonly error: { readonly code: string; readonly message: string };
  };
  expect(error.code).toBe("UNPROCESSABLE");
  expect(error.message).toContain(field);
  expect((await server.runtime.runs({ limit: 1 })).runs).toEqual([]);
});

test("18: all wrong fields are named at once", async () => {
  await using server = await TestServer.start([agents.mirror]);
  const answer = await server.post("/agentscope/process", {
    input: [{ role: "boss", content: 1 }],
    topP: "high",
  });
  const { error } = (await answer.json()) as {
    readonly error: { readonly errors: { readonly path: string }[] };
  };
  expect(error.errors.map(({ path }) => path).sort()).toEqual(["input.0.content", "input.0.role", "top_p"]);
});

test.each([
  ["no JSON", "{", {}, 400, "INVALID_REQUEST"],
  ["another media type", "a=b", { "content-type": "text/plain" }, 415, "UNSUPPORTED_MEDIA_TYPE"],
  ["a body over the limit", JSON.stringify(say("x".repeat(1_100_000))), {}, 413, "TOO_LARGE"],
  ["a text over the limit", JSON.stringify(say("x".repeat(300_000))), {}, 413, "TOO_LARGE"],
])("18: %s is refused with a JSON error", async (_, body, headers, status, code) => {
  await using server = await TestServer.start([agents.mirror]);
  const answer = await server.post("/agentscope/process", body, { headers });
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject({ error: { code, message: anyText } });
});

test("29: a request in either spelling is read on every mount", async () => {
  await using server = await TestServer.start([agents.mirror], { dialect: "java" });
  const java = {
    input: [{ role: "user", type: "MESSAGE", content: [{ type: "TEXT", text: "hello" }] }],
    sessionId: "s",
    userId: "u",
    topP: 0.5,
    frequencyPenalty: 1,
    maxTokens: 7,
  };
  const python = {
    input: [{ role: "user", type: "message", content: [{ type: "text", text: "hello" }] }],
    session_id: "s",
    user_id: "u",
    top_p: 0.5,
    frequency_penalty: 1,
    max_tokens: 7,
  };
  for (const path of ["/agentscope/process", "/agentscope/mirror/process", "/process"]) {
    const told = await Promise.all(
      [java, python].map(async (body, index) => {
        const own = { ...body, session_id: `s${index}`, stream: false };
        const answer = await server.post(`${path}?dialect=python`, own);
        return textsOf((await answer.json()) as never).join("");
      }),
    );
    expect(told[0]).toBe(told[1]);
    expect(JSON.parse(told[0] ?? "")).toMatchObject({
      input: "hello",
      metadata: { top_p: 0.5, frequency_penalty: 1, max_tokens: 7 },
    });
  }
});

test("what was said before, the system and the user reach the agent of a new session", async () => {
  await using server = await TestServer.start([agents.mirror]);
  const text = (role: string, ...texts: readonly string[]): object => ({
    role,
    type: "message",
    content: texts.map((said) => ({ type: "text", text: said })),
  });
  const broken = { type: "image", image_url: "data:image/png;base64,???" };
  const input = [
    text("system", "Be brief."),
    text("user", "one", "and more"),
    { role: "user", type: "message", content: [broken] },
    { role: "assistant", type: "reasoning", content: [{ type: "text", text: "hm" }] },
    text("assistant", "two"),
    text("system", "Be kind."),
    text("user", "three"),
  ];
  const ask = async (): Promise<unknown> => {
    const body = { input, session_id: "s", user_id: "ada", stream: false };
    const answer = await server.post("/agentscope/process", body);
    return JSON.parse(textsOf((await answer.json()) as never).join(""));
  };
  expect(await ask()).toEqual({
    input: "three",
    metadata: {
      user_id: "ada",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "one\nand more" },
        { role: "assistant", content: "two" },
        { role: "system", content: "Be kind." },
      ],
    },
    files: [],
  });
  // The log of the session has the rest.
  expect(await ask()).toMatchObject({ input: "three", metadata: { user_id: "ada" } });
  expect(await ask()).not.toHaveProperty("metadata.messages");
});

test("34: keys that the protocol does not have reach the agent, with parameters and tools", async () => {
  await using server = await TestServer.start([agents.mirror]);
  const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
  const more = { biz_params: { shopId: 7 }, temperature: 0.2, tools, session_id: "s", stream: true };
  expect((await mirrored(server, say("hello", more)))["metadata"]).toEqual({
    biz_params: { shopId: 7 },
    temperature: 0.2,
    tools,
  });
});

test("the text is that of the user's messages behind the last one of the assistant", async () => {
  await using server = await TestServer.start([agents.mirror]);
  const text = (role: string, said: string) => ({ role, content: [{ type: "text", text: said }] });
  const input = [
    text("user", "old"),
    text("assistant", "answer"),
    text("system", "rules"),
    text("user", "new"),
    { type: "anything", content: [{ type: "text", text: "er" }] },
    { role: "user", content: null },
  ];
  expect((await mirrored(server, { input }))["input"]).toBe("new\ner");
  expect((await mirrored(server, { input: [] }))["input"]).toBe("");
});

test("files inside a request and uploaded ones are attachments; other addresses are only told", async () => {
  await using server = await TestServer.start([agents.mirror]);
  const upload = await fetch(`${server.url}/artifacts?name=up.txt`, {
    method: "POST",
    headers: { "content-type": "text/plain" },
    body: "up",
  });
  const { artifact_id: fileId } = (await upload.json()) as { artifact_id: string };
  const far = { type: "image", image_url: "https://example.invalid/a.png" };
  const base64 = Buffer.from("mp3").toString("base64");
  const content = [
    { type: "text", text: "see" },
    { type: "image", image_url: "data:image/png;base64,cG5n" },
    { type: "audio", data: base64, format: "mp3" },
    { type: "file", file_name: "note.txt", file_data: "data:text/plain,a%20b" },
    { type: "file", file_id: fileId },
    far,
    { type: "data", data: { a: 1 } },
  ];
  const told = await mirrored(server, { input: [{ content }] });
  expect(told["input"]).toBe("see");
  expect(told["metadata"]).toEqual({ content: [far, { type: "data", data: { a: 1 } }] });
  expect(told["files"]).toEqual(
    expect.arrayContaining([
      { name: "up.txt", type: "text/plain", text: "up" },
      { name: "image.png", type: "image/png", text: "png" },
      { name: "audio.mp3", type: "audio/mp3", text: "mp3" },
      { name: "note.txt", type: "text/plain", text: "a b" },
    ]),
  );
  const unknown = await server.post("/agentscope/process", {
    input: [{ content: [{ type: "file", file_id: "nothing" }] }],
  });
  expect([404, 422]).toContain(unknown.status);
});

test("a request at the root with the type or operation of a native one is native, also if its input is a list", async () => {
  const adder = defineAgent({
    name: "adder",
    purpose: "Adds numbers.",
    operations: {
      sum: operation({ input: z.array(z.number()), run: (all) => all.reduce((a, b) => a + b, 0) }),
    },
  });
  await using server = await TestServer.start([adder]);
  for (const type of [{ type: "OperationRequest" }, {}]) {
    const body = { ...type, operation: "sum", input: [1, 2] };
    const answer = await server.post("/process?wait=completed", body);
    expect(await answer.json()).toMatchObject({ type: "RequestCompleted", output: 3 });
  }
  const chat = await server.post("/process", { type: "ChatRequest", input: [] });
  expect(await chat.json()).toHaveProperty("detail");
});

test.each([
  [{ input: [7] }],
  [{ input: [1, 2, 3], session_id: "s1" }],
  [{ input: ["hello"] }],
  [{ input: [{ name: "bob" }] }],
  [{ input: [{ content: [] }, 7] }],
  [{ input: [] }],
  [{ input: [], request_metadata: {} }],
])(
  "the list in %j at the root has no messages, so it belongs to no protocol and is refused",
  async (body) => {
    await using server = await TestServer.start([echo]);
    const answer = await server.post("/process", body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      code: "invalid_request",
      errors: [{ path: "input", message: expect.stringContaining("string") as string }],
    });
    expect((await server.runtime.runs({ limit: 1 })).runs).toEqual([]);
  },
);

test.each([
  [{ input: [], session_id: "s1" }],
  [{ input: [], userId: "ada" }],
  [{ input: [{ role: "user", content: [] }] }],
  [{ input: [{ content: [{ type: "text", text: "hello" }] }] }],
])("the request %j at the root has what only this protocol has", async (body) => {
  await using server = await TestServer.start([echo]);
  const answer = await server.post("/process", { ...body, stream: false });
  expect(await answer.json()).toMatchObject({ object: "response" });
});

test("a request with a text at the root is native, one with messages is ours, refusals too", async () => {
  await using server = await TestServer.start([echo]);
  const native = await server.post("/process?wait=completed", { input: "hello" });
  expect(await native.json()).toMatchObject({ type: "RequestCompleted", result: "hello" });
  expect(lastOf(await (await server.open(say("hello"), "/process")).all()).status).toBe("completed");
  expect(await (await server.post("/process", { input: [{ role: "nobody" }] })).json()).toMatchObject({
    error: { code: "UNPROCESSABLE" },
  });
  expect((await (await server.post("/process", {})).json()) as object).toHaveProperty("detail");

  await using other = await TestServer.start([echo], { root: false });
  expect((await other.post("/process", say("hello"))).status).toBe(400);
  expect((await other.get("/health")).status).toBe(404);
  expect((await other.open(say("hello"))).response.status).toBe(200);
});
