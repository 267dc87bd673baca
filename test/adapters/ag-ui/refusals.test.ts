import fc from "fast-check";
import { expect, test } from "vitest";
import type { Principal } from "troupe";
import { interviewer } from "../../../agents/interviewer.ts";
import { notebook } from "../../../agents/notebook.ts";
import { returning } from "../agentscope/harness/agents.ts";
import { AgUiServer, parseFrames } from "./server.ts";
import type { Thread } from "./server.ts";
import { runsLong } from "../../machine/long.ts";

const input = { threadId: "t", runId: "r", messages: [{ id: "1", role: "user", content: "hi" }] };

/** The status of a refusal, which is an event of the protocol. */
async function refusalOf(answer: Response): Promise<object> {
  const [event] = parseFrames(`data: ${(await answer.text()).trim()}\n\n`);
  expect(event?.type).toBe("RUN_ERROR");
  return { ...event, status: answer.status };
}

test("everything under its paths is refused in its words", async () => {
  const token = "a-token-of-enough-characters";
  await using server = await AgUiServer.start([returning], { serve: { token } });
  const own = { authorization: `Bearer ${token}` };
  const paths = ["/ag-ui", "/ag-ui/returning/t", "/ag-ui/nobody"];
  for (const path of paths) {
    expect(await refusalOf(await fetch(server.url + path))).toMatchObject({ status: 401 });
    const foreign = { headers: { ...own, origin: "https://evil.example" } };
    expect(await refusalOf(await fetch(server.url + path, foreign))).toMatchObject({ status: 403 });
  }
  const post = (body: unknown, headers = {}, path = "/ag-ui/returning"): Promise<Response> =>
    server.post(path, body, { ...own, ...headers });
  for (const path of ["/ag-ui/returning", "/ag-ui/returning/t/stop"]) {
    expect(await refusalOf(await server.post(path, input))).toMatchObject({ status: 401 });
    expect(await refusalOf(await post(input, { origin: "https://evil.example" }, path))).toMatchObject({
      status: 403,
    });
    expect(await refusalOf(await fetch(server.url + path, { method: "PUT", headers: own }))).toMatchObject({
      status: 405,
    });
  }
  expect(await refusalOf(await post(input, {}, "/ag-ui/nobody"))).toMatchObject({ status: 404 });
  expect(await refusalOf(await fetch(`${server.url}/ag-ui/returning/t/x/y`, { headers: own }))).toMatchObject(
    { status: 404 },
  );
  expect(await refusalOf(await post("{"))).toMatchObject({ status: 400 });
  expect(await refusalOf(await post(`"${"x".repeat(5_000_000)}"`))).toMatchObject({ status: 413 });
  expect((await server.runtime.runs({ limit: 1 })).runs).toEqual([]);
  expect(await refusalOf(await post(input, { accept: "image/png" }))).toMatchObject({
    status: 406,
    code: "not_acceptable",
  });
  expect((await post(input)).status).toBe(200);
  expect(
    await refusalOf(
      await post({ ...input, runId: "r", messages: [{ id: "1", role: "user", content: "other" }] }),
    ),
  ).toMatchObject({
    status: 409,
  });
});

test("each owner has threads of its own, and a user gets the memory of its own agent", async () => {
  const authenticate = ({ headers }: Request): Principal => {
    const [, name = ""] = headers.get("authorization")?.split(" ") ?? [];
    return { id: name, owner: name, roles: ["user"] };
  };
  await using server = await AgUiServer.start([notebook], {
    options: { state: true },
    serve: { authenticate },
  });
  const threadOf = (name: string): Thread =>
    server.thread("notebook", "list", { authorization: `Bearer ${name}` });
  const [ann, bob] = [threadOf("ann"), threadOf("bob")];
  await ann.say("milk", { runId: "run-1" });
  await bob.say("tea", { runId: "run-1" });
  await ann.say("bread");
  expect(ann.client.state).toEqual(["milk", "bread"]);
  expect(bob.client.state).toEqual(["tea"]);
  expect(await bob.reread("", { authorization: "Bearer bob" })).not.toContain("milk");
});

test("a wrong field is named", async () => {
  await using server = await AgUiServer.start([returning]);
  const wrong: readonly (readonly [string, object])[] = [
    ["threadId", { threadId: 3 }],
    ["runId", { runId: "" }],
    ["messages", { messages: [] }],
    ["messages", { messages: "hi" }],
    ["messages.0.role", { messages: [{ role: "nobody" }] }],
    ["messages.0.content", { messages: [{ role: "user", content: 7 }] }],
    ["messages.0.content.0.source.value", { messages: [{ role: "user", content: [{ type: "image" }] }] }],
    ["tools.0.name", { tools: [{}] }],
    ["context.0.value", { context: [{ description: "x" }] }],
    ["resume.0.status", { resume: [{ interruptId: "x", status: "perhaps" }] }],
  ];
  for (const [field, fields] of wrong) {
    const refusal = await refusalOf(await server.post("/ag-ui/returning", { ...input, ...fields }));
    expect(refusal).toMatchObject({ status: 422, message: expect.stringContaining(field) as string });
  }
  expect((await server.runtime.runs({ limit: 1 })).runs).toEqual([]);
});

/** How many bodies the random test sends. */
const CASES = Number(process.env["WIRE_BODIES"] ?? (runsLong ? 1_000 : 50));

test("no body causes a fault", { timeout: 300_000 + CASES * 60 }, async () => {
  await using server = await AgUiServer.start([returning, interviewer]);
  const noise = fc.oneof(fc.jsonValue(), fc.string());
  const source = fc.record(
    { type: fc.constantFrom("data", "url", "file"), value: noise, mimeType: noise },
    { requiredKeys: [] },
  );
  const part = fc.record(
    {
      type: fc.constantFrom("text", "image", "audio", "video", "document", "binary"),
      text: noise,
      source: fc.oneof(source, noise),
      metadata: noise,
    },
    { requiredKeys: ["type"] },
  );
  const message = fc.record(
    {
      id: fc.string(),
      role: fc.constantFrom("user", "assistant", "system", "developer", "tool", "activity", "reasoning", "x"),
      content: fc.oneof(fc.string(), fc.array(fc.oneof(part, noise), { maxLength: 3 }), noise),
      toolCallId: fc.oneof(fc.constantFrom("r~1", "r~2"), noise),
      error: noise,
    },
    { requiredKeys: ["role"] },
  );
  const tool = fc.record(
    { name: fc.oneof(fc.constant("clock"), noise), description: noise, parameters: noise },
    { requiredKeys: ["name"] },
  );
  const entry = fc.record({
    interruptId: fc.oneof(fc.constantFrom("r~2", "r~3", "r~4"), noise),
    status: fc.constantFrom("resolved", "cancelled"),
    payload: noise,
  });
  const body = fc.record(
    {
      threadId: fc.oneof({ weight: 5, arbitrary: fc.constantFrom("t", "u", "день", "v/1") }, noise),
      runId: fc.oneof({ weight: 5, arbitrary: fc.oneof(fc.constant("r"), fc.uuid()) }, noise),
      messages: fc.oneof({ weight: 5, arbitrary: fc.array(message, { maxLength: 4 }) }, noise),
      state: noise,
      tools: fc.oneof(fc.array(tool, { maxLength: 2 }), noise),
      context: noise,
      forwardedProps: noise,
      resume: fc.oneof(fc.array(entry, { maxLength: 2 }), noise),
    },
    { requiredKeys: ["threadId", "runId", "messages"] },
  );
  const agent = fc.constantFrom("returning", "interviewer");
  await fc.assert(
    fc.asyncProperty(agent, fc.oneof({ weight: 9, arbitrary: body }, noise), async (name, given) => {
      const answer = await server.post(`/ag-ui/${name}`, JSON.stringify(given));
      const text = await answer.text();
      expect({ text, isFault: answer.status >= 500 }).toEqual({ text, isFault: false });
      const [first] = answer.status === 200 ? parseFrames(text) : [];
      expect(first?.type ?? "RUN_STARTED").toBe("RUN_STARTED");
    }),
    { numRuns: CASES },
  );
});
