import { createRuntime, defineAgent } from "troupe";
import type { Agent, Runtime } from "troupe";
import type { Event, RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { calculator } from "../../../agents/calculator.ts";
import { payments } from "../../../agents/payments.ts";
import { aipAgent, aipToolbox } from "../../../src/adapters/aip/index.ts";
import { copier, speaker, worker } from "./peers/agents.ts";
import { reply, startNode } from "./peers/node.ts";
import { start } from "./peers/start.ts";

/** A runtime with an agent that calls another one, and reports how the call ended. */
function startNear(far: Agent, call = "chat", more: Partial<Parameters<typeof createRuntime>[0]> = {}) {
  const boss = defineAgent({
    name: "boss",
    purpose: "Has others work.",
    tools: [far],
    async chat(input, turn) {
      const asked = call === "chat" ? { input } : (JSON.parse(input) as object);
      const answer = (await turn.call(far as Agent<never>, call as never, asked as never)) as unknown;
      await turn.text(`got ${JSON.stringify(answer)}`);
    },
  });
  const runtime = createRuntime({ agents: [boss, far], ...more });
  return { runtime, [Symbol.asyncDispose]: () => runtime.close() };
}

interface Asked {
  readonly requestId: RequestId;
  readonly events: readonly Event[];
  readonly end: Event | undefined;
}

/** Asks the agent and returns all events of the request, until it is completed or waits. */
async function ask(
  runtime: Runtime,
  input: string,
  { agent = "boss", attachments }: { readonly agent?: string; readonly attachments?: readonly string[] } = {},
): Promise<Asked> {
  const request = { type: "ChatRequest", input, ...(attachments && { attachments }) } as const;
  const { requestId } = await runtime.process(agent, request);
  return eventsOf(runtime, requestId);
}

async function eventsOf(runtime: Runtime, requestId: RequestId): Promise<Asked> {
  const address = await runtime.resolve(requestId);
  const feed = await runtime.follow(address, { after: 0, filter: { level: "all" } });
  const events: Event[] = [];
  for await (const page of feed.pages) events.push(...page.events.map((text) => JSON.parse(text) as Event));
  return { requestId, events, end: events.at(-1) };
}

function textsOf({ events }: Asked): readonly string[] {
  return events.flatMap((event) => (event.type === "TextOutput" ? `${event.agent}: ${event.content}` : []));
}

test.each(["gateway", "address"] as const)(
  "a call of a far agent by its %s is a session with one quest",
  async (by) => {
    await using there = await start([speaker], { stream: by === "address" });
    await using here = startNear(aipAgent({ [by]: there.gateway.address, id: "speaker", name: "far" }));
    const asked = await ask(here.runtime, "one two");
    expect(textsOf(asked)).toEqual(
      by === "address"
        ? ["far: one", "far: two", 'boss: got {"output":"onetwo"}']
        : ["far: onetwo", 'boss: got {"output":"onetwo"}'],
    );
    expect(asked.events.map(({ type }) => type)).toContain("ToolResult");
    expect(asked.end).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
    const { runs } = await there.runtime.runs({ agent: "speaker", limit: 10 });
    expect(runs).toMatchObject([{ turns: 1, status: "idle" }]);
  },
);

test("a far agent is described by its gateway, and can be asked directly", async () => {
  await using there = await start([speaker]);
  const far = aipAgent({ gateway: there.gateway.address, id: "speaker" });
  await using here = startNear(far);
  await far.remote?.ready();
  expect(here.runtime.describe("speaker").purpose).toBe("Speaks.");
  const asked = await ask(here.runtime, "hello", { agent: "speaker" });
  expect(asked.end).toMatchObject({ finish_reason: "success", result: "hello" });
});

test("26 a question of a far agent is asked here, and its answer goes there", async () => {
  await using there = await start([payments]);
  await using here = startNear(aipAgent({ gateway: there.gateway.address, id: "payments" }));
  const first = await ask(here.runtime, "pay 30 to bob");
  expect(first.end).toMatchObject({
    type: "WaitForInput",
    agent: "payments",
    depth: 1,
    request_keys: { answer: "Pay 30 to bob?" },
  });
  const resume = (answer: unknown) =>
    here.runtime.process("boss", {
      type: "ResumeWithInput",
      request_id: first.requestId,
      request_keys: { answer } as never,
    });
  await expect(resume(7)).rejects.toMatchObject({ code: "unprocessable" });
  await resume("yes");
  const asked = await eventsOf(here.runtime, first.requestId);
  expect(textsOf(asked)).toEqual(["payments: Paid 30 to bob.", 'boss: got {"output":"Paid 30 to bob."}']);
  expect(asked.end).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
});

test("26 an answer that the far agent does not understand is asked for again", async () => {
  await using there = await start([payments]);
  await using here = startNear(aipAgent({ gateway: there.gateway.address, id: "payments" }));
  const first = await ask(here.runtime, "pay 30 to bob");
  for (const [answer, end] of [
    ["perhaps", "WaitForInput"],
    ["no", "RequestCompleted"],
  ] as const) {
    await here.runtime.process("boss", {
      type: "ResumeWithInput",
      request_id: first.requestId,
      request_keys: { answer },
    });
    expect((await eventsOf(here.runtime, first.requestId)).end).toMatchObject({ type: end });
  }
  expect(textsOf(await eventsOf(here.runtime, first.requestId))).toContain("payments: declined");
});

test("21 files go to a far agent and come back", async () => {
  await using there = await start([copier]);
  const far = aipAgent({ gateway: there.gateway.address, id: "copier" });
  await using here = startNear(far);
  const png = Buffer.from("89504e470d0a1a0a00ff", "hex");
  const { artifactId } = await here.runtime.upload({
    name: "a.png",
    mimeType: "image/png",
    limitBytes: 100,
    body: (async function* () {
      yield png;
    })(),
  });
  const asked = await ask(here.runtime, "copy", { agent: "copier", attachments: [artifactId] });
  expect(asked.end).toMatchObject({ result: "copy: image/png" });
  const file = asked.events.find(({ type }) => type === "ArtifactGenerated") as {
    readonly artifact_id: string;
  };
  const { info, body } = await here.runtime.artifact(file.artifact_id);
  expect(info.mimeType).toBe("image/png");
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  expect(Buffer.concat(chunks)).toEqual(png);
});

test("a far agent that fails, is unknown or cannot be reached ends only the call", async () => {
  await using there = await start([worker]);
  const cases: readonly (readonly [Agent, string])[] = [
    [aipAgent({ gateway: there.gateway.address, id: "worker" }), "agent worker failed: "],
    [aipAgent({ gateway: there.gateway.address, id: "nobody" }), "refused the call: Receiver not found"],
    [
      aipAgent({ address: "127.0.0.1:1", id: "dead" }),
      "could not be called: 127.0.0.1:1 refuses connections",
    ],
  ];
  for (const [far, message] of cases) {
    await using here = startNear(far);
    const asked = await ask(here.runtime, "fail");
    expect(asked.end).toMatchObject({ finish_reason: "error" });
    expect(asked.events.find(({ type }) => type === "ToolError")).toMatchObject({
      code: "tool_error",
      content: expect.stringContaining(message) as string,
    });
  }
});

test("a far agent that dies in a call interrupts it", async () => {
  await using node = await startNode({
    session(call) {
      call.on("data", (message: Parameters<typeof reply>[1]) => {
        reply(call, message, { task_info: { task_id: "", task_status: 1 }, content: [{ text: "begun" }] });
      });
    },
  });
  await using here = startNear(aipAgent({ address: node.address, id: "far" }));
  const { requestId } = await here.runtime.process("boss", { type: "ChatRequest", input: "go" });
  await expect
    .poll(async () =>
      (await here.runtime.read(await here.runtime.resolve(requestId), { after: 0 })).events.join(),
    )
    .toContain("begun");
  node.kill();
  const asked = await eventsOf(here.runtime, requestId);
  expect(asked.events.find(({ type }) => type === "ToolError")).toMatchObject({ code: "interrupted" });
});

test("agents of other makers: answers without a task, in several messages, or in the last one", async () => {
  const task = (status: number) => ({ task_info: { task_id: "", task_status: status } });
  await using node = await startNode({
    session(call) {
      call.on("data", (message: Parameters<typeof reply>[1]) => {
        const text = message.content.map(({ text }) => text).join("");
        if (message.session_status === 3) {
          reply(call, message, { content: [{ text: " and more" }] });
          reply(call, message, { session_status: 4, content: [{ text: "bye" }] });
          call.end();
        } else if (text === "parts") {
          reply(call, message, { ...task(1), content: [{ text: "a" }] });
          reply(call, message, { ...task(1), content: [{ text: "b" }] });
          reply(call, message, task(4));
        } else if (text === "at once") {
          reply(call, message, { session_status: 4, content: [{ text: "only" }] });
          call.end();
        } else if (text === "nothing") call.end();
        else reply(call, message, { content: [{ text: "plain" }] });
      });
    },
  });
  await using here = startNear(aipAgent({ address: node.address, id: "far" }));
  const results = new Map([
    ["parts", "ab and more"],
    ["at once", "only"],
    ["other", "plain and more"],
  ]);
  for (const [input, output] of results)
    expect(textsOf(await ask(here.runtime, input)).at(-1)).toBe(`boss: got ${JSON.stringify({ output })}`);
  expect((await ask(here.runtime, "nothing")).end).toMatchObject({ finish_reason: "error" });
  await expect.poll(() => node.ends.length).toBe(4);
  expect(node.ends).toEqual(["ended", "ended", "ended", "ended"]);
});

test("22 a cancel here cancels the session there", async () => {
  await using there = await start([worker]);
  await using here = startNear(aipAgent({ gateway: there.gateway.address, id: "worker" }));
  const { requestId } = await here.runtime.process("boss", { type: "ChatRequest", input: "work" });
  const phases = async () =>
    (await there.runtime.runs({ agent: "worker", limit: 1 })).runs.map(({ status }) => status);
  await expect.poll(phases).toEqual(["running"]);
  await here.runtime.process("boss", { type: "CancelRequest", request_id: requestId });
  expect((await eventsOf(here.runtime, requestId)).end).toMatchObject({ finish_reason: "canceled" });
  await expect.poll(phases).toEqual(["idle"]);
});

test.each(["gateway", "address"] as const)(
  "20 the tools of a far toolbox by its %s are operations",
  async (by) => {
    await using there = await start([worker, calculator]);
    const tools = aipToolbox({ [by]: there.gateway.address, id: "troupe", name: "tools" });
    await using here = startNear(tools, "worker.add");
    const asked = await ask(here.runtime, '{"a":2,"b":3}');
    expect(asked.events.find(({ type }) => type === "ToolCall")).toMatchObject({
      function_name: "tools.worker.add",
      args: { a: 2, b: 3 },
    });
    expect(textsOf(asked)).toEqual(['boss: got {"sum":5}']);
    const failed = await ask(here.runtime, '{"a":2}');
    expect(failed.events.find(({ type }) => type === "ToolError")).toMatchObject({ code: "tool_error" });
  },
);

test("20 a gateway tells the tools of a toolbox with their arguments", async () => {
  await using there = await start([calculator]);
  await using node = await startNode();
  await there.client.call("RegisterTool", "ToolBoxInfo", "RegisterToolResponse", node.toolbox("math-tools"));
  const tools = aipToolbox({ gateway: there.gateway.address, id: "math-tools" });
  await using here = startNear(tools, "add");
  await tools.remote?.ready();
  expect(here.runtime.describe("math-tools").operations).toContainEqual({
    name: "add",
    description: "Adds.",
    input_schema: {
      type: "object",
      properties: { a: { type: "integer" }, b: { type: "integer" } },
      required: ["a", "b"],
    },
  });
  expect(textsOf(await ask(here.runtime, '{"a":2,"b":3}'))).toEqual(['boss: got "5"']);
});

test.each([
  [{ id: "x" }, "needs a gateway or an address"],
  [{ id: "x", gateway: "127.0.0.1:1", address: "127.0.0.1:1" }, "needs a gateway or an address"],
  [{ id: "x", gateway: "nowhere" }, "must be HOST:PORT"],
  [{ id: "Not A Name", gateway: "127.0.0.1:1" }, "is not a valid agent name"],
])("a far agent is refused: %j", (options, message) => {
  expect(() => aipAgent(options)).toThrow(message);
});
