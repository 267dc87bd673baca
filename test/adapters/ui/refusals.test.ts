import { createRuntime } from "troupe";
import { ui } from "troupe/adapters/ui";
import { createApp } from "troupe/http";
import fc from "fast-check";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { UiServer } from "./harness/server.ts";

const PATHS = [
  ["POST", "/ui/echo"],
  ["GET", "/ui/echo/chat-1/stream"],
  ["POST", "/ui/echo/chat-1/stop"],
] as const;

const message = { id: "1", role: "user", parts: [{ type: "text", text: "hi" }] };
const body = { id: "chat-1", messages: [message] };

test("what is malformed, too large, unknown or too much is refused in a text that a page can show", async () => {
  await using server = await UiServer.start([echo], { serve: { bodyLimitBytes: 2_000 } });
  const refused = async (path: string, given: unknown, headers = {}): Promise<readonly [number, string]> => {
    const answer = await server.post(path, given, headers);
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    return [answer.status, (await answer.text()).trim()];
  };
  expect(await refused("/ui/echo", "{")).toEqual([400, "the body is not JSON"]);
  expect(await refused("/ui/echo", body, { "content-type": "text/plain" })).toMatchObject([415, /JSON|json/]);
  expect(await refused("/ui/echo", [])).toMatchObject([422, expect.stringContaining("must be") as string]);
  expect(await refused("/ui/echo", { messages: [] })).toEqual([422, "id is required"]);
  expect(await refused("/ui/echo", { id: "a", messages: [] })).toEqual([422, "messages must have a message"]);
  const wrong = { id: "a", messages: [{ ...message, parts: [{ type: "text", text: 1 }] }] };
  expect(await refused("/ui/echo", wrong)).toEqual([422, "parts.0.text must be a string"]);
  const system = { id: "a", messages: [{ ...message, role: "system" }] };
  expect((await refused("/ui/echo", system))[0]).toBe(422);
  const silent = { id: "a", messages: [message, { id: "2", role: "assistant", parts: [] }] };
  expect((await refused("/ui/echo", silent))[1]).toContain("answers no question");
  expect((await refused("/ui/echo", { ...body, more: "x".repeat(2_000) }))[0]).toBe(413);
  expect((await refused("/ui/nobody", body))[0]).toBe(404);
  expect((await refused("/ui/echo/chat-1", body))[0]).toBe(404);
  const wrongMethod = await fetch(`${server.url}/ui/echo`, { method: "DELETE" });
  expect([wrongMethod.status, wrongMethod.headers.get("allow")]).toEqual([
    405,
    expect.stringContaining("POST"),
  ]);
});

test("each route refuses who has no token, and pages of foreign origins; those of an allowed one read the header of the stream", async () => {
  const page = "https://page.example";
  await using server = await UiServer.start([echo], {
    serve: { token: "the-token-of-the-server", allowedOrigins: [page] },
  });
  for (const [method, path] of PATHS) {
    const ask = (headers: Record<string, string>): Promise<Response> =>
      fetch(server.url + path, {
        method,
        headers: { ...headers, "content-type": "application/json" },
        ...(method === "POST" && { body: JSON.stringify(body) }),
      });
    const nobody = await ask({});
    expect([nobody.status, (await nobody.text()).trim()]).toEqual([
      401,
      "the request has no token; send it as Authorization: Bearer TOKEN",
    ]);
    const authorization = "Bearer the-token-of-the-server";
    const foreign = await ask({ authorization, origin: "https://evil.example" });
    expect([foreign.status, foreign.headers.get("content-type")]).toEqual([403, "text/plain; charset=utf-8"]);
    const allowed = await ask({ authorization, origin: page });
    expect(allowed.status).toBeLessThan(300);
    expect(allowed.headers.get("access-control-allow-origin")).toBe(page);
    expect(allowed.headers.get("access-control-expose-headers")).toContain("x-vercel-ai-ui-message-stream");
    await allowed.body?.cancel();
  }
  const chat = server.chat("echo", "chat-2", { authorization: "Bearer the-token-of-the-server" });
  await chat.say("hello");
});

/** Bodies of which some parts are as they should be. */
const bodies = fc.oneof(
  fc.json(),
  fc.string(),
  fc
    .record(
      {
        id: fc.oneof(fc.string(), fc.constant("chat-1"), fc.jsonValue()),
        messages: fc.oneof(
          fc.jsonValue(),
          fc.array(
            fc.record({
              id: fc.oneof(fc.string(), fc.jsonValue()),
              role: fc.constantFrom("user", "assistant", "system", "tool"),
              parts: fc.array(
                fc.oneof(
                  fc.jsonValue(),
                  fc.record({ type: fc.constant("text"), text: fc.oneof(fc.string(), fc.jsonValue()) }),
                  fc.record({
                    type: fc.constant("file"),
                    url: fc.oneof(fc.string(), fc.constant("data:,%"), fc.constant("data:a/b;base64,!")),
                  }),
                  fc.record({
                    type: fc.constant("dynamic-tool"),
                    toolCallId: fc.constantFrom("wait_2", "wait_3", "other"),
                    state: fc.constantFrom("approval-responded", "output-available", "output-error"),
                    approval: fc.oneof(fc.jsonValue(), fc.record({ approved: fc.boolean() })),
                    output: fc.jsonValue(),
                  }),
                ),
                { maxLength: 3 },
              ),
            }),
            { maxLength: 3 },
          ),
        ),
        trigger: fc.oneof(fc.constantFrom("submit-message", "regenerate-message"), fc.jsonValue()),
        messageId: fc.oneof(fc.string(), fc.jsonValue()),
      },
      { requiredKeys: [] },
    )
    .map((value) => JSON.stringify(value)),
);

const CASES = Number(process.env["WIRE_BODIES"] ?? 1_000);

test(`of ${CASES} requests with random bodies, none is answered with 500`, async () => {
  const runtime = createRuntime({ agents: [payments, echo] });
  await runtime.ready();
  const app = createApp(runtime, { adapters: [ui()] });
  const asked = { id: "chat-1", messages: [{ ...message, parts: [{ type: "text", text: "pay 3 to bob" }] }] };
  const headers = { "content-type": "application/json" };
  const post = (path: string, text: string): Promise<Response> =>
    Promise.resolve(app.request(path, { method: "POST", headers, body: text }));
  await (await post("/ui/payments", JSON.stringify(asked))).text();
  await fc.assert(
    fc.asyncProperty(
      bodies,
      fc.constantFrom("/ui/payments", "/ui/payments/chat-1/stop", "/ui/echo"),
      async (text, path) => {
        const answer = await post(path, text);
        expect(answer.status).toBeLessThan(500);
        await answer.body?.cancel();
      },
    ),
    { numRuns: CASES },
  );
  await runtime.close();
});
