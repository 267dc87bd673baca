import OpenAI from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { defineAgent, defineTool } from "troupe";
import type { Agent } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { calculator } from "../../../agents/calculator.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { payments } from "../../../agents/payments.ts";
import {
  forecaster,
  form,
  gatedAgent,
  mirror,
  returning,
  thinker,
  thrower,
} from "../agentscope/harness/agents.ts";
import { Gates } from "../gates.ts";
import { OpenAiServer } from "./server.ts";

/** Says "one ", then has a tool wait until the gate `go` opens, also after a restart, then says "two". */
function patient(gates: Gates): Agent {
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    input: z.object({}),
    effect: "idempotent",
    run: (_input, { signal }) =>
      Promise.race([
        gates.get("go").promise,
        new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => resolve());
        }),
      ]),
  });
  return defineAgent({
    name: "patient",
    purpose: "Stops in the middle of its text.",
    tools: [wait],
    async chat(_input, turn) {
      await turn.text("one ");
      await turn.tool(wait, {});
      await turn.text("two");
    },
  });
}

/** The events of a stored response after one of them. */
async function replay(client: OpenAI, id: string, after?: number): Promise<readonly ResponseStreamEvent[]> {
  const query = { stream: true as const, ...(after !== undefined && { starting_after: after }) };
  const events: ResponseStreamEvent[] = [];
  for await (const event of await client.responses.retrieve(id, query)) events.push(event);
  return events;
}

/** Checks that every item is opened and closed once, and is in the output of the end as it was told. */
function checkEvents(events: readonly ResponseStreamEvent[]): void {
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["response.created", "response.in_progress"]);
  const end = events.at(-1);
  if (end === undefined || !("response" in end)) throw new Error("the stream has no end");
  const added = events.filter((event) => event.type === "response.output_item.added");
  const done = events.filter((event) => event.type === "response.output_item.done");
  expect(added.map(({ output_index: index }) => index)).toEqual(added.map((_, index) => index));
  const told = done.sort((a, b) => a.output_index - b.output_index).map(({ item }) => item);
  expect(told).toEqual(end.response.output);
}

test("a response is created, streamed, polled and replayed with the same items", async () => {
  await using server = await OpenAiServer.start([thinker, returning, forecaster], { durable: true });
  const said = await server.client.responses.create({ model: "returning", input: "hi" });
  expect(said).toMatchObject({ status: "completed", output_text: "You said hi.", model: "returning" });
  for (const model of ["thinker", "returning", "forecaster"]) {
    const stream = server.client.responses.stream({ model, input: "Oslo" });
    const events: ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    const final = await stream.finalResponse();
    expect(final.status).toBe("completed");
    const replayed = await replay(server.client, final.id);
    checkEvents(replayed);
    await server.restart();
    const { client } = server;
    expect(await replay(client, final.id)).toEqual(replayed);
    expect(await replay(client, final.id, 3)).toEqual(replayed.slice(4));
    expect((await client.responses.retrieve(final.id)).output).toEqual(
      (replayed.at(-1) as { response: OpenAI.Responses.Response }).response.output,
    );
    expect((await client.responses.retrieve(final.id)).output_text).toBe(final.output_text);
  }
});

test("the tools of an agent are calls that it has made itself", async () => {
  await using server = await OpenAiServer.start([calculator, forecaster]);
  const { client } = server;
  const { output, output_text: text } = await client.responses.create({
    model: "calculator",
    input: "6 * 7",
  });
  expect(output[0]).toMatchObject({
    type: "mcp_call",
    server_label: "calculator",
    name: "multiply",
    status: "completed",
    error: null,
  });
  expect(text).toBe("= 42");
  const failed = await client.responses.create({ model: "forecaster", input: "Atlantis" });
  expect(failed.output[1]).toMatchObject({
    type: "mcp_call",
    status: "failed",
    error: { type: "mcp_tool_execution_error" },
  });
});

test("an approval is asked for and given, and a late one is refused", async () => {
  await using server = await OpenAiServer.start([payments]);
  const { client } = server;
  const asked = await client.responses.create({ model: "payments", input: "pay 30 to bob" });
  const request = asked.output.find(({ type }) => type === "mcp_approval_request");
  expect(request?.id).toMatch(/^mcpr_.+~\d+$/);
  expect(request).toMatchObject({ server_label: "payments" });
  const approve = {
    type: "mcp_approval_response",
    approval_request_id: request?.id ?? "",
    approve: true,
  } as const;
  const paid = await client.responses.create({
    model: "payments",
    previous_response_id: asked.id,
    input: [approve],
  });
  expect(paid.output_text).toBe("Paid 30 to bob.");
  expect(paid.id).not.toBe(asked.id);
  expect((await client.responses.retrieve(asked.id)).output).toEqual(asked.output);
  expect((await client.responses.retrieve(paid.id)).output).toEqual(paid.output);
  await expect(
    client.responses.create({ model: "payments", previous_response_id: asked.id, input: [approve] }),
  ).rejects.toBeInstanceOf(OpenAI.ConflictError);
  const items = await client.responses.inputItems.list(paid.id);
  expect(items.data).toMatchObject([
    { type: "mcp_approval_response", approval_request_id: request?.id, approve: true },
  ]);
  expect((await client.responses.inputItems.list(asked.id)).data).toMatchObject([
    { type: "message", role: "user", content: [{ type: "input_text", text: "pay 30 to bob" }] },
  ]);
});

test("any other question is a message, answered by a text or by the output of a call that names it", async () => {
  await using server = await OpenAiServer.start([form, interviewer]);
  const { client } = server;
  const asked = await client.responses.create({ model: "form", input: "go", conversation: "Gespräch 1" });
  expect(asked.output_text).toContain("name: Your name?\nage: Your age?");
  const call_id = asked.metadata?.["wait_id"] ?? "";
  await expect(
    client.responses.create({ model: "form", conversation: "Gespräch 1", input: "what?" }),
  ).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  const output = JSON.stringify({ name: "Ada", age: 36 });
  const answered = await client.responses.create({
    model: "form",
    conversation: "Gespräch 1",
    input: [{ type: "function_call_output", call_id, output }],
  });
  expect(answered.output_text).toBe("Ada is 36");
  expect(answered.conversation?.id).toBe(asked.conversation?.id);
  const both = await client.responses.create({ model: "interviewer", input: "go" });
  expect(both.output.filter(({ type }) => type === "message")).toHaveLength(2);
  const one = await client.responses.create({ previous_response_id: both.id, input: "Ada" });
  // The question that is still open is asked again.
  expect(one.output.filter(({ type }) => type === "message")).toHaveLength(1);
});

test("a response in the background is polled, followed after a restart, and canceled", async () => {
  const gates = new Gates();
  await using server = await OpenAiServer.start([patient(gates)], { durable: true });
  const begun = await server.client.responses.create({ model: "patient", input: "go", background: true });
  expect(["queued", "in_progress"]).toContain(begun.status);
  await server.restart();
  const { client } = server;
  const followed = replay(client, begun.id);
  gates.get("go").resolve();
  const events = await followed;
  checkEvents(events);
  expect(await client.responses.retrieve(begun.id)).toMatchObject({
    status: "completed",
    output_text: "one two",
  });
  await client.responses.delete(begun.id);
  await expect(client.responses.retrieve(begun.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);

  const other = new Gates();
  await using second = await OpenAiServer.start([gatedAgent(other)]);
  const open = await second.client.responses.create({ model: "gated", input: "go", background: true });
  expect((await second.client.responses.cancel(open.id)).status).toBe("cancelled");
  expect((await replay(second.client, open.id)).at(-1)?.type).toBe("response.incomplete");
});

test("a turn that fails is a failed response, and its conversation goes on", async () => {
  await using server = await OpenAiServer.start([thrower, mirror]);
  const { client } = server;
  const failed = await client.responses.create({ model: "thrower", input: "go" });
  expect(failed).toMatchObject({ status: "failed", error: { code: "server_error", message: "it broke" } });
  const first = await client.responses.create({
    model: "mirror",
    instructions: "Be brief.",
    temperature: 1,
    input: [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
      { role: "user", content: "c" },
    ],
  });
  expect(JSON.parse(first.output_text)).toMatchObject({
    input: "c",
    metadata: {
      parameters: { temperature: 1, instructions: "Be brief." },
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
      ],
    },
  });
  await client.responses.delete(first.id);
  await expect(client.responses.retrieve(first.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});

test("what cannot be honored is named, and what does not exist is not found", async () => {
  await using server = await OpenAiServer.start([returning, payments]);
  const { client } = server;
  const wrong: readonly (readonly [string, object])[] = [
    ["store", { store: false }],
    ["input", { input: 3 }],
    ["input.0", { input: [3] }],
    ["text.format", { text: { format: { type: "json_object" } } }],
    ["prompt", { prompt: { id: "x" } }],
    ["previous_response_id", { previous_response_id: "resp_x", conversation: "x" }],
    ["input.0.approve", { input: [{ type: "mcp_approval_response" }] }],
  ];
  for (const [param, fields] of wrong) {
    const answer = await server.post("/v1/responses", { model: "returning", input: "hi", ...fields });
    const { error } = (await answer.json()) as { readonly error: object };
    expect({ status: answer.status, ...error }).toMatchObject({ status: 400, param });
  }
  const { id } = await client.responses.create({ model: "returning", input: "hi" });
  for (const unknown of ["resp_none", "x", `${id}~1`, `${id}~2`, `${id}~999`])
    await expect(client.responses.retrieve(unknown)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  const again = await client.responses.create({ model: "returning", previous_response_id: id, input: "hi" });
  await expect(client.responses.delete(again.id)).rejects.toBeInstanceOf(OpenAI.ConflictError);
});
