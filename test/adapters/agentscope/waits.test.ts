import { expect, test } from "vitest";
import { interviewer } from "../../../agents/interviewer.ts";
import { payments } from "../../../agents/payments.ts";
import type { ResponseObject } from "../../../src/adapters/agentscope/index.ts";
import * as agents from "./harness/agents.ts";
import { anyNumber, anyText, checkResponse, dataOf, lastOf, textsOf } from "./harness/objects.ts";
import { approve, say, TestServer } from "./harness/server.ts";

const SESSION = { session_id: "s", user_id: "u" };

async function send(server: TestServer, body: object): Promise<ResponseObject> {
  const objects = await (await server.open(body)).all();
  checkResponse(objects);
  return lastOf(objects);
}

async function refused(server: TestServer, body: object): Promise<[number, string]> {
  const answer = await server.post("/agentscope/process", body);
  const { error } = (await answer.json()) as {
    readonly error: { readonly code: string; readonly message: string };
  };
  expect(error.message).not.toBe("");
  return [answer.status, error.code];
}

/** The number of requests that the agent has begun in all runs. */
async function turnsOf(server: TestServer): Promise<number> {
  const { runs } = await server.runtime.runs({ limit: 100 });
  return runs.reduce((sum, { turns }) => sum + turns, 0);
}

test("21: a question for yes or no is a request for approval, whose answer continues the same request", async () => {
  await using server = await TestServer.start([payments]);
  const asked = await send(server, say("pay 30 to bob", SESSION));
  expect(asked.status).toBe("completed");
  const [request] = dataOf(asked, "mcp_approval_request");
  expect(request).toEqual({
    id: anyText,
    name: "approved",
    arguments: '{"approved":"Pay 30 to bob?"}',
    server_label: "payments",
  });
  const answer = { approval_request_id: request?.["id"], approve: true };
  const paid = await send(server, approve(answer, SESSION));
  expect(textsOf(paid)).toEqual(["Paid 30 to bob."]);
  expect(paid.id).not.toBe(asked.id);
  expect(await turnsOf(server)).toBe(1);
});

test("21: a refusal with a reason runs nothing, and its reason reaches only a question that asks for one", async () => {
  await using server = await TestServer.start([payments, agents.approver]);
  const [request] = dataOf(await send(server, say("pay 30 to bob", SESSION)), "mcp_approval_request");
  const no = { approval_request_id: request?.["id"], approve: false, reason: "too much" };
  expect(textsOf(await send(server, approve(no, SESSION)))).toEqual(["declined"]);

  const open = async (body: object) =>
    lastOf(await (await server.open(body, "/agentscope/approver/process")).all());
  const [other] = dataOf(await open(say("go", SESSION)), "mcp_approval_request");
  const answer = { approval_request_id: other?.["id"], approve: false, reason: "too much" };
  expect(textsOf(await open(approve(answer, SESSION)))).toEqual(["no, too much"]);
});

test("22: an unknown question is 404, an answered one 409, and nothing runs again", async () => {
  await using server = await TestServer.start([payments]);
  const unknown = { approval_request_id: "7", approve: true };
  expect(await refused(server, approve(unknown, SESSION))).toEqual([404, "NOT_FOUND"]);
  const [request] = dataOf(await send(server, say("pay 30 to bob", SESSION)), "mcp_approval_request");
  expect(await refused(server, approve({ ...unknown, approval_request_id: "no-number" }, SESSION))).toEqual([
    404,
    "NOT_FOUND",
  ]);
  const answer = approve({ approval_request_id: request?.["id"], approve: true }, SESSION);
  expect(textsOf(await send(server, answer))).toEqual(["Paid 30 to bob."]);
  expect(await refused(server, answer)).toEqual([409, "CONFLICT"]);
  expect(await refused(server, approve(unknown, { session_id: "other" }))).toEqual([404, "NOT_FOUND"]);
  expect(await turnsOf(server)).toBe(1);
});

test("22: of many equal answers at once one counts", async () => {
  await using server = await TestServer.start([payments]);
  const [request] = dataOf(await send(server, say("pay 30 to bob", SESSION)), "mcp_approval_request");
  const answer = approve(
    { approval_request_id: request?.["id"], approve: true },
    { ...SESSION, stream: false },
  );
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => server.post("/agentscope/process", answer)),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409]);
});

test("23: a question for a text is a message, and the next text answers it", async () => {
  await using server = await TestServer.start([interviewer]);
  const asked = await send(server, say("go", SESSION));
  const questions = (asked.output ?? []).map(({ metadata }) => metadata?.["wait_for_input"]);
  expect(questions).toEqual([
    { request_id: asked.id, wait_id: anyNumber, request_keys: { name: "What is your name?" } },
    {
      request_id: asked.id,
      wait_id: anyNumber,
      request_keys: { colour: "What is your favourite colour?" },
    },
  ]);
  const second = await send(server, say("Ada", SESSION));
  expect(textsOf(second)).toEqual(["What is your favourite colour?"]);
  expect(textsOf(await send(server, say("blue", SESSION)))).toEqual(["Ada likes blue."]);
  expect(await turnsOf(server)).toBe(1);
});

test("two questions can be answered in the other order, by values in data or metadata", async () => {
  await using server = await TestServer.start([interviewer], { durable: true });
  await send(server, say("go", SESSION));
  const colour = { role: "user", content: [{ type: "data", data: { colour: "blue" } }] };
  const second = await send(server, { input: [colour], ...SESSION });
  expect(textsOf(second)).toEqual(["What is your name?"]);
  await server.restart();
  const [asked] = second.output ?? [];
  const about = asked?.metadata?.["wait_for_input"] as { readonly wait_id: number };
  const name = { role: "user", metadata: { wait_for_input: { ...about, request_keys: { name: "Ada" } } } };
  expect(textsOf(await send(server, { input: [name], ...SESSION }))).toEqual(["Ada likes blue."]);
});

test("an answer with several keys comes as data; a text for them is 422 and names them", async () => {
  await using server = await TestServer.start([agents.form]);
  await send(server, say("go", SESSION));
  const answer = await server.post("/agentscope/process", say("Ada, 36", SESSION));
  expect(answer.status).toBe(422);
  expect(JSON.stringify(await answer.json())).toMatch(/name.*age/);
  const wrong = { role: "user", content: [{ type: "data", data: { name: "Ada", age: "old" } }] };
  expect(await refused(server, { input: [wrong], ...SESSION })).toEqual([422, "UNPROCESSABLE"]);
  const right = { role: "user", metadata: { request_keys: { name: "Ada", age: 36 } } };
  expect(textsOf(await send(server, { input: [right], ...SESSION }))).toEqual(["Ada is 36"]);
});

test("a question whose call was canceled is open no more", async () => {
  await using server = await TestServer.start([agents.inheritor]);
  await send(server, say("go", SESSION));
  expect(textsOf(await send(server, say("Ada", SESSION)))).toEqual(["Your city?"]);
  expect(textsOf(await send(server, say("Paris", SESSION)))).toEqual(["Ada of Paris"]);
});

test("a yes in words answers a request for approval", async () => {
  await using server = await TestServer.start([payments]);
  await send(server, say("pay 30 to bob", SESSION));
  expect(await refused(server, say("perhaps", SESSION))).toEqual([422, "UNPROCESSABLE"]);
  expect(textsOf(await send(server, say("yes", SESSION)))).toEqual(["Paid 30 to bob."]);
});

test("an approval for a question that is none is 422 and leaves it open", async () => {
  await using server = await TestServer.start([interviewer]);
  const asked = await send(server, say("go", SESSION));
  const about = asked.output?.[0]?.metadata?.["wait_for_input"] as { readonly wait_id: number };
  const wrong = { approval_request_id: String(about.wait_id), approve: true };
  expect(await refused(server, approve(wrong, SESSION))).toEqual([422, "UNPROCESSABLE"]);
  expect(textsOf(await send(server, say("Ada", SESSION)))).toEqual(["What is your favourite colour?"]);
});

test("a repeated answer with the same id gets the same response and answers nothing else", async () => {
  await using server = await TestServer.start([interviewer]);
  await send(server, say("go", SESSION));
  const body = say("Ada", { ...SESSION, id: "answer-1" });
  const second = await send(server, body);
  expect(second.id).toBe("answer-1");
  expect(await send(server, body)).toEqual(second);
  expect(textsOf(await send(server, say("blue", SESSION)))).toEqual(["Ada likes blue."]);
  expect(await send(server, body)).toEqual(second);
});

test("a repeated request of a session that waits by now gets its response, and answers nothing", async () => {
  await using server = await TestServer.start([payments]);
  const body = say("pay 30 to bob", { ...SESSION, id: "pay-1" });
  const asked = await send(server, body);
  expect(await send(server, body)).toEqual(asked);
  expect(textsOf(await send(server, say("yes", SESSION)))).toEqual(["Paid 30 to bob."]);
});

test("a question that another protocol asked is answered here, and the other way round", async () => {
  await using server = await TestServer.start([payments]);
  const native = (body: object) => server.post("/payments/process?wait=completed", body);
  const wait = (await (await native({ type: "ChatRequest", input: "pay 3 to bob" })).json()) as Record<
    string,
    string
  >;
  const answer = { approval_request_id: String(wait["wait_id"]), approve: true };
  const paid = await send(server, approve(answer, { session_id: wait["run_id"] }));
  expect(textsOf(paid)).toEqual(["Paid 3 to bob."]);

  const asked = await send(server, say("pay 4 to eve", SESSION));
  const end = await native({
    type: "ResumeWithInput",
    request_id: asked.id,
    request_keys: { approved: true },
  });
  expect(await end.json()).toMatchObject({ type: "RequestCompleted", result: "Paid 4 to eve." });
  const newest = await (await server.openUrl("/agentscope/process/sessions/s/stream?user_id=u")).all();
  expect(textsOf(lastOf(newest))).toEqual(["Paid 4 to eve."]);
});
