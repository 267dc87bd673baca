import fc from "fast-check";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { payments } from "../../../agents/payments.ts";
import { returning, thrower } from "../agentscope/harness/agents.ts";
import { OpenAiServer } from "./server.ts";
import { runsLong } from "../../machine/long.ts";

const messages = [{ role: "user", content: "hi" }] as const;
const chat = { model: "returning", messages };

/** The error of an answer, in the shape that the client of the protocol reads. */
async function errorOf(answer: Response): Promise<object> {
  const { error } = (await answer.json()) as { readonly error: object };
  expect(Object.keys(error).sort()).toEqual(["code", "message", "param", "type"]);
  return { status: answer.status, ...error };
}

test("a parameter that no agent can honor is named", async () => {
  await using server = await OpenAiServer.start([returning]);
  const wrong: readonly (readonly [string, object])[] = [
    ["n", { n: 2 }],
    ["logprobs", { logprobs: true }],
    ["audio", { audio: { format: "wav", voice: "alloy" } }],
    ["modalities", { modalities: ["audio"] }],
    ["response_format", { response_format: { type: "json_object" } }],
    ["functions", { functions: [] }],
    ["messages", { messages: [] }],
    ["messages.0.role", { messages: [{ role: "assistant", content: "x" }] }],
    ["messages.0.content", { messages: [{ role: "user", content: 3 }] }],
    ["messages.0.content.0.type", { messages: [{ role: "user", content: [{ type: "smell" }] }] }],
    ["model", { model: 1 }],
    ["metadata.run_id", { metadata: { run_id: "/" } }],
  ];
  for (const [param, fields] of wrong) {
    const answer = await server.post("/v1/chat/completions", { ...chat, ...fields });
    expect(await errorOf(answer)).toMatchObject({ status: 400, param, type: "invalid_request_error" });
  }
  expect((await server.runtime.runs({ limit: 1 })).runs).toEqual([]);
});

test("everything under its paths is refused in its words", async () => {
  await using server = await OpenAiServer.start([returning, thrower, payments], {
    serve: { token: "a-token-of-enough-characters" },
  });
  const authorization = "Bearer a-token-of-enough-characters";
  await expect(server.client.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  await expect(server.client.models.list()).rejects.toMatchObject({ code: "invalid_api_key" });
  const get = (path: string, headers: object = {}): Promise<Response> =>
    fetch(server.url + path, { headers: { authorization, ...headers } });
  expect(await errorOf(await get("/v1/images"))).toMatchObject({ status: 404 });
  expect(await errorOf(await get("/v1/chat/completions"))).toMatchObject({ status: 405 });
  expect(await errorOf(await get("/v1/models", { origin: "https://evil.example" }))).toMatchObject({
    status: 403,
  });
  const post = (body: unknown, headers = {}): Promise<Response> =>
    server.post("/v1/chat/completions", body, { authorization, ...headers });
  expect(await errorOf(await post("{"))).toMatchObject({ status: 400 });
  expect(await errorOf(await post({ ...chat, model: "nobody" }))).toMatchObject({
    status: 404,
    code: "model_not_found",
    param: "model",
  });
  expect(await errorOf(await post({ ...chat, metadata: { run_id: "run_none" } }))).toMatchObject({
    status: 404,
  });
  expect(await errorOf(await post(`"${"x".repeat(5_000_000)}"`))).toMatchObject({ status: 413 });
  const other = await post({ ...chat, model: "thrower" });
  const { error } = (await other.json()) as { readonly error: { readonly message: string } };
  expect(error.message).not.toContain("src/");
  const mine = await post(chat);
  expect(
    await errorOf(await post({ ...chat, model: "thrower" }, { "x-run-id": mine.headers.get("x-run-id") })),
  ).toMatchObject({
    status: 400,
    param: "model",
  });
});

const BODIES = Number(process.env["WIRE_BODIES"] ?? (runsLong ? 300 : 30));

test("no body causes a fault", { timeout: 300_000 + BODIES * 60 }, async () => {
  await using server = await OpenAiServer.start([returning]);
  const noise = fc.oneof(fc.jsonValue(), fc.string());
  const part = fc.record(
    {
      type: fc.constantFrom(
        "text",
        "image_url",
        "input_image",
        "input_audio",
        "file",
        "input_file",
        "refusal",
        "x",
      ),
      text: noise,
      image_url: noise,
      input_audio: fc.oneof(noise, fc.record({ data: noise, format: noise })),
      file: fc.oneof(noise, fc.record({ file_data: noise, file_id: noise, filename: noise })),
      file_url: noise,
    },
    { requiredKeys: ["type"] },
  );
  const message = fc.record({
    role: fc.constantFrom("user", "assistant", "system", "tool", "x"),
    content: fc.oneof(noise, fc.array(fc.oneof(part, noise), { maxLength: 3 })),
  });
  const body = fc.record(
    {
      model: fc.oneof({ weight: 5, arbitrary: fc.constant("returning") }, noise),
      messages: fc.oneof({ weight: 5, arbitrary: fc.array(message, { maxLength: 4 }) }, noise),
      metadata: noise,
      stream: fc.oneof(fc.boolean(), noise),
      stream_options: noise,
      response_format: noise,
      temperature: noise,
    },
    { requiredKeys: ["model", "messages"] },
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 9, arbitrary: body }, noise), async (given) => {
      const answer = await server.post("/v1/chat/completions", JSON.stringify(given));
      const text = await answer.text();
      expect({ text, isFault: answer.status >= 500 }).toEqual({ text, isFault: false });
    }),
    { numRuns: BODIES },
  );
});
